package infer

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/traj"
)

func TestPick(t *testing.T) {
	probs := []float32{0, 0.25, 0.5, 0, 0.25, 0}
	for _, tt := range []struct {
		name string
		u    float64
		want int32
	}{
		{"a token of probability 0 is never drawn", 0, 1},
		{"below the first boundary", 0.2499, 1},
		{"a boundary belongs to the next token", 0.25, 2},
		{"last possible token", 0.75, 4},
		{"rounding left the sum below u", 1, 4},
	} {
		if got := pick(probs, tt.u); got != tt.want {
			t.Errorf("%s: pick(%v) = %d, want %d", tt.name, tt.u, got, tt.want)
		}
	}
}

func TestCandidates(t *testing.T) {
	probs := []float32{0.1, 0.3, 0.05, 0.3, 0.2, 0.05}
	for _, tt := range []struct {
		name string
		o    traj.Sampling
		want []int32
	}{
		{"top-k cuts the rest, equals in the order of ids", traj.Sampling{TopK: 3}, []int32{1, 3, 4}},
		{"among equals the lower id stays", traj.Sampling{TopK: 1}, []int32{1}},
		{"top-k larger than the vocabulary", traj.Sampling{TopK: 100}, []int32{1, 3, 4, 0, 2, 5}},
		{"top-p keeps the token that crosses it", traj.Sampling{TopP: 0.7}, []int32{1, 3, 4}},
		{"top-p of the most probable alone", traj.Sampling{TopP: 0.1}, []int32{1}},
		{"min-p keeps a share of the likeliest", traj.Sampling{MinP: 0.5}, []int32{1, 3, 4}},
		{"min-p keeps what has more than that share", traj.Sampling{MinP: 0.33}, []int32{1, 3, 4, 0}},
		{"min-p after top-p", traj.Sampling{MinP: 0.5, TopP: 0.5}, []int32{1, 3}},
		{"min-p after top-k", traj.Sampling{MinP: 0.01, TopK: 2}, []int32{1, 3}},
		{"top-p counts shares of what top-k left", traj.Sampling{TopK: 3, TopP: 0.7}, []int32{1, 3}},
	} {
		var got []int32
		for _, c := range candidates(nil, probs, tt.o) {
			got = append(got, c.id)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestCandidatesOfMany checks the pruning against a sort of everything.
func TestCandidatesOfMany(t *testing.T) {
	probs := make([]float32, 5000)
	sum := 0.0
	for i := range probs {
		probs[i] = float32(math.Exp(6 * math.Sin(float64(i*i))))
		sum += float64(probs[i])
	}
	for i := range probs {
		probs[i] = float32(float64(probs[i]) / sum)
	}
	all := make([]candidate, len(probs))
	for i, p := range probs {
		all[i] = candidate{int32(i), p}
	}
	all = mostProbable(all, len(all))
	for _, o := range []traj.Sampling{{TopK: 1}, {TopK: 40}, {TopK: 700}, {TopP: 0.5}, {TopP: 0.99}, {TopP: 0.9999}, {TopK: 300, TopP: 0.9}, {MinP: .05}, {MinP: .9}, {MinP: .01, TopP: .9}, {MinP: .1, TopK: 200, TopP: .95}} {
		want := all
		if o.TopK > 0 {
			want = want[:o.TopK]
		}
		if o.TopP > 0 {
			mass := 1.0
			if o.TopK > 0 {
				mass = massOf(want)
			}
			want = want[:nucleus(want, o.TopP*mass)]
		}
		want = want[:len(want)-countBelow(want, float32(o.MinP)*want[0].p)]
		if diff := cmp.Diff(want, candidates(nil, probs, o), cmp.AllowUnexported(candidate{})); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", o, diff)
		}
	}
}

func countBelow(c []candidate, least float32) (n int) {
	for _, x := range c {
		if x.p < least {
			n++
		}
	}
	return n
}

func TestSettled(t *testing.T) {
	for _, tt := range []struct {
		text  string
		stops []string
		want  int
	}{
		{"plain", nil, 5},
		{"half a \ufffd", nil, 7},
		{"an END? no", []string{"END."}, 10},
		{"an EN", []string{"END."}, 3},
		{"an EN", []string{"ENDS", "N!"}, 3},
		{"", []string{"x"}, 0},
	} {
		if got := settled(tt.text, tt.stops); got != tt.want {
			t.Errorf("settled(%q, %q) = %d, want %d", tt.text, tt.stops, got, tt.want)
		}
	}
}

func TestPickCandidate(t *testing.T) {
	c := []candidate{{7, 0.4}, {2, 0.2}}
	for _, tt := range []struct {
		u    float64
		want int32
	}{{0, 7}, {0.66, 7}, {0.67, 2}, {0.999, 2}} {
		id, mass := pickCandidate(c, tt.u)
		if id != tt.want || math.Abs(mass-0.6) > 1e-7 {
			t.Errorf("pickCandidate(%v) = %d of mass %v, want %d of 0.6", tt.u, id, mass, tt.want)
		}
	}
}
