package cli

import "testing"

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "500MB": 5e8, "1.5GiB": 3 << 29, "8g": 8e9, " 2 kib ": 2048, "7B": 7, "1T": 1e12,
		"": 0, "GB": 0, "-1GB": 0, "0": 0, "8 apples": 0, "NaN": 0, "1e300": 0, "infGB": 0,
	} {
		got, err := ParseSize(s)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
}
