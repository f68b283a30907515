package model

import (
	"fmt"
	"math"
)

// A RopeScaling stretches the rotation for contexts longer than those a model
// was trained with at first.
type RopeScaling struct {
	Type                 string  `json:"rope_type"`      // default, linear or llama3
	Older                string  `json:"type,omitempty"` // older name of Type; ParseConfig moves it there
	Factor               float64 `json:"factor,omitempty"`
	LowFreqFactor        float64 `json:"low_freq_factor,omitempty"`
	HighFreqFactor       float64 `json:"high_freq_factor,omitempty"`
	OriginalMaxPositions int     `json:"original_max_position_embeddings,omitempty"`
}

// newerRope is how newer files hold the rotation: all of it in one object.
type newerRope struct {
	Parameters *struct {
		Theta float64 `json:"rope_theta"`
		RopeScaling
	} `json:"rope_parameters"`
}

// fillRope moves a newer file's rotation to where older files have it.
func (c *Config) fillRope(n newerRope) {
	if p := n.Parameters; p != nil {
		c.RopeTheta, c.RopeScaling = p.Theta, &p.RopeScaling
	}
	if s := c.RopeScaling; s != nil && s.Type == "" {
		s.Type, s.Older = s.Older, ""
	}
}

// check names the first field that is out of range.
func (s *RopeScaling) check() error {
	if s == nil {
		return nil
	}
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	switch s.Type {
	case "", "default":
		return nil
	case "linear":
		if positive(s.Factor) {
			return nil
		}
		return fmt.Errorf("rope_scaling: factor is %v: want a positive number", s.Factor)
	case "llama3":
		if positive(s.Factor) && positive(s.LowFreqFactor) && positive(s.HighFreqFactor-s.LowFreqFactor) && s.OriginalMaxPositions > 0 {
			return nil
		}
		return fmt.Errorf("rope_scaling: factor is %v, low_freq_factor %v, high_freq_factor %v, original_max_position_embeddings %d: want positive numbers, the third above the second",
			s.Factor, s.LowFreqFactor, s.HighFreqFactor, s.OriginalMaxPositions)
	}
	return fmt.Errorf("rope_scaling: rope_type is %q: want \"default\", \"linear\" or \"llama3\"", s.Type)
}

// RopeFreq returns the angle a position of each of the HeadDim/2 pairs.
func (c *Config) RopeFreq() []float64 {
	freq := make([]float64, c.HeadDim/2)
	for i := range freq {
		freq[i] = math.Pow(c.RopeTheta, -2*float64(i)/float64(c.HeadDim))
		freq[i] /= c.RopeScaling.divisor(freq[i])
	}
	return freq
}

// divisor is by how much the pair that turns freq a position is slowed down.
func (s *RopeScaling) divisor(freq float64) float64 {
	if s == nil {
		return 1
	}
	switch s.Type {
	case "linear":
		return s.Factor
	case "llama3":
		return s.llama3(freq)
	}
	return 1
}

// llama3: pairs that turn often within the original positions stay as they are,
// those that turn less than once are slowed down by Factor, and in between the
// two are mixed.
func (s *RopeScaling) llama3(freq float64) float64 {
	turns := float64(s.OriginalMaxPositions) * freq / (2 * math.Pi)
	mix := (turns - s.LowFreqFactor) / (s.HighFreqFactor - s.LowFreqFactor)
	mix = min(max(mix, 0), 1)
	return 1 / (mix + (1-mix)/s.Factor)
}
