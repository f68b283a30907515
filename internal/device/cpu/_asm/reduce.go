package main

import "fmt"

// reductions writes the kernels that return one number. Each lane sums or
// compares its values in order; the lanes are joined in halves.
func (g *gen) reductions() {
	g.text("maxOf", []arg{argX}, "float32")
	g.op("VMOVUPS %s, %s", constant("negInf"), g.v(0))
	g.each("x", []string{"x"}, func(tail bool) {
		g.load(0, 1, tail)
		switch {
		case tail && g.wide():
			g.op("VMAXPS Z1, Z0, K1, Z0")
		case tail:
			g.op("VMOVUPS %s, Y2", constant("negInf"))
			g.op("VBLENDVPS Y15, Y1, Y2, Y1")
			g.do("VMAXPS", 1, 0, 0)
		default:
			g.do("VMAXPS", 1, 0, 0)
		}
	})
	g.join("VMAXPS", 0)
	g.result(0)

	g.text("dot", []arg{argX, argY}, "float32")
	g.clear(0)
	g.each("x", []string{"x", "y"}, func(tail bool) {
		g.load(0, 1, tail)
		g.load(1, 2, tail)
		g.do("VFMADD231PS", 1, 2, 0)
	})
	g.join("VADDPS", 0)
	g.result(0)

	g.text("dot3", []arg{argX, argY, argZ}, "float32")
	g.clear(0)
	g.each("x", []string{"x", "y", "z"}, func(tail bool) {
		for i := range 3 {
			g.load(i, i+1, tail)
		}
		g.do("VMULPS", 1, 2, 1)
		g.do("VFMADD231PS", 1, 3, 0)
	})
	g.join("VADDPS", 0)
	g.result(0)

	g.exponentials()
	g.sumSquares()
}

// exponentials writes the parts of softmax.
func (g *gen) exponentials() {
	scale := arg{"scale", "float32"}
	g.text("expSum", []arg{argY, argX, scale, argBias}, "float32")
	g.expLoop([]string{"y", "x"}, 1, func(tail bool) {
		g.save(1, 0, tail)
		g.addKept(1, 0, tail)
	})
	g.join("VADDPS", 0)
	g.result(0)

	g.text("sumExp", []arg{argX, scale, argBias}, "float32")
	g.expLoop([]string{"x"}, 0, func(tail bool) { g.addKept(1, 0, tail) })
	g.join("VADDPS", 0)
	g.result(0)

	g.text("expMul", []arg{argY, argX, scale, argBias, {"mul", "float32"}}, "")
	g.spread("mul", 8)
	g.expLoop([]string{"y", "x"}, 1, func(tail bool) {
		g.do("VMULPS", 8, 1, 1)
		g.save(1, 0, tail)
	})
	g.done()
}

// expLoop puts exp(scale·x + bias) into register 1 for use, x at pointer i.
func (g *gen) expLoop(slices []string, i int, use func(tail bool)) {
	g.clear(0)
	g.spread("scale", 6)
	g.spread("bias", 7)
	g.each("x", slices, func(tail bool) {
		g.load(i, 1, tail)
		g.do("VFMADD213PS", 7, 6, 1)
		g.exp(1, 2, 3, 4)
		use(tail)
	})
}

// addKept adds the lanes that exist.
func (g *gen) addKept(x, sum int, tail bool) {
	switch {
	case tail && g.wide():
		g.op("VADDPS %s, %s, K1, %s", g.v(x), g.v(sum), g.v(sum))
		return
	case tail:
		g.do("VANDPS", maskReg, x, x)
	}
	g.do("VADDPS", x, sum, sum)
}

func (g *gen) clear(reg int) { g.op("VXORPS X%d, X%d, X%d", reg, reg, reg) }

// join reduces a register to its lane 0; the next register is lost.
func (g *gen) join(name string, reg int) {
	next := reg + 1
	if g.wide() {
		g.op("VEXTRACTF64X4 $1, Z%d, Y%d", reg, next)
		g.op("%s Y%d, Y%d, Y%d", name, next, reg, reg)
	}
	g.op("VEXTRACTF128 $1, Y%d, X%d", reg, next)
	g.op("%s X%d, X%d, X%d", name, next, reg, reg)
	g.op("VPERMILPS $0x4e, X%d, X%d", reg, next)
	g.op("%s X%d, X%d, X%d", name, next, reg, reg)
	g.op("VPERMILPS $0xb1, X%d, X%d", reg, next)
	g.op("%s X%d, X%d, X%d", name, next, reg, reg)
}

// result returns lane 0 of a register.
func (g *gen) result(reg int) {
	g.op("VMOVSS X%d, ret+%d(FP)", reg, g.ret)
	g.done()
}

// sumSquares sums in float64, half a register of values at a time.
func (g *gen) sumSquares() {
	half := "Y"
	if !g.wide() {
		half = "X"
	}
	square := func(at, sum int) {
		g.op("VCVTPS2PD %s, %s", fmt.Sprintf("%s%d", half, at), g.v(at))
		g.do("VFMADD231PD", at, at, sum)
	}
	g.text("sumSquares", []arg{argX}, "float64")
	g.clear(0)
	g.clear(1)
	g.each("x", []string{"x"}, func(tail bool) {
		g.load(0, 2, tail)
		if g.wide() {
			g.op("VEXTRACTF64X4 $1, Z2, Y3")
		} else {
			g.op("VEXTRACTF128 $1, Y2, X3")
		}
		square(2, 0)
		square(3, 1)
	})
	g.do("VADDPD", 1, 0, 0)
	if g.wide() {
		g.op("VEXTRACTF64X4 $1, Z0, Y1")
		g.op("VADDPD Y1, Y0, Y0")
	}
	g.op("VEXTRACTF128 $1, Y0, X1")
	g.op("VADDPD X1, X0, X0")
	g.op("VPERMILPD $1, X0, X1")
	g.op("VADDPD X1, X0, X0")
	g.op("VMOVSD X0, ret+%d(FP)", g.ret)
	g.done()
}
