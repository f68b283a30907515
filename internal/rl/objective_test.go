package rl

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"agentmill/internal/numtest"
)

var ln = math.Log

// of is a loss of that kind at its defaults.
func of(kind string, change ...func(*Loss)) Loss {
	l := Loss{Kind: kind, Low: -1, High: -1, Dual: -1}
	for _, c := range change {
		c(&l)
	}
	if err := l.Check(); err != nil {
		panic(err)
	}
	return l.WithDefaults()
}

func bounds(low, high float64) func(*Loss) { return func(l *Loss) { l.Low, l.High = low, high } }

func withKL(kind string) func(*Loss) { return func(l *Loss) { l.KL, l.KLCoef = kind, .5 } }

func per(span string) func(*Loss) { return func(l *Loss) { l.Ratio = span } }

func TestLossOfOneToken(t *testing.T) {
	up, down := ln(1.5), ln(0.5)
	for _, tt := range []struct {
		name           string
		loss           Loss
		logp, old, adv float64
		want, dlogp    float64
	}{
		{"likelihood", of(Likelihood), -2, -2, 9, 2, -1},
		{"REINFORCE", of(Reinforce), -2, -2, 0.7, -0.7, -0.7},
		{"clip: good token has risen enough", of(Clip, bounds(.2, .28)), up, 0, 1, -1.28, 0},
		{"clip: good token has fallen", of(Clip, bounds(.2, .28)), down, 0, 1, -0.5, -0.5},
		{"clip: bad token has fallen enough", of(Clip, bounds(.2, .28)), down, 0, -1, 0.8, 0},
		{"clip: bad token has risen", of(Clip, bounds(.2, .28)), up, 0, -1, 1.5, 1.5},
		{"LOOP's lower bound 1/(1+ε)", of(Clip, bounds(1-1/1.1, .1)), ln(.9), 0, -1, 1 / 1.1, 0},
		{"dual clip: bad token has risen beyond c", of(DualClip), ln(4), 0, -1, 3, 0},
		{"dual clip: below c it is clip", of(DualClip), up, 0, -1, 1.5, 1.5},
		{"dual clip: good tokens are clip's", of(DualClip), ln(4), 0, 1, -1.2, 0},
		{"cispo: within its wide bounds", of(CISPO), up - 2, -2, 1, -1.5 * (up - 2), -1.5},
		{"cispo: the weight is held, the gradient stays", of(CISPO), ln(9) - 3, -3, 1, -5 * (ln(9) - 3), -5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Sequence{LogP: []float64{tt.logp}, Old: []float64{tt.old}, Advantage: []float64{tt.adv}, Turn: []int{0}, Scale: 1}
			d := make([]float32, 1)
			loss := tt.loss.Apply(&s, d)
			numtest.Close(t, "loss", []float64{loss}, []float64{tt.want}, numtest.Tol{Abs: 1e-12})
			numtest.Close(t, "gradient", d, []float32{float32(tt.dlogp)}, numtest.Tol{Abs: 1e-6})
		})
	}
}

// TestSpans: log differences .1, −.1, .3 of one row in two turns.
func TestSpans(t *testing.T) {
	s := Sequence{
		LogP: []float64{-1, -1.2, -.7}, Old: []float64{-1.1, -1.1, -1}, Advantage: []float64{1, 1, 1}, Turn: []int{0, 0, 1}, Scale: 1,
	}
	e := math.Exp
	for _, tt := range []struct {
		loss Loss
		want []float64
	}{
		{of(Clip), []float64{e(.1), e(-.1), e(.3)}},
		{of(Clip, per(PerTurn)), []float64{1, 1, e(.3)}},
		{of(Clip, per(PerSequence)), []float64{1.3498588, 1.3498588, 1.3498588}},
		{of(GSPO), []float64{1.1051709, 1.1051709, 1.1051709}},
		{of(GSPO, per(PerTurn)), []float64{1, 1, e(.3)}},
	} {
		numtest.Close(t, tt.loss.Kind+" per "+tt.loss.Ratio, tt.loss.ratios(&s), tt.want, numtest.Tol{Abs: 1e-7})
	}
	// GSPO's clipping drops the whole row.
	d := make([]float32, 3)
	if loss := of(GSPO).Apply(&s, d); math.Abs(loss+3*1.0004) > 1e-9 || d[0] != 0 || d[2] != 0 {
		t.Errorf("GSPO on a row that has risen: loss %v, gradient %v; want −3·1.0004 and none", loss, d)
	}
}

// everyLoss are all kinds at their defaults, with all spans and KL terms that
// they can have.
func everyLoss() map[string]Loss {
	all := map[string]Loss{}
	for _, kind := range LossNames() {
		for _, span := range []string{"", PerToken, PerTurn, PerSequence} {
			l := Loss{Kind: kind, Low: -1, High: -1, Dual: -1, Ratio: span}
			if l.Check() == nil {
				all[kind+" "+span] = l.WithDefaults()
			}
		}
	}
	return all
}

// TestOnPolicyEveryLossIsREINFORCE (L3, case N7): where the policy is still the
// one that sampled, each loss at its defaults has the gradient −scale·A.
func TestOnPolicyEveryLossIsREINFORCE(t *testing.T) {
	if n := len(everyLoss()); n != 1+3*4+3 {
		t.Fatalf("%d losses", n)
	}
	advantage := []float64{1.3, 1.3, -.4, -.4, 0, 2}
	for name, l := range everyLoss() {
		logp := []float64{-1, -.01, -7, -3, -2, -.5}
		s := Sequence{LogP: logp, Old: logp, Advantage: advantage, Turn: []int{0, 0, 0, 1, 1, 2}, Scale: .25}
		d := make([]float32, len(logp))
		l.Apply(&s, d)
		for i := range d {
			if want := float32(-.25 * advantage[i]); d[i] != want {
				t.Errorf("%s: gradient of token %d is %v, want %v", name, i, d[i], want)
			}
		}
	}
}

// TestGradients compares every loss with differences of its value, off policy.
// CISPO's value is not what its gradient is of: its weight is not derived.
func TestGradients(t *testing.T) {
	for _, kind := range []string{Likelihood, Reinforce, Clip, DualClip, CISPO} {
		for _, kl := range []string{"", K1, K2, K3} {
			for _, a := range []float64{-1.3, 0.8} {
				for _, x := range []float64{-4, -2.9, -2.1, -1.95, -1.1, -.4} {
					l := of(kind)
					if kl != "" {
						l = of(kind, withKL(kl))
					}
					value := func(x []float64) float64 {
						s := Sequence{LogP: x, Old: []float64{-2}, Reference: []float64{-2.4}, Advantage: []float64{a}, Turn: []int{0}, Scale: 1}
						return l.Apply(&s, make([]float32, 1))
					}
					s := Sequence{LogP: []float64{x}, Old: []float64{-2}, Reference: []float64{-2.4}, Advantage: []float64{a}, Turn: []int{0}, Scale: 1}
					d := make([]float32, 1)
					l.Apply(&s, d)
					want := numtest.Grad(value, []float64{x})
					switch kind {
					case Reinforce: // its value is −A, of no use; its gradient is that of −A·log π
						want[0] -= a
					case CISPO:
						want[0] = -min(max(math.Exp(x+2), 0), 5)*a + numtest.Grad(func(x []float64) float64 {
							k, _ := l.kl(&Sequence{LogP: x, Reference: []float64{-2.4}}, 0)
							return k
						}, []float64{x})[0]
					}
					numtest.Close(t, fmt.Sprint(kind, kl, a, x), []float64{float64(d[0])}, want, numtest.Tol{Abs: 1e-5, Rel: 1e-5})
				}
			}
		}
	}
}

// TestKL: log π = −1, log π_ref = −1.5, so the difference is −.5.
func TestKL(t *testing.T) {
	s := Sequence{LogP: []float64{-1}, Old: []float64{-1}, Reference: []float64{-1.5}, Advantage: []float64{1}, Turn: []int{0}, Scale: 1}
	for kl, want := range map[string][]float64{
		K1: {.25, .5}, K2: {.5 * .125, .25}, K3: {.5 * (math.Exp(-.5) + .5 - 1), .5 * (1 - math.Exp(-.5))},
	} {
		value, d := of(Reinforce, withKL(kl)).kl(&s, 0)
		numtest.Close(t, kl, []float64{value, d}, want, numtest.Tol{Abs: 1e-12})
	}
	d := make([]float32, 1)
	of(Reinforce, withKL(Shift)).Apply(&s, d)
	if d[0] != -(1 - .5*.5) {
		t.Errorf("shift: gradient %v, want −(A − β·(log π_old − log π_ref)) = −.75", d[0])
	}
}

// TestScales (case N3, L4): rows of 10 and 90 tokens, and one that is masked.
func TestScales(t *testing.T) {
	rows := []Attempt{{"a", 10}, {"b", 90}, {"c", 0}}
	for _, tt := range []struct {
		aggregate string
		limit     int
		want      []float64 // weights of the rows
	}{
		{ByToken, 0, []float64{.1, .9, 0}},
		{BySequence, 0, []float64{.5, .5, 0}},
		{ByConstant, 100, []float64{.05, .45, 0}},
	} {
		got := Scales(tt.aggregate, tt.limit, rows)
		for i, r := range rows {
			got[i] *= float64(r.Tokens)
		}
		numtest.Close(t, tt.aggregate, got, tt.want, numtest.Tol{Abs: 1e-12})
	}
	// Case G11: an attempt of three parts weighs as much as one of one.
	got := Scales(BySequence, 0, []Attempt{{"a", 4}, {"a", 4}, {"a", 4}, {"b", 4}})
	numtest.Close(t, "parts", got, []float64{1. / 24, 1. / 24, 1. / 24, 1. / 8}, numtest.Tol{Abs: 1e-12})
}

// TestMaskedTokensHaveNoGradient (case G3), whatever their numbers.
func TestMaskedTokensHaveNoGradient(t *testing.T) {
	for name, l := range everyLoss() {
		s := Sequence{
			LogP: []float64{-1, -1}, Old: []float64{-9, -1}, Advantage: []float64{1, 1}, Turn: []int{0, 1},
			Weight: []float64{0, 1}, Scale: 1,
		}
		d := make([]float32, 2)
		if l.Apply(&s, d); d[0] != 0 {
			t.Errorf("%s: masked token has the gradient %v", name, d[0])
		}
	}
}

func TestLossesThatUndoThemselves(t *testing.T) {
	for _, tt := range []struct {
		change func(*Loss)
		want   string
	}{
		{func(l *Loss) { l.Kind = "ppo" }, `loss "ppo": want one of reinforce, clip, dual-clip, cispo, gspo`},
		{func(l *Loss) { l.Low = .2 }, `loss reinforce has no ratio to clip: want clip bounds with clip, dual-clip, cispo, gspo`},
		{func(l *Loss) { l.Ratio = PerTurn }, `loss reinforce has no ratio, so its span means nothing`},
		{func(l *Loss) { l.Dual = 3 }, `a dual clip of 3 belongs to the loss dual-clip, not to reinforce`},
		{func(l *Loss) { l.Kind, l.Dual = DualClip, 1.1 }, `dual clip 1.1 with upper clip 0.2: want more than 1.2`},
		{func(l *Loss) { l.Kind, l.Ratio = GSPO, PerToken }, `loss gspo is the mean ratio of a span`},
		{func(l *Loss) { l.Kind, l.Ratio = Clip, "word" }, `ratio per "word": want token, turn or sequence`},
		{func(l *Loss) { l.Kind, l.Low = Clip, 1.5 }, `lower clip 1.5: want 0 to 1`},
		{func(l *Loss) { l.KL = K2 }, `kl "k2" with the coefficient 0: want both, or neither`},
		{func(l *Loss) { l.KLCoef = .1 }, `kl "" with the coefficient 0.1: want both, or neither`},
		{func(l *Loss) { l.KL, l.KLCoef = "k4", .1 }, `kl "k4": want k1, k2, k3 or shift`},
	} {
		l := Loss{Kind: Reinforce, Low: -1, High: -1, Dual: -1}
		tt.change(&l)
		if err := l.Check(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
	if err := CheckAggregate(ByConstant, 0); err == nil {
		t.Error("a constant of 0 was accepted")
	}
	if err := CheckAggregate(ByToken, 5); err == nil {
		t.Error("a constant without effect was accepted")
	}
}

// TestImportance: log π_old = (−1, −2), log μ = (−1.2, −1), so w = (1.2214, .3679).
func TestImportance(t *testing.T) {
	old, sampled := []float64{-1, -2}, []float64{-1.2, -1}
	product, mean := math.Exp(-.8), math.Exp(-.4)
	for _, tt := range []struct {
		m    Importance
		want []float64
		cut  int
	}{
		{Importance{Truncate, PerToken, -1, -1}, []float64{1.2214028, .3678794}, 0},
		{Importance{Truncate, PerToken, -1, 1.1}, []float64{1.1, .3678794}, 1},
		{Importance{Truncate, PerSequence, -1, -1}, []float64{product, product}, 0},
		{Importance{Truncate, Geometric, -1, -1}, []float64{mean, mean}, 0},
		{Importance{Mask, PerToken, -1, -1}, []float64{1.2214028, 0}, 1},
		{Importance{Mask, PerSequence, .5, -1}, []float64{0, 0}, 2},
		{Importance{Mask, Geometric, -1, -1}, []float64{0, 0}, 2},
		{Importance{Mask, Geometric, .6, 1.1}, []float64{1, 1}, 0},
	} {
		if err := tt.m.Check(); err != nil {
			t.Fatal(err)
		}
		got, cut := tt.m.WithDefaults().Weights(old, sampled)
		numtest.Close(t, fmt.Sprint(tt.m), got, tt.want, numtest.Tol{Abs: 1e-7})
		if cut != tt.cut {
			t.Errorf("%v: %d cut, want %d", tt.m, cut, tt.cut)
		}
	}
}

// TestLongRows (case O2): a difference of .012 a token is e^1.2 after 100
// tokens; the geometric mean is 1.012 whatever the length.
func TestLongRows(t *testing.T) {
	for _, n := range []int{100, 1000} {
		old, sampled := make([]float64, n), make([]float64, n)
		for i := range old {
			old[i], sampled[i] = -1, -1.012
		}
		if _, cut := (Importance{Mask, PerSequence, -1, -1}).WithDefaults().Weights(old, sampled); cut != n {
			t.Errorf("%d tokens: %d cut by the product, want all", n, cut)
		}
		w, cut := (Importance{Truncate, Geometric, -1, -1}).WithDefaults().Weights(old, sampled)
		if cut != 0 || math.Abs(w[0]-1.0120723) > 1e-7 {
			t.Errorf("%d tokens: geometric mean %v, %d cut", n, w[0], cut)
		}
	}
}

func TestImportanceThatDoesNothing(t *testing.T) {
	for _, tt := range []struct {
		m    Importance
		want string
	}{
		{Importance{"", PerToken, -1, -1}, "importance sampling is off"},
		{Importance{"tis", "", -1, -1}, `importance sampling "tis": want truncate, mask or none`},
		{Importance{Truncate, "", .5, -1}, "a lower bound of 0.5: truncation has an upper one alone"},
		{Importance{Mask, "", 1.5, 2}, "bounds 1.5 to 2: want them around 1"},
		{Importance{Mask, "row", -1, -1}, `importance sampling by "row"`},
	} {
		if err := tt.m.Check(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestDriftNumbers(t *testing.T) {
	var d Drift
	d.Add(-1, -1.2)
	d.Add(-2, -1)
	w := []float64{1.2214028, .3678794}
	sum := w[0] + w[1]
	numtest.Close(t, "effective share, KL", []float64{d.EffectiveShare(), d.KL()},
		[]float64{sum * sum / (2 * (w[0]*w[0] + w[1]*w[1])), (w[0] - 1 - .2 + w[1] - 1 + 1) / 2}, numtest.Tol{Abs: 1e-6})
	numtest.Close(t, "correlation of two points", []float64{d.Correlation()}, []float64{-1}, numtest.Tol{Abs: 1e-9})
	if one := (&Drift{}); one.EffectiveShare() != 1 || one.Correlation() != 1 {
		t.Error("nothing compared is nothing lost")
	}
}
