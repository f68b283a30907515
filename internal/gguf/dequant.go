package gguf

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"agentmill/internal/half"
)

// A kind is how a tensor's values are stored: blocks of block values in bytes
// bytes. decode turns whole blocks into values.
type kind struct {
	name   string
	block  int
	bytes  int
	decode func(dst []float32, src []byte)
}

// kinds are the supported types by their number in the file. The arithmetic is
// that of ggml's reference code, operation by operation; the conversions to
// float32 between a product and a sum forbid fusing the two.
var kinds = map[uint32]kind{
	0:  {"f32", 1, 4, decodeF32},
	1:  {"f16", 1, 2, decodeF16},
	2:  {"q4_0", 32, 18, decodeQ40},
	3:  {"q4_1", 32, 20, decodeQ41},
	6:  {"q5_0", 32, 22, decodeQ50},
	7:  {"q5_1", 32, 24, decodeQ51},
	8:  {"q8_0", 32, 34, decodeQ80},
	12: {"q4_K", 256, 144, decodeQ4K},
	13: {"q5_K", 256, 176, decodeQ5K},
	14: {"q6_K", 256, 210, decodeQ6K},
	30: {"bf16", 1, 2, decodeBF16},
}

func kindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func u16(b []byte) uint16  { return binary.LittleEndian.Uint16(b) }
func f16(b []byte) float32 { return half.FromF16(u16(b)) }

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = f16(src[2*i:])
	}
}

func decodeBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = half.FromBF16(u16(src[2*i:]))
	}
}

// decodeQ40: scale d, then 32 numbers of 4 bits; the low halves come first.
func decodeQ40(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[18:] {
		d := f16(src)
		var value [16]float32
		for q := range value {
			value[q] = d * float32(q-8)
		}
		nibbles((*[32]float32)(dst), (*[16]byte)(src[2:]), &value)
	}
}

// decodeQ41: scale d, minimum m, then as q4_0.
func decodeQ41(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[20:] {
		d, m := f16(src), f16(src[2:])
		var value [16]float32
		for q := range value {
			value[q] = float32(d*float32(q)) + m
		}
		nibbles((*[32]float32)(dst), (*[16]byte)(src[4:]), &value)
	}
}

func nibbles(dst *[32]float32, qs *[16]byte, value *[16]float32) {
	for j, q := range qs {
		dst[j] = value[q&15]
		dst[j+16] = value[q>>4]
	}
}

// fifth returns a number of 5 bits: 4 from a nibble, the highest from bit j.
func fifth(nibble byte, high uint32, j int) float32 {
	return float32(uint32(nibble) | (high >> j & 1 << 4))
}

// decodeQ50: scale d, 32 high bits, then as q4_0.
func decodeQ50(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[22:] {
		d, high := f16(src), binary.LittleEndian.Uint32(src[2:])
		for j, q := range src[6:22] {
			dst[j] = d * (fifth(q&15, high, j) - 16)
			dst[j+16] = d * (fifth(q>>4, high, j+16) - 16)
		}
	}
}

// decodeQ51: scale d, minimum m, 32 high bits, then as q4_0.
func decodeQ51(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[24:] {
		d, m, high := f16(src), f16(src[2:]), binary.LittleEndian.Uint32(src[4:])
		for j, q := range src[8:24] {
			dst[j] = float32(d*fifth(q&15, high, j)) + m
			dst[j+16] = float32(d*fifth(q>>4, high, j+16)) + m
		}
	}
}

// decodeQ80: scale d, then 32 signed bytes.
func decodeQ80(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[34:] {
		d := f16(src)
		values, qs := dst[:32], src[2:34]
		for j, q := range qs {
			values[j] = d * float32(int8(q))
		}
	}
}

// scalesK returns the scale and the minimum (6 bits each) of group j of 8 in a
// q4_K or q5_K block.
func scalesK(b []byte, j int) (scale, minimum float32) {
	if j < 4 {
		return float32(b[j] & 63), float32(b[j+4] & 63)
	}
	return float32(b[j+4]&15 | b[j-4]>>6<<4), float32(b[j+4]>>4 | b[j]>>6<<4)
}

// decodeQ4K: scales d and m of the 12 bytes of group scales and minima, then
// 4 times 32 bytes: the low nibbles are one group of 32, the high ones the next.
func decodeQ4K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[144:] {
		d, dmin := f16(src), f16(src[2:])
		for group := range 8 {
			s, m := scalesK(src[4:16], group)
			s, m = d*s, dmin*m
			qs := src[16+group/2*32:][:32]
			for j, q := range qs {
				dst[group*32+j] = float32(s*float32(q>>(group%2*4)&15)) - m
			}
		}
	}
}

// decodeQ5K: as q4_K, with 32 bytes of high bits, bit g for group g, before the nibbles.
func decodeQ5K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[176:] {
		d, dmin := f16(src), f16(src[2:])
		high := src[16:48]
		for group := range 8 {
			s, m := scalesK(src[4:16], group)
			s, m = d*s, dmin*m
			qs := src[48+group/2*32:][:32]
			for j, q := range qs {
				v := q>>(group%2*4)&15 | high[j]>>group&1<<4
				dst[group*32+j] = float32(s*float32(v)) - m
			}
		}
	}
}

// decodeQ6K: 128 bytes of low nibbles, 64 of high bit pairs, 16 signed group
// scales, scale d. Each half of 128 values takes 64 and 32 of the first two:
// its quarter k of 32 values has nibbles of half k/2 and bit pair k.
func decodeQ6K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[210:] {
		d := f16(src[208:])
		for part := range 8 {
			half, k := part/4, part%4
			low, high := src[half*64+k%2*32:][:32], src[128+half*32:][:32]
			for j := range 32 {
				q := low[j]>>(k/2*4)&15 | high[j]>>(2*k)&3<<4
				scale := float32(int8(src[192+part*2+j/16]))
				dst[part*32+j] = float32(d*scale) * float32(int(q)-32)
			}
		}
	}
}
