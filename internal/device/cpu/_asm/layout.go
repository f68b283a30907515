package main

// layout writes transposition and the bfloat16 formats of panels.
func (g *gen) layout() {
	g.transpose()
	g.copyRows()
	g.narrow()
	g.widen()
	if g.wide() {
		g.pairs()
	}
}

// transpose turns lanes rows of src into columns, lanes columns at a time:
// dst[c·dstStride+r] = src[r·srcStride+c] for blocks·lanes columns.
func (g *gen) transpose() {
	g.text("transposeBlocks", []arg{{"dst", "*float32"}, {"dstStride", "int"}, {"src", "*float32"}, {"srcStride", "int"}, {"blocks", "int"}}, "")
	g.op("MOVQ %s, DI", g.arg("dst"))
	g.op("MOVQ %s, R8", g.arg("dstStride"))
	g.op("SHLQ $2, R8")
	g.op("MOVQ %s, SI", g.arg("src"))
	g.op("MOVQ %s, R9", g.arg("srcStride"))
	g.op("SHLQ $2, R9")
	g.op("MOVQ %s, CX", g.arg("blocks"))
	loop := g.newLabel("loop")
	g.mark(loop)
	g.op("MOVQ SI, AX")
	for r := range g.lanes {
		g.op("VMOVUPS (AX), %s", g.v(r))
		g.op("ADDQ R9, AX")
	}
	out := g.turn16()
	if !g.wide() {
		out = g.turn8()
	}
	for c := range g.lanes {
		g.op("VMOVUPS %s, (DI)", g.v(out[c]))
		g.op("ADDQ R8, DI")
	}
	g.op("ADDQ $%d, SI", g.bytes())
	g.op("DECQ CX")
	g.op("JNZ %s", loop)
	g.done()
}

// quads transposes the 4×4 squares of rows r to r+3 in registers from+r…: low
// and high halves of pairs, then pairs of pairs. tmp are four free registers,
// which hold the result; the rows become free.
func (g *gen) quads(rows, tmp [4]int) {
	for i := range 2 {
		g.do("VUNPCKLPS", rows[2*i+1], rows[2*i], tmp[2*i])
		g.do("VUNPCKHPS", rows[2*i+1], rows[2*i], tmp[2*i+1])
	}
	g.do("VUNPCKLPD", tmp[2], tmp[0], rows[0])
	g.do("VUNPCKHPD", tmp[2], tmp[0], rows[1])
	g.do("VUNPCKLPD", tmp[3], tmp[1], rows[2])
	g.do("VUNPCKHPD", tmp[3], tmp[1], rows[3])
}

// turn16 transposes registers 0 to 15 with the help of 16 to 31 and returns
// where the columns are.
func (g *gen) turn16() []int {
	if !g.wide() {
		return nil
	}
	for r := 0; r < 16; r += 4 {
		g.quads([4]int{r, r + 1, r + 2, r + 3}, [4]int{16, 17, 18, 19})
	}
	// Register r+c now holds, in its quarter q, column 4q+c of rows r to r+3.
	out := make([]int, 16)
	for c := range 4 {
		a, b, d, e := c, 4+c, 8+c, 12+c
		s, t := 16+4*c, 17+4*c
		u, v := 18+4*c, 19+4*c
		shuffle := func(imm, y, x, dst int) { g.op("VSHUFF32X4 $0x%02x, Z%d, Z%d, Z%d", imm, y, x, dst) }
		shuffle(0x88, b, a, s) // quarters 0 and 2 of a, then of b
		shuffle(0xdd, b, a, t) // quarters 1 and 3
		shuffle(0x88, e, d, u)
		shuffle(0xdd, e, d, v)
		shuffle(0x88, u, s, a) // quarter 0 of all four
		shuffle(0xdd, u, s, d) // quarter 2
		shuffle(0x88, v, t, b) // quarter 1
		shuffle(0xdd, v, t, e) // quarter 3
		out[c], out[4+c], out[8+c], out[12+c] = a, b, d, e
	}
	return out
}

// turn8 transposes registers 0 to 7.
func (g *gen) turn8() []int {
	for r := 0; r < 8; r += 4 {
		g.quads([4]int{r, r + 1, r + 2, r + 3}, [4]int{8, 9, 10, 11})
	}
	out := make([]int, 8)
	for c := range 4 {
		g.op("VPERM2F128 $0x20, Y%d, Y%d, Y%d", 4+c, c, 8+c)
		g.op("VPERM2F128 $0x31, Y%d, Y%d, Y%d", 4+c, c, 4+c)
		out[c], out[4+c] = 8+c, 4+c
	}
	return out
}

// copyRows copies rows of any length, with one mask for all their ends.
func (g *gen) copyRows() {
	g.text("copyRows", []arg{{"dst", "[]float32"}, {"dstStride", "int"}, {"src", "[]float32"}, {"srcStride", "int"}, {"rows", "int"}, {"cols", "int"}}, "")
	g.op("MOVQ %s, R8", g.base("dst"))
	g.op("MOVQ %s, R9", g.base("src"))
	g.op("MOVQ %s, R10", g.arg("dstStride"))
	g.op("SHLQ $2, R10")
	g.op("MOVQ %s, R11", g.arg("srcStride"))
	g.op("SHLQ $2, R11")
	g.op("MOVQ %s, R12", g.arg("rows"))
	g.op("MOVQ %s, DX", g.arg("cols"))
	g.op("MOVQ DX, CX")
	g.op("ANDQ $%d, CX", g.lanes-1)
	g.op("ANDQ $-%d, DX", g.lanes)
	g.op("SHLQ $2, DX") // bytes of whole registers
	g.op("MOVQ CX, R13")
	g.tailMask()
	row, whole, next := g.newLabel("row"), g.newLabel("whole"), g.newLabel("next")
	tail, moved := g.newLabel("tail"), g.newLabel("moved")
	g.op("JMP %s", next)
	g.mark(row)
	g.op("XORQ AX, AX")
	g.mark(whole)
	g.op("CMPQ AX, DX")
	g.op("JGE %s", tail)
	g.load(1, 0, false)
	g.save(0, 0, false)
	g.op("ADDQ $%d, AX", g.bytes())
	g.op("JMP %s", whole)
	g.mark(tail)
	g.op("TESTQ R13, R13")
	g.op("JZ %s", moved)
	g.load(1, 0, true)
	g.save(0, 0, true)
	g.mark(moved)
	g.op("ADDQ R10, R8")
	g.op("ADDQ R11, R9")
	g.mark(next)
	g.op("DECQ R12")
	g.op("JGE %s", row)
	g.done()
}

// narrow rounds rows of two registers to bfloat16 in one: the first register's
// values go to the upper halves.
func (g *gen) narrow() {
	g.text("narrowRows", []arg{{"dst", "[]uint16"}, {"src", "[]float32"}}, "")
	g.rowLoop("src", 2, func() {
		g.op("VMOVUPS (R9), %s", g.v(0))
		g.op("VMOVUPS %d(R9), %s", g.bytes(), g.v(1))
		g.round(0, 4, 5)
		g.round(1, 4, 5)
		g.with(g.and(), "upper", 0, 0)
		g.op("VPSRLD $16, %s, %s", g.v(1), g.v(1))
		g.do(g.or(), 1, 0, 0)
		g.op("VMOVUPS %s, (R8)", g.v(0))
	})
}

// fetch brings the cache lines of x near; none is waited for.
func (g *gen) fetch() {
	g.text("fetch", []arg{argX}, "")
	g.op("MOVQ %s, R8", g.base("x"))
	g.op("MOVQ %s, CX", g.size("x"))
	g.op("LEAQ (R8)(CX*4), CX")
	loop, done := g.newLabel("loop"), g.newLabel("done")
	g.mark(loop)
	g.op("CMPQ R8, CX")
	g.op("JGE %s", done)
	g.op("PREFETCHT0 (R8)")
	g.op("ADDQ $64, R8")
	g.op("JMP %s", loop)
	g.mark(done)
	g.op("RET")
}

// pairs writes the formats of gemmPairs. A panel's row is two registers; rows
// 2i and 2i+1 become two registers of pairs, row 2i in the lower halves.
func (g *gen) pairs() {
	const rows = 4
	g.text("roundPairs", []arg{{"dst", "[]uint16"}, {"src", "[]float32"}}, "")
	g.loopOver("src", g.lanes, g.bytes()/2, g.bytes(), func() {
		g.op("VMOVUPS (R9), Z0")
		g.evex(0x72, 0, 0, 0) // VCVTNEPS2BF16 Z0, Y0
		g.op("VMOVUPS Y0, (R8)")
	})
	g.text("narrowPairs", []arg{{"dst", "[]uint16"}, {"src", "[]float32"}}, "")
	g.loopOver("src", rows*g.lanes, 2*g.bytes(), rows*g.bytes(), func() {
		for i := range rows {
			g.op("VMOVUPS %d(R9), %s", i*g.bytes(), g.v(i))
		}
		for i := range rows {
			g.round(i, 8, 9)
		}
		for i := range rows / 2 {
			g.op("VPSRLD $16, %s, %s", g.v(i), g.v(i))
			g.with(g.and(), "upper", 2+i, 2+i)
			g.do(g.or(), 2+i, i, i)
			g.op("VMOVUPS %s, %d(R8)", g.v(i), i*g.bytes())
		}
	})
	g.text("widenPairs", []arg{{"dst", "[]float32"}, {"src", "[]uint16"}}, "")
	g.loopOver("dst", rows*g.lanes, rows*g.bytes(), 2*g.bytes(), func() {
		for i := range rows / 2 {
			g.op("VMOVUPS %d(R9), %s", i*g.bytes(), g.v(i))
			g.op("VPSLLD $16, %s, %s", g.v(i), g.v(2))
			g.with(g.and(), "upper", i, i)
			g.op("VMOVUPS %s, %d(R8)", g.v(2), i*g.bytes())
			g.op("VMOVUPS %s, %d(R8)", g.v(i), (2+i)*g.bytes())
		}
	})
}

// round adds half a unit of the upper 16 bits, ties to even; NaN becomes quiet.
func (g *gen) round(x, odd, nan int) {
	g.op("VPSRLD $16, %s, %s", g.v(x), g.v(odd))
	g.with(g.and(), "intOne", odd, odd)
	g.with("VPADDD", "roundHalf", odd, odd)
	g.do("VPADDD", odd, x, odd)
	g.with(g.or(), "quiet", x, nan)
	if g.wide() {
		g.op("VCMPPS $3, Z%d, Z%d, K2", x, x)
		g.op("VMOVAPS Z%d, Z%d", odd, x)
		g.op("VMOVAPS Z%d, K2, Z%d", nan, x)
		return
	}
	g.op("VCMPPS $3, Y%d, Y%d, Y6", x, x)
	g.op("VBLENDVPS Y6, Y%d, Y%d, Y%d", nan, odd, x)
}

func (g *gen) and() string {
	if g.wide() {
		return "VPANDD"
	}
	return "VPAND"
}

func (g *gen) or() string {
	if g.wide() {
		return "VPORD"
	}
	return "VPOR"
}

// widen undoes narrow.
func (g *gen) widen() {
	g.text("widenRows", []arg{{"dst", "[]float32"}, {"src", "[]uint16"}}, "")
	g.rowLoop("dst", 1, func() {
		g.op("VMOVUPS (R9), %s", g.v(0))
		g.op("VPSLLD $16, %s, %s", g.v(0), g.v(1))
		g.with(g.and(), "upper", 0, 0)
		g.op("VMOVUPS %s, (R8)", g.v(0))
		g.op("VMOVUPS %s, %d(R8)", g.v(1), g.bytes())
	})
}

// rowLoop runs body over rows of two registers of float32; n names the float32
// slice and src counts the registers read a row.
func (g *gen) rowLoop(n string, src int, body func()) {
	g.loopOver(n, 2*g.lanes, (3-src)*g.bytes(), src*g.bytes(), body)
}

// loopOver runs body for every values values of slice n; dst and src move on by
// so many bytes.
func (g *gen) loopOver(n string, values, dst, src int, body func()) {
	loop, done := g.newLabel("loop"), g.newLabel("done")
	g.op("MOVQ %s, R8", g.base("dst"))
	g.op("MOVQ %s, R9", g.base("src"))
	g.op("MOVQ %s, CX", g.size(n))
	g.mark(loop)
	g.op("CMPQ CX, $%d", values)
	g.op("JLT %s", done)
	body()
	g.op("ADDQ $%d, R8", dst)
	g.op("ADDQ $%d, R9", src)
	g.op("SUBQ $%d, CX", values)
	g.op("JMP %s", loop)
	g.mark(done)
	g.done()
}
