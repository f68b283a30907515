package main

import "fmt"

var pointers = []string{"R8", "R9", "R10", "R11", "R12"}

const (
	regN  = "CX" // values left
	regAt = "AX" // bytes done
)

// maskReg holds AVX2's mask of the last values; kernels use registers below it.
const maskReg = 15

// tailMask makes the mask of the last regN values.
func (g *gen) tailMask() {
	if g.wide() {
		g.op("MOVL $1, BX")
		g.op("SHLL CX, BX")
		g.op("DECL BX")
		g.op("KMOVW BX, K1")
		return
	}
	g.op("LEAQ tailMask<>+%d(SB), BX", g.bytes())
	g.op("SHLQ $2, CX")
	g.op("SUBQ CX, BX")
	g.op("VMOVUPS (BX), %s", g.v(maskReg))
}

// each writes a loop over slices of n's length; body handles a register's
// worth, or with tail set the rest. Offsets add a pointer beside a slice.
func (g *gen) each(n string, slices []string, body func(tail bool)) {
	for i, s := range slices {
		g.op("MOVQ %s, %s", g.base(s), pointers[i])
	}
	g.op("MOVQ %s, %s", g.size(n), regN)
	g.loop(body)
}

// loop runs body over regN values at the pointers.
func (g *gen) loop(body func(tail bool)) {
	loop, tail, done := g.newLabel("loop"), g.newLabel("tail"), g.newLabel("done")
	g.op("XORQ %s, %s", regAt, regAt)
	g.mark(loop)
	g.op("CMPQ %s, $%d", regN, g.lanes)
	g.op("JLT %s", tail)
	body(false)
	g.op("ADDQ $%d, %s", g.bytes(), regAt)
	g.op("SUBQ $%d, %s", g.lanes, regN)
	g.op("JMP %s", loop)
	g.mark(tail)
	g.op("TESTQ %s, %s", regN, regN)
	g.op("JZ %s", done)
	g.tailMask()
	body(true)
	g.mark(done)
}

// load reads from pointer i; lanes beyond the end are 0.
func (g *gen) load(i, reg int, tail bool) {
	at := fmt.Sprintf("(%s)(%s*1)", pointers[i], regAt)
	switch {
	case !tail:
		g.op("VMOVUPS %s, %s", at, g.v(reg))
	case g.wide():
		g.op("VMOVUPS.Z %s, K1, %s", at, g.v(reg))
	default:
		g.op("VMASKMOVPS %s, %s, %s", at, g.v(maskReg), g.v(reg))
	}
}

// save writes to pointer i.
func (g *gen) save(reg, i int, tail bool) {
	at := fmt.Sprintf("(%s)(%s*1)", pointers[i], regAt)
	switch {
	case !tail:
		g.op("VMOVUPS %s, %s", g.v(reg), at)
	case g.wide():
		g.op("VMOVUPS %s, K1, %s", g.v(reg), at)
	default:
		g.op("VMASKMOVPS %s, %s, %s", g.v(reg), g.v(maskReg), at)
	}
}

// spread fills a register with an argument.
func (g *gen) spread(name string, reg int) { g.op("VBROADCASTSS %s, %s", g.arg(name), g.v(reg)) }

// do writes a three-operand instruction on registers: dst = a OP b.
func (g *gen) do(name string, b, a, dst int) {
	g.op("%s %s, %s, %s", name, g.v(b), g.v(a), g.v(dst))
}

// with writes an instruction whose last source is a constant.
func (g *gen) with(name, c string, a, dst int) {
	g.op("%s %s, %s, %s", name, constant(c), g.v(a), g.v(dst))
}

// exp sets x to its exponential, exactly 0 far below; s, t and u are lost.
func (g *gen) exp(x, s, t, u int) {
	g.op("VMOVUPS %s, %s", constant("expLow"), g.v(s))
	if !g.wide() {
		g.op("VCMPPS $1, %s, %s, %s", g.v(s), g.v(x), g.v(u)) // x < low
	}
	g.do("VMAXPS", x, s, x) // in this order NaN stays
	g.op("VMOVUPS %s, %s", constant("expHigh"), g.v(s))
	g.do("VMINPS", x, s, x)
	g.with("VMULPS", "log2e", x, s)
	if g.wide() {
		g.op("VRNDSCALEPS $0, %s, %s", g.v(s), g.v(s))
	} else {
		g.op("VROUNDPS $0, %s, %s", g.v(s), g.v(s))
	}
	g.with("VFNMADD231PS", "ln2High", s, x)
	g.with("VFNMADD231PS", "ln2Low", s, x)
	g.op("VMOVUPS %s, %s", constant("exp5"), g.v(t))
	for _, c := range []string{"exp4", "exp3", "exp2", "exp1", "exp0", "one", "one"} {
		g.with("VFMADD213PS", c, x, t)
	}
	if g.wide() {
		g.do("VSCALEFPS", s, t, x)
		return
	}
	g.op("VCVTPS2DQ %s, %s", g.v(s), g.v(s))
	g.with("VPADDD", "exponentBias", s, s)
	g.op("VPSLLD $23, %s, %s", g.v(s), g.v(s))
	g.do("VMULPS", s, t, x)
	g.do("VANDNPS", x, u, x) // not(u) and x
}

// sigmoid sets dst to 1/(1+exp(−x)); x stays.
func (g *gen) sigmoid(x, dst, s, t, u int) {
	g.with(g.xor(), "sign", x, dst)
	g.exp(dst, s, t, u)
	g.with("VADDPS", "one", dst, dst)
	g.op("VMOVUPS %s, %s", constant("one"), g.v(s))
	g.do("VDIVPS", dst, s, dst)
}

func (g *gen) xor() string {
	if g.wide() {
		return "VPXORD"
	}
	return "VPXOR"
}

var (
	argY    = arg{"y", "[]float32"}
	argX    = arg{"x", "[]float32"}
	argZ    = arg{"z", "[]float32"}
	argA    = arg{"a", "float32"}
	argBias = arg{"bias", "float32"}
)

// vectors writes the element-wise kernels.
func (g *gen) vectors() {
	g.text("axpy", []arg{argY, argA, argX}, "")
	g.spread("a", 3)
	g.each("x", []string{"y", "x"}, func(tail bool) {
		g.load(0, 0, tail)
		g.load(1, 1, tail)
		g.do("VFMADD231PS", 1, 3, 0)
		g.save(0, 0, tail)
	})
	g.done()

	g.text("scale", []arg{argY, argA, argX}, "")
	g.spread("a", 3)
	g.each("x", []string{"y", "x"}, func(tail bool) {
		g.load(1, 1, tail)
		g.do("VMULPS", 1, 3, 1)
		g.save(1, 0, tail)
	})
	g.done()

	g.text("mulAdd", []arg{argY, argA, argX, argZ}, "")
	g.spread("a", 3)
	g.each("x", []string{"y", "x", "z"}, func(tail bool) {
		g.load(0, 0, tail)
		g.load(1, 1, tail)
		g.load(2, 2, tail)
		g.do("VMULPS", 1, 3, 1)
		g.do("VFMADD231PS", 1, 2, 0)
		g.save(0, 0, tail)
	})
	g.done()

	g.text("normRow", []arg{argY, {"r", "float32"}, argX, {"w", "[]float32"}}, "")
	g.spread("r", 3)
	g.each("x", []string{"y", "x", "w"}, func(tail bool) {
		g.load(1, 1, tail)
		g.load(2, 2, tail)
		g.do("VMULPS", 1, 3, 1)
		g.do("VMULPS", 2, 1, 1)
		g.save(1, 0, tail)
	})
	g.done()

	g.text("normDx", []arg{{"dx", "[]float32"}, {"r", "float32"}, {"c", "float32"}, {"dy", "[]float32"}, {"w", "[]float32"}, argX}, "")
	g.spread("r", 4)
	g.spread("c", 5)
	g.each("x", []string{"dx", "dy", "w", "x"}, func(tail bool) {
		for i := range 4 {
			g.load(i, i, tail)
		}
		g.do("VMULPS", 1, 4, 1)
		g.do("VFMADD231PS", 1, 2, 0)
		g.do("VFNMADD231PS", 3, 5, 0)
		g.save(0, 0, tail)
	})
	g.done()

	g.text("mulDiff", []arg{argY, argX, {"c", "float32"}}, "")
	g.spread("c", 3)
	g.each("x", []string{"y", "x"}, func(tail bool) {
		g.load(0, 0, tail)
		g.load(1, 1, tail)
		g.do("VSUBPS", 3, 0, 0)
		g.do("VMULPS", 1, 0, 0)
		g.save(0, 0, tail)
	})
	g.done()

	g.gates()
	g.rotate()
	g.adamw()
}

// gates writes the feed-forward's activation and its gradient.
func (g *gen) gates() {
	g.text("swiglu", []arg{argY, {"gate", "[]float32"}, {"up", "[]float32"}}, "")
	g.each("gate", []string{"y", "gate", "up"}, func(tail bool) {
		g.load(1, 1, tail)
		g.load(2, 2, tail)
		g.sigmoid(1, 0, 3, 4, 5)
		g.do("VMULPS", 1, 0, 0)
		g.do("VMULPS", 2, 0, 0)
		g.save(0, 0, tail)
	})
	g.done()

	g.text("swigluGrad", []arg{{"dgate", "[]float32"}, {"dup", "[]float32"}, {"dy", "[]float32"}, {"gate", "[]float32"}, {"up", "[]float32"}}, "")
	g.each("gate", []string{"dgate", "dup", "dy", "gate", "up"}, func(tail bool) {
		g.load(2, 6, tail)
		g.load(3, 1, tail)
		g.load(4, 2, tail)
		g.sigmoid(1, 0, 3, 4, 5)
		g.do("VMULPS", 0, 6, 3) // dy·s
		g.do("VMULPS", 1, 3, 4) // dy·s·gate
		g.save(4, 1, tail)
		g.op("VMOVUPS %s, %s", constant("one"), g.v(5))
		g.do("VSUBPS", 0, 5, 0) // 1 − s
		g.do("VFMADD213PS", 5, 1, 0)
		g.do("VMULPS", 2, 3, 3)
		g.do("VMULPS", 0, 3, 3)
		g.save(3, 0, tail)
	})
	g.done()
}

// rotate turns pairs; the second half of x is a pointer of its own.
func (g *gen) rotate() {
	g.text("rotate", []arg{argX, {"cos", "[]float32"}, {"sin", "[]float32"}, {"sign", "float32"}}, "")
	g.spread("sign", 5)
	g.op("MOVQ %s, %s", g.base("x"), pointers[0])
	g.op("MOVQ %s, %s", g.size("cos"), regN)
	g.op("LEAQ (%s)(%s*4), %s", pointers[0], regN, pointers[1])
	g.op("MOVQ %s, %s", g.base("cos"), pointers[2])
	g.op("MOVQ %s, %s", g.base("sin"), pointers[3])
	g.loop(func(tail bool) {
		for i := range 4 {
			g.load(i, i, tail)
		}
		g.do("VMULPS", 5, 3, 3)
		g.do("VMULPS", 3, 1, 4) // b·s
		g.do("VMULPS", 2, 1, 1) // b·c
		g.do("VFMADD231PS", 3, 0, 1)
		g.do("VFMSUB213PS", 4, 2, 0) // a·c − b·s
		g.save(0, 0, tail)
		g.save(1, 1, tail)
	})
	g.done()
}

// adamw writes the optimiser's step.
func (g *gen) adamw() {
	g.text("adamw", []arg{{"p", "[]float32"}, {"g", "[]float32"}, {"m", "[]float32"}, {"v", "[]float32"}, {"h", "*adamwConst"}}, "")
	g.op("MOVQ %s, DI", g.arg("h"))
	field := func(name string, reg int) { g.op("VBROADCASTSS adamwConst_%s(DI), %s", name, g.v(reg)) }
	for i, f := range []string{"clip", "beta1", "rest1", "beta2", "rest2", "unbias1", "unbias2", "eps", "decay"} {
		field(f, 6+i)
	}
	const clip, beta1, rest1, beta2, rest2, unbias1, unbias2, eps, decay = 6, 7, 8, 9, 10, 11, 12, 13, 14
	g.each("p", []string{"p", "g", "m", "v"}, func(tail bool) {
		for i := range 4 {
			g.load(i, i, tail)
		}
		g.do("VMULPS", clip, 1, 1)
		g.do("VMULPS", beta1, 2, 2)
		g.do("VFMADD231PS", 1, rest1, 2)
		g.do("VMULPS", 1, 1, 1)
		g.do("VMULPS", beta2, 3, 3)
		g.do("VFMADD231PS", 1, rest2, 3)
		g.save(2, 2, tail)
		g.save(3, 3, tail)
		g.do("VMULPS", unbias2, 3, 3)
		g.op("VSQRTPS %s, %s", g.v(3), g.v(3))
		g.do("VADDPS", eps, 3, 3)
		g.do("VMULPS", unbias1, 2, 2)
		g.do("VDIVPS", 3, 2, 2)
		g.do("VFMADD231PS", 0, decay, 2)
		g.do("VSUBPS", 2, 0, 0)
		g.save(0, 0, tail)
	})
	g.done()
}
