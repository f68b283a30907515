package eval

import "testing"

// TestRewardTicks: however large rewards are, the axis has few marks.
func TestRewardTicks(t *testing.T) {
	for _, reward := range []float64{0, .7, 1.5, -2, 12, 999, -1e6} {
		r := &Result{Policies: []*Policy{{Name: "p", Reward: &Estimate{Value: reward}}}}
		if n := len(r.rewardChart().Ticks); n < 2 || n > 13 {
			t.Errorf("mean reward %g: %d marks, want 2 to 13", reward, n)
		}
	}
}
