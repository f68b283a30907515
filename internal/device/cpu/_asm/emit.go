package main

import (
	"bytes"
	"fmt"
	"strings"
)

// An isa is an instruction set.
type isa struct {
	name  string // of files
	label string // of functions
	reg   string // a vector register's letter
	lanes int    // float32 values of a register
	mr    int    // rows of the largest tile
}

var (
	avx512 = isa{"avx512", "AVX512", "Z", 16, 12}
	avx2   = isa{"avx2", "AVX2", "Y", 8, 6}
)

func (i isa) wide() bool { return i.lanes == 16 }

// v is vector register n.
func (i isa) v(n int) string { return fmt.Sprint(i.reg, n) }

// bytes is the size of a register.
func (i isa) bytes() int { return 4 * i.lanes }

// A gen writes one assembly file.
type gen struct {
	isa
	bytes.Buffer
	stubs  *bytes.Buffer
	offset map[string]int // of the current function's arguments
	ret    int            // offset of its result
	labels int
}

// An arg is an argument of a function.
type arg struct{ name, typ string }

var sizeOf = map[string]int{"[]float32": 24, "[]uint16": 24, "float32": 4, "float64": 8, "int": 8, "*tile": 8, "*float32": 8, "*adamwConst": 8, "": 0}

func align(n, to int) int { return (n + to - 1) / to * to }

// text begins a function and its stub. ret is its result's type or empty.
func (g *gen) text(name string, args []arg, ret string) {
	g.offset = map[string]int{}
	at := 0
	var list []string
	for _, a := range args {
		at = align(at, min(8, sizeOf[a.typ]))
		g.offset[a.name] = at
		at += sizeOf[a.typ]
		list = append(list, a.name+" "+a.typ)
	}
	g.ret = align(at, 8)
	end := at
	if ret != "" {
		end = g.ret + sizeOf[ret]
	}
	fmt.Fprintf(g, "\n// func %s%s(%s) %s\nTEXT ·%s%s(SB), NOSPLIT, $0-%d\n", name, g.label, strings.Join(list, ", "), ret, name, g.label, end)
	fmt.Fprintf(g.stubs, "\n//go:noescape\nfunc %s%s(%s) %s\n", name, g.label, strings.Join(list, ", "), ret)
}

// op writes one instruction.
func (g *gen) op(format string, args ...any) { fmt.Fprintf(g, "\t"+format+"\n", args...) }

func (g *gen) mark(label string) { fmt.Fprintf(g, "\n%s:\n", label) }

// newLabel makes a label of this file.
func (g *gen) newLabel(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

func (g *gen) arg(name string) string  { return fmt.Sprintf("%s+%d(FP)", name, g.offset[name]) }
func (g *gen) base(name string) string { return fmt.Sprintf("%s_base+%d(FP)", name, g.offset[name]) }
func (g *gen) size(name string) string { return fmt.Sprintf("%s_len+%d(FP)", name, g.offset[name]+8) }

// done ends a function.
func (g *gen) done() {
	g.op("VZEROUPPER")
	g.op("RET")
}

// constant is the operand of a named constant, as wide as a register.
func constant(name string) string { return name + "<>+0(SB)" }

// constants writes the constants of this file.
func (g *gen) constants() {
	for _, c := range []struct {
		name string
		bits uint32
	}{
		// exp: Cody-Waite reduction and a polynomial of degree 5 (Cephes expf).
		{"expLow", g.expLow()},
		{"expHigh", 0x42b20000 /* 89 */},
		{"log2e", 0x3fb8aa3b},
		{"ln2High", 0x3f318000},
		{"ln2Low", 0xb95e8083},
		{"exp0", 0x3f000000},
		{"exp1", 0x3e2aaaaa},
		{"exp2", 0x3d2aa9c1},
		{"exp3", 0x3c088908},
		{"exp4", 0x3ab743ce},
		{"exp5", 0x39506967},
		{"one", 0x3f800000},
		{"sign", 0x80000000},
		{"exponentBias", 127},
		{"negInf", 0xff800000},
		// rounding to bfloat16
		{"roundHalf", 0x7fff},
		{"intOne", 1},
		{"upper", 0xffff0000},
		{"quiet", 0x00400000},
	} {
		for i := range g.lanes {
			fmt.Fprintf(g, "DATA %s<>+%d(SB)/4, $0x%08x\n", c.name, 4*i, c.bits)
		}
		fmt.Fprintf(g, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", c.name, g.bytes())
	}
	if g.wide() {
		return
	}
	for i := range 2 * g.lanes { // a window of it masks the first n lanes
		fmt.Fprintf(g, "DATA tailMask<>+%d(SB)/4, $%d\n", 4*i, -max(0, min(1, g.lanes-i)))
	}
	fmt.Fprintf(g, "GLOBL tailMask<>(SB), RODATA|NOPTR, $%d\n", 2*g.bytes())
}

// expLow is where exp becomes 0: AVX2 has no gradual underflow.
func (g *gen) expLow() uint32 {
	if g.wide() {
		return 0xc2d00000 // −104
	}
	return 0xc2aeac50 // −87.3365
}
