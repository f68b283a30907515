package stats

import (
	"math"
	"testing"
)

func near(t *testing.T, name string, got, want, tol float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tol {
		t.Errorf("%s = %.6g, want %.6g (within %g)", name, got, want, tol)
	}
}

func TestDistributions(t *testing.T) {
	near(t, "z(.975)", NormalQuantile(.975), 1.959964, 1e-6)
	near(t, "normal tail 1.96", NormalTail(1.959964), .05, 1e-7)
	// Tables of Student's t.
	near(t, "t(.05, 1)", StudentQuantile(.05, 1), 12.7062, 1e-4)
	near(t, "t(.05, 9)", StudentQuantile(.05, 9), 2.262157, 1e-6)
	near(t, "t(.01, 30)", StudentQuantile(.01, 30), 2.749996, 1e-6)
	near(t, "tail t=2 df=10", StudentTail(2, 10), .07338803, 1e-8)
	near(t, "tail t=0", StudentTail(0, 5), 1, 1e-12)
}

func TestWilson(t *testing.T) {
	for _, tt := range []struct {
		name         string
		k, n, lo, hi float64
	}{
		{"96 of 100", 96, 100, .902, .984},
		{"90 of 100", 90, 100, .826, .945},
		{"none of 10", 0, 10, 0, .278},
		{"all of 10", 10, 10, .722, 1},
		{"81 of 263, Newcombe 1998", 81, 263, .2553, .3662},
		{"1 of 29, Newcombe 1998", 1, 29, .0061, .1718},
		{"nothing", 0, 0, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Wilson(tt.k, tt.n)
			near(t, "lo", got.Lo, tt.lo, 6e-4)
			near(t, "hi", got.Hi, tt.hi, 6e-4)
		})
	}
}

func TestShareOfClusters(t *testing.T) {
	// One attempt a question: the plain Wilson interval.
	single := ShareOf(Sample{Values: []float64{1, 1, 1, 0}, Cluster: []string{"a", "b", "c", "d"}})
	if want := Wilson(3, 4); single.Interval != want {
		t.Errorf("clusters of one: %v, want %v", single.Interval, want)
	}
	// Four equal attempts a question say no more than one, or nearly so.
	var values []float64
	var cluster []string
	for i := range 40 {
		values = append(values, float64(i/4%2))
		cluster = append(cluster, string(rune('a'+i/4)))
	}
	m := ShareOf(Sample{values, cluster})
	want := Wilson(4.5, 9) // effect 4·10/9: g/(g-1) makes ten questions count as nine
	near(t, "lo", m.Interval.Lo, want.Lo, 1e-12)
	if m.N != 40 || m.Clusters != 10 {
		t.Errorf("n %d clusters %d, want 40 and 10", m.N, m.Clusters)
	}
	// All right: the clusters count, not the attempts.
	all := ShareOf(Sample{[]float64{1, 1, 1, 1}, []string{"a", "a", "b", "b"}})
	if want := Wilson(2, 2); all.Interval != want {
		t.Errorf("all right: %v, want %v", all.Interval, want)
	}
}

func TestMeanOf(t *testing.T) {
	// Student's sleep data, second drug minus first: mean 1.58, 95% 0.70 to 2.46.
	m := MeanOf(Sample{Values: sleep})
	near(t, "mean", m.Mean, 1.58, 1e-12)
	near(t, "lo", m.Interval.Lo, .7001142, 1e-6)
	near(t, "hi", m.Interval.Hi, 2.4598858, 1e-6)
	// Doubling every value within its cluster must not narrow the interval.
	twice, cluster := []float64{}, []string{}
	for i, v := range sleep {
		twice = append(twice, v, v)
		cluster = append(cluster, string(rune('a'+i)), string(rune('a'+i)))
	}
	c := MeanOf(Sample{twice, cluster})
	near(t, "clustered lo", c.Interval.Lo, m.Interval.Lo, 1e-9)
	if one := MeanOf(Sample{Values: []float64{3}}); !math.IsInf(one.Interval.Hi, 1) {
		t.Errorf("one value: interval %v, want unbounded", one.Interval)
	}
}

// sleep is Student's sleep data (1908): extra hours, drug 2 minus drug 1.
var sleep = []float64{1.2, 2.4, 1.3, 1.3, 0, 1.0, 1.8, .8, 4.6, 1.4}

func TestPaired(t *testing.T) {
	near(t, "t test of the sleep data", PairedT(sleep), .00283289, 1e-7)
	near(t, "no difference", PairedT([]float64{0, 0, 0}), 1, 0)
	near(t, "constant difference", PairedT([]float64{1, 1, 1}), 0, 0)
	// R: wilcox.test(paired) of the sleep data gives p-value = 0.009091.
	near(t, "wilcoxon of the sleep data", Wilcoxon(sleep), .009091, 1e-6)
	// Exact: nine differences of one sign, of 2^9 patterns two are as extreme.
	near(t, "sign flip of the sleep data", SignFlip(sleep, 1), 2./512, 1e-12)
	near(t, "sign flip of nothing", SignFlip([]float64{0, 0}, 1), 1, 0)
	near(t, "balanced", SignFlip([]float64{1, -1}, 1), 1, 0)
}

func TestSignFlipSampled(t *testing.T) {
	var d []float64
	for i := range 30 {
		d = append(d, []float64{1, -1, 1}[i%3]) // 20 up, 10 down
	}
	p := SignFlip(d, 7)
	near(t, "against the exact sign test", p, McNemar(20, 10), .003)
	if again := SignFlip(d, 7); again != p {
		t.Errorf("same seed gave %v and %v", p, again)
	}
}

func TestMcNemar(t *testing.T) {
	near(t, "1 against 9", McNemar(9, 1), 22./1024, 1e-12)
	near(t, "5 against 5", McNemar(5, 5), 1, 0)
	near(t, "nothing differs", McNemar(0, 0), 1, 0)
	// 17 lost, 19 won of the learning trial: .87.
	near(t, "19 against 17", McNemar(19, 17), .868, 1e-3)
	if p := McNemar(7, 89); p > 1e-18 || p <= 0 {
		t.Errorf("7 against 89: %g, want a p below 1e-18", p)
	}
}

func TestTwoProportions(t *testing.T) {
	near(t, "96 against 90 of 100", TwoProportions(96, 100, 90, 100), .0963, 1e-4)
	near(t, "all equal", TwoProportions(10, 10, 10, 10), 1, 0)
	near(t, "empty", TwoProportions(0, 0, 1, 2), 1, 0)
}

func TestBootstrap(t *testing.T) {
	mean := func(units []int) float64 {
		total := 0.0
		for _, u := range units {
			total += sleep[u]
		}
		return total / float64(len(units))
	}
	got := Bootstrap(len(sleep), 4000, 3, mean)
	near(t, "lo", got.Lo, .95, .1) // published percentile intervals lie about .95 to 2.4
	near(t, "hi", got.Hi, 2.38, .12)
	if again := Bootstrap(len(sleep), 4000, 3, mean); again != got {
		t.Errorf("same seed gave %v and %v", got, again)
	}
}

func TestPercentile(t *testing.T) {
	near(t, "median", Percentile([]float64{1, 2, 3, 4}, .5), 2.5, 0)
	near(t, "type 7", Percentile([]float64{1, 2, 3, 4}, .9), 3.7, 1e-12)
	near(t, "top", Percentile([]float64{1, 2}, 1), 2, 0)
	if !math.IsNaN(Percentile(nil, .5)) {
		t.Error("no values: want NaN")
	}
}

func TestKappa(t *testing.T) {
	// Two readers of 50 proposals: 20 both yes, 15 both no, 5 and 10 apart.
	near(t, "50 proposals", Kappa([2][2]int{{15, 10}, {5, 20}}), .4, 1e-12)
	near(t, "always agree", Kappa([2][2]int{{3, 0}, {0, 4}}), 1, 1e-12)
	near(t, "as chance", Kappa([2][2]int{{1, 1}, {1, 1}}), 0, 1e-12)
	near(t, "one says yes to all", Kappa([2][2]int{{0, 0}, {0, 9}}), 0, 0)
	near(t, "nothing", Kappa([2][2]int{}), 0, 0)
}

func TestJump(t *testing.T) {
	for _, tt := range []struct {
		name   string
		series []float64
		at     int
		found  bool
	}{
		{"a step", []float64{.1, .12, .11, .13, .6, .61, .6}, 4, true},
		{"a fall", []float64{.7, .72, .71, .73, .74, .2, .22}, 5, true},
		{"a steady rise", []float64{.1, .2, .3, .4, .5, .6, .7, .8}, 0, false},
		{"noise", []float64{.5, .55, .48, .52, .47, .53, .5}, 0, false},
		{"too short", []float64{0, 0, 1}, 0, false},
		{"level, then a little", []float64{.5, .5, .5, .5, .5, .52}, 0, false},
	} {
		if at, size, found := Jump(tt.series, .1); at != tt.at || found != tt.found {
			t.Errorf("%s: at %d (%.2f), found %v; want %d, %v", tt.name, at, size, found, tt.at, tt.found)
		}
	}
}
