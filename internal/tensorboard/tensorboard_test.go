package tensorboard

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
	"time"
)

// TestBytes: what TensorFlow's own writer makes of the same events (the framing
// of an empty record is that of its documentation).
func TestBytes(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, time.Unix(1, 500_000_000))
	if err != nil {
		t.Fatal(err)
	}
	const first = "1800000000000000a37f4b22" + // length 24 and its checksum
		"09000000000000f83f" + // wall_time 1.5
		"1a0d627261696e2e4576656e743a32" // file_version
	if got := hex.EncodeToString(b.Bytes()[:12+24]); got != first {
		t.Errorf("got  %s\nwant %s", got, first)
	}
	b.Reset()
	if err := w.Write(300, time.Unix(2, 0), []Scalar{{"a", .5}, {"b/c", -1}}); err != nil {
		t.Fatal(err)
	}
	const second = "090000000000000040" + "10ac02" + // wall_time 2, step 300
		"2a16" + "0a08" + "0a0161" + "150000003f" + "0a0a" + "0a03622f63" + "15000080bf"
	if got := hex.EncodeToString(b.Bytes()[12 : b.Len()-4]); got != second {
		t.Errorf("got  %s\nwant %s", got, second)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestErrorsAreReturned(t *testing.T) {
	if _, err := NewWriter(full{}, time.Unix(0, 0)); err == nil {
		t.Error("a full disk was not noticed")
	}
}
