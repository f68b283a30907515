package checkpoint

import (
	"fmt"
	"math"
	"slices"

	"agentmill/internal/model"
)

// ropeFreqs is a tensor that llama.cpp's converter computes from Llama 3.1's
// scaling of the rotation: by how much each pair is slowed down. The numbers it
// was computed from are in no metadata.
const ropeFreqs = "rope_freqs.weight"

// ggufRope finds out how c's rotation is scaled.
func ggufRope(w *ggufWeights, arch string, c *model.Config) error {
	meta := w.Meta()
	if key := arch + ".rope.dimension_count"; meta.Has(key) {
		if n, err := meta.Int(key); err != nil || n != c.HeadDim {
			return fmt.Errorf("%s is %d: want the size of a head, %d", key, n, c.HeadDim)
		}
	}
	kind, err := meta.String(arch + ".rope.scaling.type")
	switch {
	case err != nil || kind == "none":
	case kind == "linear":
		factor, err := meta.Float(arch + ".rope.scaling.factor")
		if err != nil {
			return err
		}
		c.RopeScaling = &model.RopeScaling{Type: "linear", Factor: shortest(factor)}
	default:
		return fmt.Errorf("%s.rope.scaling.type is %q: want none or linear", arch, kind)
	}
	if w.has(ropeFreqs) {
		return llama3Scaling(w, c)
	}
	return nil
}

// llama3Scaling sets the scaling that gives the divisors in the file: that of
// Llama 3.1, 3.2 and 3.3, which differ in the factor alone.
func llama3Scaling(w *ggufWeights, c *model.Config) error {
	divisors, _, err := w.File.Tensor(ropeFreqs)
	if err != nil {
		return err
	}
	if len(divisors) != c.HeadDim/2 {
		return fmt.Errorf("tensor %q has %d values: want %d, half the size of a head", ropeFreqs, len(divisors), c.HeadDim/2)
	}
	if c.RopeScaling != nil {
		return fmt.Errorf("tensor %q: the metadata scale the rotation as well", ropeFreqs)
	}
	plain := c.RopeFreq()
	factor := float64(slices.Max(divisors))
	c.RopeScaling = &model.RopeScaling{Type: "llama3", Factor: shortest(factor), LowFreqFactor: 1, HighFreqFactor: 4, OriginalMaxPositions: 8192}
	for i, f := range c.RopeFreq() {
		if want := plain[i] / f; math.Abs(want-float64(divisors[i])) > 1e-4*want {
			return fmt.Errorf("tensor %q: value %d is %v, for Llama 3's scaling by %v it is %v: no other is supported", ropeFreqs, i, divisors[i], factor, want)
		}
	}
	return nil
}
