package main

import "fmt"

// neon is arm64's instruction set, with 32 registers of four values. The
// assembler lacks most of its arithmetic: instructions are written as words.
var neon = isa{"neon", "NEON", "V", 4, 6}

// A neonGen writes the kernels of arm64. Kernels use registers below 16; the
// constants of their loops lie in those above.
type neonGen struct{ gen }

// The words of instructions on four float32 or 32-bit values: dst, a and b are
// added where they belong.
var neonWords = map[string]uint32{
	"FADD": 0x4e20d400, "FSUB": 0x4ea0d400, "FMUL": 0x6e20dc00, "FDIV": 0x6e20fc00,
	"FMLA": 0x4e20cc00, "FMLS": 0x4ea0cc00, "FMAX": 0x4e20f400, "FMIN": 0x4ea0f400,
	"FCMGT": 0x6ea0e400, "FCMEQ": 0x4e20e400, "FADDP": 0x6e20d400,
	"FSQRT": 0x6ea1f800, "FRINTN": 0x4e218800, "FCVTNS": 0x4e21a800, "FNEG": 0x6ea0f800, "FMAXV": 0x6e30f800,
	"ADD": 0x4ea08400, "AND": 0x4e201c00, "ORR": 0x4ea01c00, "EOR": 0x6e201c00, "BIC": 0x4e601c00, "BSL": 0x6e601c00,
	"SXTL.H": 0x0f08a400, "SXTL2.H": 0x4f08a400, "SXTL": 0x0f10a400, "SXTL2": 0x4f10a400, "SCVTF": 0x4e21d800,
	"SHL16": 0x4f305400, "SHL23": 0x4f375400, "USHR16": 0x6f300400,
	"TRN1": 0x4e802800, "TRN2": 0x4e806800, "TRN1.D": 0x4ec02800, "TRN2.D": 0x4ec06800,
	"FCVTL": 0x0e617800, "FCVTL2": 0x4e617800, "FMLA.D": 0x4e60cc00, "FADDP.D": 0x7e70d800,
}

// v3 writes dst = a OP b, or dst += a·b.
func (g *neonGen) v3(name string, dst, a, b int) {
	g.op("WORD $0x%08x // %s V%d, V%d, V%d", g.word(name)|uint32(b)<<16|uint32(a)<<5|uint32(dst), name, dst, a, b)
}

// v2 writes dst = OP a.
func (g *neonGen) v2(name string, dst, a int) {
	g.op("WORD $0x%08x // %s V%d, V%d", g.word(name)|uint32(a)<<5|uint32(dst), name, dst, a)
}

func (g *neonGen) word(name string) uint32 {
	w, ok := neonWords[name]
	if !ok {
		panic("no instruction " + name)
	}
	return w
}

// copy sets dst to a, zero clears it.
func (g *neonGen) copy(dst, a int) { g.v3("ORR", dst, a, a) }
func (g *neonGen) zero(dst int)    { g.v3("EOR", dst, dst, dst) }

// list is n registers from first, as the assembler writes them.
func list(first, n int) string {
	s := ""
	for i := range n {
		s += fmt.Sprintf(", V%d.S4", first+i)
	}
	return "[" + s[2:] + "]"
}

// The constants of a loop and the registers that hold them.
const (
	kLow = 16 + iota
	kHigh
	kLog2e
	kLn2High
	kLn2Low
	kExp5
	kExp4
	kExp3
	kExp2
	kExp1
	kExp0
	kOne
	kBias
)

const (
	kRoundHalf = 16 + iota
	kIntOne
	kUpper
	kQuiet
)

var neonTables = map[string][]uint32{
	// exp as on AVX2: Cody-Waite reduction and a polynomial of degree 5 (Cephes expf).
	"expTable": {
		0xc2aeac50, 0x42b20000, 0x3fb8aa3b, 0x3f318000, 0xb95e8083,
		0x39506967, 0x3ab743ce, 0x3c088908, 0x3d2aa9c1, 0x3e2aaaaa, 0x3f000000, 0x3f800000, 127, 0, 0, 0,
	},
	"roundTable": {0x7fff, 1, 0xffff0000, 0x00400000},
}

func (g *neonGen) tables() {
	for _, name := range []string{"expTable", "roundTable"} {
		table := neonTables[name]
		for i := range 4 * len(table) { // every value fills a register
			fmt.Fprintf(g, "DATA %s<>+%d(SB)/4, $0x%08x\n", name, 4*i, table[i/4])
		}
		fmt.Fprintf(g, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", name, 16*len(table))
	}
}

// load16 loads a table into the registers from 16.
func (g *neonGen) load16(table string) {
	g.op("MOVD $%s<>(SB), R10", table)
	for i := 0; i < len(neonTables[table]); i += 4 {
		g.op("VLD1.P 64(R10), %s", list(16+i, 4))
	}
}

// The registers of a matrix kernel; rows of a are R7 to R12.
const (
	neonTile = "R0"
	neonAK   = "R1"
	neonB    = "R2"
	neonBK   = "R3"
	neonK    = "R4"
	neonC    = "R5"
	neonCRow = "R6"
	neonRow0 = 7
)

// matrix writes the products.
func (g *neonGen) matrix() {
	for _, name := range []string{"gemm", "gemm16", "gemm8"} {
		g.text(name, []arg{{"t", "*tile"}}, "")
		g.loadTile(name)
		for rows := g.mr; rows > 1; rows-- {
			g.op("CMP $%d, R13", rows)
			g.op("BEQ rows%d%s", rows, name)
		}
		for rows := 1; rows <= g.mr; rows++ {
			g.rows(rows, name)
		}
	}
}

// loadTile reads the tile and turns strides into bytes.
func (g *neonGen) loadTile(name string) {
	g.op("MOVD t+0(FP), %s", neonTile)
	b, size := "b", 2
	switch name {
	case "gemm16":
		b, size = "b16", 1
	case "gemm8":
		b, size = "b8", 0
	}
	g.op("MOVD tile_rows(%s), R13", neonTile)
	g.op("MOVD tile_k(%s), %s", neonTile, neonK)
	g.op("MOVD tile_%s(%s), %s", b, neonTile, neonB)
	g.op("MOVD tile_c(%s), %s", neonTile, neonC)
	for _, s := range []struct {
		field, reg string
		shift      int
	}{{"aK", neonAK, 2}, {"cRow", neonCRow, 2}, {"bK", neonBK, size}, {"aRow", "R14", 2}} {
		g.op("MOVD tile_%s(%s), %s", s.field, neonTile, s.reg)
		g.op("LSL $%d, %s", s.shift, s.reg)
	}
	g.op("MOVD tile_a(%s), R%d", neonTile, neonRow0)
	for r := 1; r < g.mr; r++ {
		g.op("ADD R14, R%d, R%d", neonRow0+r-1, neonRow0+r)
	}
	g.op("MOVBU tile_add(%s), R15", neonTile)
}

// rows writes a tile of so many rows: b lies in registers 0 to 3, a value of a
// in 4 or 5, the sums from 8.
func (g *neonGen) rows(rows int, name string) {
	sum := func(r, j int) int { return 8 + 4*r + j }
	g.mark(fmt.Sprintf("rows%d%s", rows, name))
	for i := range 4 * rows {
		g.zero(8 + i)
	}
	if name == "gemm16" {
		g.op("VMOVI $255, V6.B16")
		g.v2("SHL16", 6, 6)
	}
	g.op("CBZ %s, store%d%s", neonK, rows, name)
	g.mark(fmt.Sprintf("loop%d%s", rows, name))
	g.loadB(name)
	for r := range rows {
		g.op("VLD1R.P (R%d)(%s), %s", neonRow0+r, neonAK, list(4+r%2, 1))
		for j := range 4 {
			g.v3("FMLA", sum(r, j), j, 4+r%2)
		}
	}
	g.op("SUBS $1, %s", neonK)
	g.op("BNE loop%d%s", rows, name)
	g.mark(fmt.Sprintf("store%d%s", rows, name))
	if name == "gemm8" {
		g.op("MOVD tile_steps(%s), R14", neonTile)
		g.op("VLD1 (R14), %s", list(0, 4))
		for i := range 4 * rows {
			g.v3("FMUL", 8+i, 8+i, i%4)
		}
	}
	g.op("CBZ R15, put%d%s", rows, name)
	g.op("MOVD %s, R14", neonC)
	for r := range rows {
		g.op("VLD1 (R14), %s", list(0, 4))
		g.op("ADD %s, R14", neonCRow)
		for j := range 4 {
			g.v3("FADD", sum(r, j), j, sum(r, j))
		}
	}
	g.mark(fmt.Sprintf("put%d%s", rows, name))
	for r := range rows {
		g.op("VST1 %s, (%s)", list(sum(r, 0), 4), neonC)
		g.op("ADD %s, %s", neonCRow, neonC)
	}
	g.op("RET")
}

// loadB reads a row of the panel, widened where it is bfloat16.
func (g *neonGen) loadB(name string) {
	switch name {
	case "gemm":
		g.op("VLD1.P (%s)(%s), %s", neonB, neonBK, list(0, 4))
		return
	case "gemm8":
		g.op("VLD1.P (%s)(%s), %s", neonB, neonBK, list(7, 1))
		g.v2("SXTL.H", 6, 7)
		g.v2("SXTL2.H", 7, 7)
		for i := range 4 {
			g.v2([]string{"SXTL", "SXTL2"}[i%2], i, 6+i/2)
			g.v2("SCVTF", i, i)
		}
		return
	}
	g.op("VLD1.P (%s)(%s), %s", neonB, neonBK, list(0, 2))
	for i := range 2 {
		g.v2("SHL16", 2+i, i)
		g.v3("AND", i, i, 6)
	}
}

// peak runs rounds of 24 multiply-adds.
func (g *neonGen) peak() {
	g.text("peak", []arg{{"n", "int"}}, "")
	g.op("MOVD n+0(FP), R0")
	for i := range 32 {
		g.zero(i)
	}
	g.op("CBZ R0, peakDone")
	g.mark("peakLoop")
	for i := range 24 {
		g.v3("FMLA", 8+i, i%4, 4+i%4)
	}
	g.op("SUBS $1, R0")
	g.op("BNE peakLoop")
	g.mark("peakDone")
	g.op("RET")
}

// layout writes transposition and the bfloat16 format of panels.
func (g *neonGen) layout() {
	g.text("transposeBlocks", []arg{{"dst", "*float32"}, {"dstStride", "int"}, {"src", "*float32"}, {"srcStride", "int"}, {"blocks", "int"}}, "")
	for i, a := range []string{"dst", "dstStride", "src", "srcStride", "blocks"} {
		g.op("MOVD %s, R%d", g.arg(a), i)
	}
	g.op("LSL $2, R1")
	g.op("LSL $2, R3")
	g.mark("transposeLoop")
	g.op("MOVD R2, R5")
	for r := range 4 {
		g.op("VLD1.P (R5)(R3), %s", list(r, 1))
	}
	for i := range 2 {
		g.v3("TRN1", 4+2*i, 2*i, 2*i+1)
		g.v3("TRN2", 5+2*i, 2*i, 2*i+1)
	}
	for i := range 2 {
		g.v3("TRN1.D", i, 4+i, 6+i)
		g.v3("TRN2.D", 2+i, 4+i, 6+i)
	}
	for c := range 4 {
		g.op("VST1.P %s, (R0)(R1)", list(c, 1))
	}
	g.op("ADD $16, R2")
	g.op("SUBS $1, R4")
	g.op("BNE transposeLoop")
	g.op("RET")

	g.text("narrowRows", []arg{{"dst", "[]uint16"}, {"src", "[]float32"}}, "")
	g.load16("roundTable")
	g.rowLoop("src", func() {
		g.op("VLD1.P 64(R1), %s", list(0, 4))
		for i := range 4 {
			g.round(i)
		}
		for i := range 2 {
			g.v3("AND", i, i, kUpper)
			g.v2("USHR16", 2+i, 2+i)
			g.v3("ORR", i, i, 2+i)
		}
		g.op("VST1.P %s, 32(R0)", list(0, 2))
	})

	g.text("widenRows", []arg{{"dst", "[]float32"}, {"src", "[]uint16"}}, "")
	g.load16("roundTable")
	g.rowLoop("dst", func() {
		g.op("VLD1.P 32(R1), %s", list(0, 2))
		for i := range 2 {
			g.v2("SHL16", 2+i, i)
			g.v3("AND", i, i, kUpper)
		}
		g.op("VST1.P %s, 64(R0)", list(0, 4))
	})
}

// round adds half a unit of the upper 16 bits, ties to even; NaN becomes quiet.
func (g *neonGen) round(x int) {
	const sum, nan, number = 4, 5, 6
	g.v2("USHR16", sum, x)
	g.v3("AND", sum, sum, kIntOne)
	g.v3("ADD", sum, sum, kRoundHalf)
	g.v3("ADD", sum, sum, x)
	g.v3("ORR", nan, x, kQuiet)
	g.v3("FCMEQ", number, x, x)
	g.v3("BSL", number, sum, nan)
	g.copy(x, number)
}

// rowLoop runs body for every 16 values of slice n.
func (g *neonGen) rowLoop(n string, body func()) {
	loop, done := g.newLabel("loop"), g.newLabel("done")
	g.op("MOVD %s, R0", g.base("dst"))
	g.op("MOVD %s, R1", g.base("src"))
	g.op("MOVD %s, R2", g.size(n))
	g.mark(loop)
	g.op("CMP $16, R2")
	g.op("BLT %s", done)
	body()
	g.op("SUB $16, R2")
	g.op("B %s", loop)
	g.mark(done)
	g.op("RET")
}
