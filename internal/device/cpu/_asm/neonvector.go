package main

// each runs body over slices of n's length: four values at a time, then one by
// one. Single values lie in lane 0, with zeros in the others.
func (g *neonGen) each(n string, slices []string, body func(tail bool)) {
	for i, s := range slices {
		g.op("MOVD %s, R%d", g.base(s), i)
	}
	g.op("MOVD %s, R9", g.size(n))
	g.loop(len(slices), body)
}

// loop runs body over R9 values at the pointers R0 to R(pointers−1).
func (g *neonGen) loop(pointers int, body func(tail bool)) {
	loop, tail, done := g.newLabel("loop"), g.newLabel("tail"), g.newLabel("done")
	step := func(values int, back string) {
		for i := range pointers {
			g.op("ADD $%d, R%d", 4*values, i)
		}
		g.op("SUB $%d, R9", values)
		g.op("B %s", back)
	}
	g.mark(loop)
	g.op("CMP $4, R9")
	g.op("BLT %s", tail)
	body(false)
	step(4, loop)
	g.mark(tail)
	g.op("CBZ R9, %s", done)
	body(true)
	step(1, tail)
	g.mark(done)
}

func (g *neonGen) load(i, reg int, tail bool) {
	if tail {
		g.op("FMOVS (R%d), F%d", i, reg)
		return
	}
	g.op("VLD1 (R%d), %s", i, list(reg, 1))
}

func (g *neonGen) save(reg, i int, tail bool) {
	if tail {
		g.op("FMOVS F%d, (R%d)", reg, i)
		return
	}
	g.op("VST1 %s, (R%d)", list(reg, 1), i)
}

// spread fills a register with an argument.
func (g *neonGen) spread(name string, reg int) {
	g.op("FMOVS %s, F%d", g.arg(name), reg)
	g.op("VDUP V%d.S[0], V%d.S4", reg, reg)
}

// exp sets x to its exponential, exactly 0 far below; s, t, u and w are lost.
func (g *neonGen) exp(x, s, t, u, w int) {
	g.v3("FCMGT", u, kLow, x)
	g.v3("FMAX", x, x, kLow)
	g.v3("FMIN", x, x, kHigh)
	g.v3("FMUL", s, x, kLog2e)
	g.v2("FRINTN", s, s)
	g.v3("FMLS", x, s, kLn2High)
	g.v3("FMLS", x, s, kLn2Low)
	g.copy(t, kExp5)
	for _, c := range []int{kExp4, kExp3, kExp2, kExp1, kExp0, kOne, kOne} {
		g.copy(w, c)
		g.v3("FMLA", w, t, x)
		t, w = w, t
	}
	g.v2("FCVTNS", s, s)
	g.v3("ADD", s, s, kBias)
	g.v2("SHL23", s, s)
	g.v3("FMUL", x, t, s)
	g.v3("BIC", x, x, u)
}

// sigmoid sets dst to 1/(1+exp(−x)); x stays.
func (g *neonGen) sigmoid(x, dst, s, t, u, w int) {
	g.v2("FNEG", dst, x)
	g.exp(dst, s, t, u, w)
	g.v3("FADD", dst, dst, kOne)
	g.v3("FDIV", dst, kOne, dst)
}

// vectors writes the element-wise kernels.
func (g *neonGen) vectors() {
	floats := func(names ...string) (args []arg) {
		for _, n := range names {
			args = append(args, arg{n, "[]float32"})
		}
		return args
	}
	g.text("axpy", []arg{argY, argA, argX}, "")
	g.spread("a", 3)
	g.each("x", []string{"y", "x"}, func(tail bool) {
		g.load(0, 0, tail)
		g.load(1, 1, tail)
		g.v3("FMLA", 0, 1, 3)
		g.save(0, 0, tail)
	})
	g.op("RET")

	g.text("scale", []arg{argY, argA, argX}, "")
	g.spread("a", 3)
	g.each("x", []string{"y", "x"}, func(tail bool) {
		g.load(1, 1, tail)
		g.v3("FMUL", 1, 1, 3)
		g.save(1, 0, tail)
	})
	g.op("RET")

	g.text("mulAdd", []arg{argY, argA, argX, argZ}, "")
	g.spread("a", 3)
	g.each("x", []string{"y", "x", "z"}, func(tail bool) {
		for i := range 3 {
			g.load(i, i, tail)
		}
		g.v3("FMUL", 1, 1, 3)
		g.v3("FMLA", 0, 1, 2)
		g.save(0, 0, tail)
	})
	g.op("RET")

	g.text("normRow", []arg{argY, {"r", "float32"}, argX, {"w", "[]float32"}}, "")
	g.spread("r", 3)
	g.each("x", []string{"y", "x", "w"}, func(tail bool) {
		g.load(1, 1, tail)
		g.load(2, 2, tail)
		g.v3("FMUL", 1, 1, 3)
		g.v3("FMUL", 1, 1, 2)
		g.save(1, 0, tail)
	})
	g.op("RET")

	g.text("normDx", append([]arg{{"dx", "[]float32"}, {"r", "float32"}, {"c", "float32"}}, floats("dy", "w", "x")...), "")
	g.spread("r", 4)
	g.spread("c", 5)
	g.each("x", []string{"dx", "dy", "w", "x"}, func(tail bool) {
		for i := range 4 {
			g.load(i, i, tail)
		}
		g.v3("FMUL", 1, 1, 4)
		g.v3("FMLA", 0, 1, 2)
		g.v3("FMLS", 0, 3, 5)
		g.save(0, 0, tail)
	})
	g.op("RET")

	g.text("mulDiff", []arg{argY, argX, {"c", "float32"}}, "")
	g.spread("c", 3)
	g.each("x", []string{"y", "x"}, func(tail bool) {
		g.load(0, 0, tail)
		g.load(1, 1, tail)
		g.v3("FSUB", 0, 0, 3)
		g.v3("FMUL", 0, 0, 1)
		g.save(0, 0, tail)
	})
	g.op("RET")

	g.gates(floats)
	g.rotate()
	g.adamw(floats)
}

// gates writes the feed-forward's activation and its gradient.
func (g *neonGen) gates(floats func(...string) []arg) {
	g.text("swiglu", floats("y", "gate", "up"), "")
	g.load16("expTable")
	g.each("gate", []string{"y", "gate", "up"}, func(tail bool) {
		g.load(1, 1, tail)
		g.load(2, 2, tail)
		g.sigmoid(1, 0, 3, 4, 5, 6)
		g.v3("FMUL", 0, 0, 1)
		g.v3("FMUL", 0, 0, 2)
		g.save(0, 0, tail)
	})
	g.op("RET")

	g.text("swigluGrad", floats("dgate", "dup", "dy", "gate", "up"), "")
	g.load16("expTable")
	g.each("gate", []string{"dgate", "dup", "dy", "gate", "up"}, func(tail bool) {
		g.load(2, 7, tail)
		g.load(3, 1, tail)
		g.load(4, 2, tail)
		g.sigmoid(1, 0, 3, 4, 5, 6)
		g.v3("FMUL", 3, 7, 0) // dy·s
		g.v3("FMUL", 4, 3, 1) // dy·s·gate
		g.save(4, 1, tail)
		g.v3("FSUB", 0, kOne, 0) // 1 − s
		g.copy(5, kOne)
		g.v3("FMLA", 5, 0, 1)
		g.v3("FMUL", 3, 3, 2)
		g.v3("FMUL", 3, 3, 5)
		g.save(3, 0, tail)
	})
	g.op("RET")
}

// rotate turns pairs; the second half of x is a pointer of its own.
func (g *neonGen) rotate() {
	g.text("rotate", []arg{argX, {"cos", "[]float32"}, {"sin", "[]float32"}, {"sign", "float32"}}, "")
	g.spread("sign", 5)
	g.op("MOVD %s, R0", g.base("x"))
	g.op("MOVD %s, R9", g.size("cos"))
	g.op("ADD R9<<2, R0, R1")
	g.op("MOVD %s, R2", g.base("cos"))
	g.op("MOVD %s, R3", g.base("sin"))
	g.loop(4, func(tail bool) {
		for i := range 4 {
			g.load(i, i, tail)
		}
		g.v3("FMUL", 3, 3, 5)
		g.v3("FMUL", 4, 0, 2)
		g.v3("FMLS", 4, 1, 3) // a·c − b·s
		g.v3("FMUL", 6, 1, 2)
		g.v3("FMLA", 6, 0, 3) // b·c + a·s
		g.save(4, 0, tail)
		g.save(6, 1, tail)
	})
	g.op("RET")
}

// adamw writes the optimiser's step.
func (g *neonGen) adamw(floats func(...string) []arg) {
	g.text("adamw", append(floats("p", "g", "m", "v"), arg{"h", "*adamwConst"}), "")
	g.op("MOVD %s, R10", g.arg("h"))
	const clip, beta1, rest1, beta2, rest2, unbias1, unbias2, eps, decay = 6, 7, 8, 9, 10, 11, 12, 13, 14
	for i, f := range []string{"clip", "beta1", "rest1", "beta2", "rest2", "unbias1", "unbias2", "eps", "decay"} {
		g.op("FMOVS adamwConst_%s(R10), F%d", f, clip+i)
		g.op("VDUP V%d.S[0], V%d.S4", clip+i, clip+i)
	}
	g.each("p", []string{"p", "g", "m", "v"}, func(tail bool) {
		for i := range 4 {
			g.load(i, i, tail)
		}
		g.v3("FMUL", 1, 1, clip)
		g.v3("FMUL", 2, 2, beta1)
		g.v3("FMLA", 2, 1, rest1)
		g.v3("FMUL", 1, 1, 1)
		g.v3("FMUL", 3, 3, beta2)
		g.v3("FMLA", 3, 1, rest2)
		g.save(2, 2, tail)
		g.save(3, 3, tail)
		g.v3("FMUL", 3, 3, unbias2)
		g.v2("FSQRT", 3, 3)
		g.v3("FADD", 3, 3, eps)
		g.v3("FMUL", 2, 2, unbias1)
		g.v3("FDIV", 2, 2, 3)
		g.v3("FMLA", 2, 0, decay)
		g.v3("FSUB", 0, 0, 2)
		g.save(0, 0, tail)
	})
	g.op("RET")
}

// reductions writes the kernels that add up a slice. A sum has four lanes,
// which are added at the end.
func (g *neonGen) reductions() {
	const sum = 8
	finish := func() {
		g.v3("FADDP", sum, sum, sum)
		g.v3("FADDP", sum, sum, sum)
		g.op("FMOVS F%d, ret+%d(FP)", sum, g.ret)
		g.op("RET")
	}
	g.text("maxOf", []arg{argX}, "float32")
	g.op("MOVW $0xff800000, R1")
	g.op("VDUP R1, V%d.S4", sum)
	g.each("x", []string{"x"}, func(tail bool) {
		g.load(0, 0, tail)
		if tail {
			g.op("VDUP V0.S[0], V0.S4")
		}
		g.v3("FMAX", sum, sum, 0)
	})
	g.v2("FMAXV", sum, sum)
	g.op("FMOVS F%d, ret+%d(FP)", sum, g.ret)
	g.op("RET")

	g.text("dot", []arg{argX, argY}, "float32")
	g.zero(sum)
	g.each("x", []string{"x", "y"}, func(tail bool) {
		g.load(0, 0, tail)
		g.load(1, 1, tail)
		g.v3("FMLA", sum, 0, 1)
	})
	finish()

	g.text("dot3", []arg{argX, argY, argZ}, "float32")
	g.zero(sum)
	g.each("x", []string{"x", "y", "z"}, func(tail bool) {
		for i := range 3 {
			g.load(i, i, tail)
		}
		g.v3("FMUL", 0, 0, 1)
		g.v3("FMLA", sum, 0, 2)
	})
	finish()

	for _, name := range []string{"expSum", "sumExp", "expMul"} {
		g.exponential(name, sum, finish)
	}

	g.text("sumSquares", []arg{argX}, "float64")
	g.zero(sum)
	g.each("x", []string{"x"}, func(tail bool) {
		g.load(0, 0, tail)
		g.v2("FCVTL", 1, 0)
		g.v2("FCVTL2", 2, 0)
		g.v3("FMLA.D", sum, 1, 1)
		g.v3("FMLA.D", sum, 2, 2)
	})
	g.v2("FADDP.D", sum, sum)
	g.op("FMOVD F%d, ret+%d(FP)", sum, g.ret)
	g.op("RET")
}

// exponential writes a loop over exp(scale·x + bias).
func (g *neonGen) exponential(name string, sum int, finish func()) {
	args, slices, ret := []arg{argY, argX, {"scale", "float32"}, argBias}, []string{"y", "x"}, "float32"
	switch name {
	case "sumExp":
		args, slices = args[1:], slices[1:]
	case "expMul":
		args, ret = append(args, arg{"mul", "float32"}), ""
	}
	g.text(name, args, ret)
	g.load16("expTable")
	g.spread("scale", 9)
	g.spread("bias", 10)
	if name == "expMul" {
		g.spread("mul", 11)
	}
	g.zero(sum)
	g.each("x", slices, func(tail bool) {
		g.load(len(slices)-1, 1, tail)
		g.copy(0, 10)
		g.v3("FMLA", 0, 1, 9)
		g.exp(0, 3, 4, 5, 6)
		if name == "expMul" {
			g.v3("FMUL", 0, 0, 11)
		}
		if name != "sumExp" {
			g.save(0, 0, tail)
		}
		if tail {
			g.op("FMOVS F0, F0") // the other lanes hold exp(bias)
		}
		g.v3("FADD", sum, sum, 0)
	})
	if name == "expMul" {
		g.op("RET")
		return
	}
	finish()
}
