package half

import (
	"math"
	"testing"
)

func TestFromF16(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   uint16
		want float32
	}{
		{"zero", 0, 0},
		{"one", 0x3c00, 1},
		{"minus two", 0xc000, -2},
		{"largest", 0x7bff, 65504},
		{"smallest normal", 0x0400, 1.0 / (1 << 14)},
		{"smallest subnormal", 0x0001, 1.0 / (1 << 24)},
		{"negative subnormal", 0x8003, -3.0 / (1 << 24)},
		{"infinity", 0x7c00, float32(math.Inf(1))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := FromF16(tt.in); got != tt.want {
				t.Errorf("FromF16(%#04x) = %v, want %v", tt.in, got, tt.want)
			}
		})
	}
	if got := FromF16(0x7e00); got == got {
		t.Errorf("FromF16(0x7e00) = %v, want NaN", got)
	}
	if got := FromF16(0x8000); math.Float32bits(got) != 1<<31 {
		t.Errorf("FromF16(0x8000) = %v, want -0", got)
	}
}

func TestToBF16(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   uint32
		want uint16
	}{
		{"exact", 0x3f800000, 0x3f80},
		{"below half", 0x3f807fff, 0x3f80},
		{"tie to even, down", 0x3f808000, 0x3f80},
		{"tie to even, up", 0x3f818000, 0x3f82},
		{"above half", 0x3f808001, 0x3f81},
		{"overflow to infinity", 0x7f7fffff, 0x7f80},
		{"infinity", 0xff800000, 0xff80},
		{"NaN whose upper half is infinity", 0x7f800001, 0x7fc0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ToBF16(math.Float32frombits(tt.in)); got != tt.want {
				t.Errorf("ToBF16(%#08x) = %#04x, want %#04x", tt.in, got, tt.want)
			}
		})
	}
}

func TestBF16RoundTrip(t *testing.T) {
	for b := range 1 << 16 {
		v := FromBF16(uint16(b))
		if v == v && ToBF16(v) != uint16(b) {
			t.Fatalf("ToBF16(FromBF16(%#04x)) = %#04x", b, ToBF16(v))
		}
	}
}

func TestNotFinite(t *testing.T) {
	inf := float32(math.Inf(-1))
	if got := NotFinite([]float32{1, math.MaxFloat32, inf, inf}); got != 2 {
		t.Errorf("NotFinite = %d, want 2", got)
	}
	for n := range 11 { // every place in a group, and behind the last group
		v := make([]float32, n)
		for i := range v {
			v[i] = -math.MaxFloat32
		}
		if got := NotFinite(v); got != -1 {
			t.Errorf("NotFinite of %d finite values = %d, want -1", n, got)
		}
		for i := range v {
			v[i] = float32(math.NaN())
			if got := NotFinite(v); got != i {
				t.Errorf("NotFinite of %d values = %d, want %d", n, got, i)
			}
			v[i] = 0
		}
	}
}
