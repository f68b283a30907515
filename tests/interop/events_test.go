package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/tensorboard"
)

// TestTensorBoardReadsEvents: two files of one run, one after the other.
func TestTensorBoardReadsEvents(t *testing.T) {
	dir := t.TempDir()
	for first := 1; first <= 3; first += 2 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%010d.agentmill", first)))
		if err != nil {
			t.Fatal(err)
		}
		w, err := tensorboard.NewWriter(f, time.Unix(100, 0))
		if err != nil {
			t.Fatal(err)
		}
		for step := first; step < first+2; step++ {
			if err := w.Write(step, time.Unix(100, 0), []tensorboard.Scalar{{Tag: "train/loss", Value: 1 / float64(step)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var got map[string][][2]float64
	ask(t, "events.py", map[string]string{"dir": dir}, &got)
	want := map[string][][2]float64{"train/loss": {{1, 1}, {2, .5}, {3, float64(float32(1. / 3))}, {4, .25}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("TensorBoard reads (-want +got):\n%s", diff)
	}
}
