package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"agentmill/internal/half"
)

// A Pair is one entry of the metadata to write. Value is a uint32, float32,
// bool, string, []string or []int32.
type Pair struct {
	Key   string
	Value any
}

// An Entry is a tensor to write. Values are asked for while it is written.
type Entry struct {
	Name   string
	Type   string // f32 or bf16
	Shape  []int  // row-major
	Values func() ([]float32, error)
}

// version is the version of the format that Write writes.
const version = 3

// stored are the types that Write writes: their number and bytes a value.
var stored = map[string]struct {
	number uint32
	bytes  int
}{"f32": {0, 4}, "bf16": {30, 2}}

// Types lists the types that Write writes.
func Types() []string { return []string{"bf16", "f32"} }

// Write writes a GGUF file of version 3.
func Write(w io.Writer, meta []Pair, tensors []Entry) error {
	e := &encoder{w: bufio.NewWriterSize(w, 1<<20)}
	e.bytes([]byte("GGUF"))
	e.u32(version)
	e.u64(uint64(len(tensors)))
	e.u64(uint64(len(meta)))
	for _, p := range meta {
		e.string(p.Key)
		e.value(p.Key, p.Value)
	}
	offset := 0
	for _, t := range tensors {
		offset = e.info(t, offset)
	}
	e.align()
	for _, t := range tensors {
		e.tensor(t)
	}
	if e.err != nil {
		return fmt.Errorf("write GGUF: %w", e.err)
	}
	return e.w.Flush()
}

// An encoder keeps the first error.
type encoder struct {
	w   *bufio.Writer
	at  int
	err error
}

func (e *encoder) bytes(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
		e.at += len(b)
	}
}

func (e *encoder) u32(v uint32) { e.bytes(binary.LittleEndian.AppendUint32(nil, v)) }

func (e *encoder) u64(v uint64) { e.bytes(binary.LittleEndian.AppendUint64(nil, v)) }

func (e *encoder) string(s string) {
	e.u64(uint64(len(s)))
	e.bytes([]byte(s))
}

func (e *encoder) align() {
	for e.at%defaultAlignment != 0 && e.err == nil {
		e.bytes([]byte{0})
	}
}

func (e *encoder) value(key string, v any) {
	switch v := v.(type) {
	case uint32:
		e.kind(typeU32)
		e.u32(v)
	case float32:
		e.kind(typeF32)
		e.u32(math.Float32bits(v))
	case bool:
		e.kind(typeBool)
		b := byte(0)
		if v {
			b = 1
		}
		e.bytes([]byte{b})
	case string:
		e.kind(typeString)
		e.string(v)
	case []string:
		e.array(typeString, len(v))
		for _, s := range v {
			e.string(s)
		}
	case []int32:
		e.array(typeI32, len(v))
		for _, x := range v {
			e.u32(uint32(x))
		}
	default:
		e.fail(fmt.Errorf("metadata %s: a value of type %T can not be written", key, v))
	}
}

func (e *encoder) kind(t valueType) { e.u32(uint32(t)) }

func (e *encoder) array(of valueType, n int) {
	e.kind(typeArray)
	e.kind(of)
	e.u64(uint64(n))
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// info writes where a tensor lies and returns where the next one does.
func (e *encoder) info(t Entry, offset int) (next int) {
	kind, ok := stored[t.Type]
	if !ok {
		e.fail(fmt.Errorf("tensor %q: type %q: want one of %s", t.Name, t.Type, strings.Join(Types(), ", ")))
		return offset
	}
	e.string(t.Name)
	e.u32(uint32(len(t.Shape)))
	n := 1
	for _, d := range slices.Backward(t.Shape) { // the fastest dimension first
		e.u64(uint64(d))
		n *= d
	}
	e.u32(kind.number)
	e.u64(uint64(offset))
	size := n * kind.bytes
	return offset + (size+defaultAlignment-1)/defaultAlignment*defaultAlignment
}

// tensor writes the values of one tensor.
func (e *encoder) tensor(t Entry) {
	if e.err != nil {
		return
	}
	values, err := t.Values()
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	if err == nil && len(values) != n {
		err = errors.New("values and shape do not fit")
	}
	if err != nil {
		e.fail(fmt.Errorf("tensor %q: %w", t.Name, err))
		return
	}
	const chunk = 4096
	buffer := make([]byte, 0, 4*chunk)
	for len(values) > 0 {
		part := values[:min(chunk, len(values))]
		values = values[len(part):]
		buffer = buffer[:0]
		for _, v := range part {
			buffer = appendAs(buffer, t.Type, v)
		}
		e.bytes(buffer)
	}
	e.align()
}

func appendAs(b []byte, kind string, v float32) []byte {
	if kind == "bf16" {
		return binary.LittleEndian.AppendUint16(b, half.ToBF16(v))
	}
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
}
