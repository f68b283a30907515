package main

import "fmt"

// The registers of a matrix kernel. Rows of a are reached from four bases,
// three rows apart.
const (
	regTile = "DI"
	regARow = "R8"
	regAK   = "R9"
	regB    = "R10"
	regBK   = "R11"
	regK    = "R12"
	regC    = "R13"
	regCRow = "SI"

	regAhead     = "R15"
	regAheadStep = "R14"
)

var regA = []string{"AX", "BX", "CX", "DX"}

// matrix writes the products: one function each, with a loop for every number of
// rows.
func (g *gen) matrix() {
	for _, name := range g.products() {
		g.text(name, []arg{{"t", "*tile"}}, "")
		g.loadTile(name)
		for rows := g.mr; rows > 1; rows-- {
			g.op("CMPQ tile_rows(%s), $%d", regTile, rows)
			g.op("JEQ rows%d%s", rows, name)
		}
		for rows := 1; rows <= g.mr; rows++ {
			g.rows(rows, name)
		}
	}
}

// products are the matrix kernels of the instruction set.
func (g *gen) products() []string {
	if g.wide() {
		return []string{"gemm", "gemm16", "gemm8", "gemmPairs"}
	}
	return []string{"gemm", "gemm16", "gemm8"}
}

// dot adds the products of the bfloat16 pairs of x and y to sum. The assembler
// lacks VDPBF16PS: these are its bytes, in EVEX.512.F3.0F38.W0 52 /r.
func (g *gen) dot(x, y, sum int) {
	g.evex(0x52, sum, x, y)
}

// evex writes an instruction of map 0F38 with prefix F3 on 512-bit registers,
// whose number lacks in the assembler: modrm.reg, vvvv and modrm.rm.
func (g *gen) evex(opcode, reg, v, rm int) {
	not := func(x, bit int) int { return ^x >> bit & 1 }
	p0 := not(reg, 3)<<7 | not(rm, 4)<<6 | not(rm, 3)<<5 | not(reg, 4)<<4 | 2
	p1 := (^v&15)<<3 | 4 | 2
	p2 := 2<<5 | not(v, 4)<<3
	for _, b := range []int{0x62, p0, p1, p2, opcode, 3<<6 | reg&7<<3 | rm&7} {
		g.op("BYTE $0x%02x", b)
	}
}

// loadTile reads the tile and turns strides into bytes.
func (g *gen) loadTile(name string) {
	g.op("MOVQ t+0(FP), %s", regTile)
	g.op("MOVQ tile_aRow(%s), %s", regTile, regARow)
	g.op("SHLQ $2, %s", regARow)
	g.op("MOVQ tile_aK(%s), %s", regTile, regAK)
	g.op("SHLQ $2, %s", regAK)
	g.op("MOVQ tile_a(%s), %s", regTile, regA[0])
	for i := 1; i < (g.mr+2)/3; i++ {
		g.op("LEAQ (%s)(%s*2), %s", regA[i-1], regARow, regA[i])
		g.op("ADDQ %s, %s", regARow, regA[i])
	}
	b, shift := "tile_b", 2
	switch name {
	case "gemm16":
		b, shift = "tile_b16", 1
	case "gemm8":
		b, shift = "tile_b8", 0
	}
	g.op("MOVQ %s(%s), %s", b, regTile, regB)
	g.op("MOVQ tile_bK(%s), %s", regTile, regBK)
	g.op("SHLQ $%d, %s", shift, regBK)
	g.op("MOVQ tile_ahead(%s), %s", regTile, regAhead)
	g.op("ADDQ %s, %s", regB, regAhead)
	g.op("MOVQ tile_aheadStep(%s), %s", regTile, regAheadStep)
	g.op("MOVQ tile_k(%s), %s", regTile, regK)
	g.op("MOVQ tile_c(%s), %s", regTile, regC)
	g.op("MOVQ tile_cRow(%s), %s", regTile, regCRow)
	g.op("SHLQ $2, %s", regCRow)
	if name == "gemm16" && g.wide() {
		g.op("VMOVUPS %s, Z31", constant("upper"))
	}
}

// The vector registers: two sums a row, two of b, the rest for values of a.
func (g *gen) sum(row, half int) string { return g.v(2*row + half) }
func (g *gen) b(half int) string        { return g.v(2*g.mr + half) }
func (g *gen) a(row int) string {
	if g.wide() {
		return g.v(26 + row%5)
	}
	return g.v(14 + row%2)
}

// rows writes the loop over k for a number of rows, and the store.
func (g *gen) rows(rows int, name string) {
	g.mark(fmt.Sprintf("rows%d%s", rows, name))
	for i := range rows {
		g.op("VXORPS %s, %s, %s", xmm(2*i), xmm(2*i), xmm(2*i))
		g.op("VXORPS %s, %s, %s", xmm(2*i+1), xmm(2*i+1), xmm(2*i+1))
	}
	loop, store := g.newLabel("loop"), g.newLabel("store")
	g.op("TESTQ %s, %s", regK, regK)
	g.op("JZ %s", store)
	g.op("PCALIGN $32")
	g.mark(loop)
	g.loadB(name)
	for i := range rows {
		at := []string{"(%s)", "(%s)(%s*1)", "(%s)(%s*2)"}[i%3]
		operand := fmt.Sprintf("(%s)", regA[i/3])
		if i%3 > 0 {
			operand = fmt.Sprintf(at, regA[i/3], regARow)
		}
		g.op("VBROADCASTSS %s, %s", operand, g.a(i))
		if name == "gemmPairs" {
			a := 26 + i%5
			g.dot(a, 2*g.mr, 2*i)
			g.dot(a, 2*g.mr+1, 2*i+1)
			continue
		}
		g.op("VFMADD231PS %s, %s, %s", g.b(0), g.a(i), g.sum(i, 0))
		g.op("VFMADD231PS %s, %s, %s", g.b(1), g.a(i), g.sum(i, 1))
	}
	for i := range (rows + 2) / 3 {
		g.op("ADDQ %s, %s", regAK, regA[i])
	}
	g.op("ADDQ %s, %s", regBK, regB)
	g.op("ADDQ %s, %s", regAheadStep, regAhead)
	g.op("DECQ %s", regK)
	g.op("JNZ %s", loop)
	g.mark(store)
	if name == "gemm8" {
		g.op("MOVQ tile_steps(%s), %s", regTile, regB)
		for i := range rows {
			for h := range 2 {
				g.op("VMULPS %d(%s), %s, %s", h*g.bytes(), regB, g.sum(i, h), g.sum(i, h))
			}
		}
	}
	g.store(rows)
}

// xmm names the register that VXORPS clears: the whole register becomes zero.
func xmm(n int) string {
	if n > 15 {
		return fmt.Sprint("Z", n)
	}
	return fmt.Sprint("X", n)
}

// loadB fetches what the tile says comes next, and loads two registers of b. Of
// bfloat16 pairs the upper halves are the first columns, the lower halves the others.
func (g *gen) loadB(name string) {
	g.op("PREFETCHT0 (%s)", regAhead)
	switch name {
	case "gemm16":
		g.loadHalves()
	case "gemm8":
		for h := range 2 {
			g.op("VPMOVSXBD %d(%s), %s", h*g.lanes, regB, g.b(h))
			g.op("VCVTDQ2PS %s, %s", g.b(h), g.b(h))
		}
	default:
		if g.wide() {
			g.op("PREFETCHT0 64(%s)", regAhead)
		}
		g.op("VMOVUPS (%s), %s", regB, g.b(0))
		g.op("VMOVUPS %d(%s), %s", g.bytes(), regB, g.b(1))
	}
}

func (g *gen) loadHalves() {
	g.op("VMOVUPS (%s), %s", regB, g.b(0))
	g.op("VPSLLD $16, %s, %s", g.b(0), g.b(1))
	if g.wide() {
		g.op("VPANDD Z31, %s, %s", g.b(0), g.b(0))
		return
	}
	g.op("VPAND %s, %s, %s", constant("upper"), g.b(0), g.b(0))
}

// store writes the sums to c, or adds them.
func (g *gen) store(rows int) {
	write := g.newLabel("write")
	for _, add := range []bool{true, false} {
		if add {
			g.op("CMPB tile_add(%s), $0", regTile)
			g.op("JEQ %s", write)
		} else {
			g.mark(write)
		}
		for i := range rows {
			for h := range 2 {
				at := fmt.Sprintf("%d(%s)", h*g.bytes(), regC)
				if add {
					g.op("VADDPS %s, %s, %s", at, g.sum(i, h), g.sum(i, h))
				}
				g.op("VMOVUPS %s, %s", g.sum(i, h), at)
			}
			if i < rows-1 {
				g.op("ADDQ %s, %s", regCRow, regC)
			}
		}
		g.done()
	}
}

// peak runs n rounds of multiply-adds that wait for nothing but each other:
// the yardstick of the matrix kernels. peakPairs is that of gemmPairs.
func (g *gen) peak() {
	g.rounds("peak", func(sum int) { g.do("VFMADD231PS", peakSums, peakSums, sum) })
	if g.wide() {
		g.rounds("peakPairs", func(sum int) { g.dot(peakSums, peakSums, sum) })
	}
}

func (g *gen) rounds(name string, add func(sum int)) {
	g.text(name, []arg{{"n", "int"}}, "")
	g.op("MOVQ %s, CX", g.arg("n"))
	for i := range peakSums + 1 {
		g.clear(i)
	}
	loop := g.newLabel("loop")
	g.op("PCALIGN $32")
	g.mark(loop)
	for i := range peakSums {
		add(i)
	}
	g.op("DECQ CX")
	g.op("JNZ %s", loop)
	g.done()
}

// peakSums is more than latency times issue width.
const peakSums = 12
