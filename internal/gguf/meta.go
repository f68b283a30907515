package gguf

import (
	"fmt"
	"math"
)

// Meta is a file's metadata. Values are uint64, int64, float64, bool, string,
// or a slice of one of these.
type Meta map[string]any

// Meta returns the metadata, which callers must not change.
func (f *File) Meta() Meta { return f.meta }

// String returns the string under key.
func (m Meta) String(key string) (string, error) { return get[string](m, key, "a string") }

// Strings returns the list of strings under key.
func (m Meta) Strings(key string) ([]string, error) {
	return get[[]string](m, key, "a list of strings")
}

// Bool returns the truth value under key.
func (m Meta) Bool(key string) (bool, error) { return get[bool](m, key, "a truth value") }

// Float returns the number under key.
func (m Meta) Float(key string) (float64, error) {
	return get[float64](m, key, "a floating-point number")
}

// Int returns the whole number under key, of whatever width and sign.
func (m Meta) Int(key string) (int, error) {
	switch v := m[key].(type) {
	case uint64:
		if v > math.MaxInt {
			return 0, fmt.Errorf("metadata %s is %d: out of range", key, v)
		}
		return int(v), nil
	case int64:
		return int(v), nil
	}
	_, err := get[int](m, key, "a whole number")
	return 0, err
}

// Ints returns the list of whole numbers under key.
func (m Meta) Ints(key string) ([]int64, error) {
	if u, ok := m[key].([]uint64); ok {
		out := make([]int64, len(u))
		for i, v := range u {
			out[i] = int64(v)
		}
		return out, nil
	}
	return get[[]int64](m, key, "a list of whole numbers")
}

// Has says whether there is something under key.
func (m Meta) Has(key string) bool {
	_, ok := m[key]
	return ok
}

func get[T any](m Meta, key, want string) (T, error) {
	v, ok := m[key].(T)
	if ok {
		return v, nil
	}
	if m.Has(key) {
		return v, fmt.Errorf("metadata %s is a %T: want %s", key, m[key], want)
	}
	return v, fmt.Errorf("metadata %s is missing: want %s", key, want)
}

// valueType is the type of a metadata value.
type valueType uint32

const (
	typeU8 valueType = iota
	typeI8
	typeU16
	typeI16
	typeU32
	typeI32
	typeF32
	typeBool
	typeString
	typeArray
	typeU64
	typeI64
	typeF64
)

// width is the size of a value in bytes; strings take at least that many.
func (v valueType) width() int {
	switch v {
	case typeU8, typeI8, typeBool:
		return 1
	case typeU16, typeI16:
		return 2
	case typeU32, typeI32, typeF32:
		return 4
	case typeU64, typeI64, typeF64, typeString:
		return 8
	default: // lists, and what is unknown
		return 0
	}
}

func (d *decoder) value(v valueType) (any, error) {
	switch v {
	case typeString:
		return d.string(math.MaxInt64)
	case typeArray:
		return d.array()
	case typeBool:
		return d.bool()
	case typeF32, typeF64:
		return d.float(v)
	case typeI8, typeI16, typeI32, typeI64:
		return d.int(v)
	case typeU8, typeU16, typeU32, typeU64:
		return d.uint(v.width())
	}
	return nil, fmt.Errorf("value type %d is unknown", v)
}

func (d *decoder) array() (any, error) {
	kind, err := d.uint(4)
	if err != nil {
		return nil, err
	}
	v := valueType(kind)
	if v.width() == 0 {
		return nil, fmt.Errorf("list of value type %d is not supported", v)
	}
	n, err := d.count("list length", int64(v.width()))
	if err != nil {
		return nil, err
	}
	switch v {
	case typeString:
		return list(n, func() (string, error) { return d.string(math.MaxInt64) })
	case typeBool:
		return list(n, d.bool)
	case typeF32, typeF64:
		return list(n, func() (float64, error) { return d.float(v) })
	case typeI8, typeI16, typeI32, typeI64:
		return list(n, func() (int64, error) { return d.int(v) })
	default:
		return list(n, func() (uint64, error) { return d.uint(v.width()) })
	}
}

// list reads n values. The slice grows with what was read, so that a lie about
// n costs nothing.
func list[T any](n uint64, next func() (T, error)) ([]T, error) {
	out := make([]T, 0, min(n, 1<<16))
	for range n {
		v, err := next()
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", len(out), err)
		}
		out = append(out, v)
	}
	return out, nil
}

func (d *decoder) bool() (bool, error) {
	v, err := d.uint(1)
	if v > 1 {
		return false, fmt.Errorf("truth value %d: want 0 or 1", v)
	}
	return v == 1, err
}

func (d *decoder) int(v valueType) (int64, error) {
	u, err := d.uint(v.width())
	shift := 64 - 8*v.width()
	return int64(u<<shift) >> shift, err
}

func (d *decoder) float(v valueType) (float64, error) {
	u, err := d.uint(v.width())
	if v == typeF32 {
		return float64(math.Float32frombits(uint32(u))), err
	}
	return math.Float64frombits(u), err
}
