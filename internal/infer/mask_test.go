package infer_test

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/infer"
	"agentmill/internal/traj"
)

// alphabet gives the tokens of letters their bytes; the end of a turn has none.
func alphabet(c *infer.Config) {
	for id := range end {
		c.Pieces = append(c.Pieces, string(rune('a'+id)))
	}
	c.Pieces = append(c.Pieces, "")
}

// TestHeldToPattern: every turn matches, whatever the sampling, and ends by itself.
func TestHeldToPattern(t *testing.T) {
	const pattern = `(ab)+c|d[e-h]*i|gg[a-k]{2}`
	whole := regexp.MustCompile(`^(` + pattern + `)$`)
	seen := map[string]bool{}
	for _, speculate := range []bool{false, true} {
		e := start(t, func(c *infer.Config) { alphabet(c); c.NGrams = speculate })
		for seed := range uint64(60) {
			job := task(seed, "abcabcdei", samplings[seed%uint64(len(samplings))])
			job.Pattern = pattern
			_, replies, err := play(e, job, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range replies {
				if !whole.MatchString(r.Text) || r.Turn.FinishReason != "stop" {
					t.Errorf("seed %d: wrote %q (%s)", seed, r.Text, r.Turn.FinishReason)
				}
				seen[r.Text] = true
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("180 turns are %d texts", len(seen))
	}
}

// TestHeldIndependently: tokens and log-probabilities of turns that are held do not
// depend on guesses, on the batch or on turns that are not held; nor do theirs.
func TestHeldIndependently(t *testing.T) {
	var want []any
	for i, change := range []func(*infer.Config){
		func(c *infer.Config) { c.Sessions = 1 },
		func(c *infer.Config) { c.NGrams = true },
		func(c *infer.Config) { c.Draft = draft(t, 3) },
	} {
		e := start(t, func(c *infer.Config) { alphabet(c); change(c) })
		var got []any
		for seed := range uint64(12) {
			job := task(seed, "abcabcabc", samplings[seed%uint64(len(samplings))])
			if seed%2 == 0 {
				job.Pattern = `(abc?)+|[d-k]{3}`
			}
			trace, replies, err := play(e, job, 2)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, trace, replies)
		}
		if i == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("change %d (-alone +with):\n%s", i, diff)
		}
	}
}

// TestHeldLogProbs: the log-probability of a token is that among the allowed ones.
func TestHeldLogProbs(t *testing.T) {
	e := start(t, alphabet)
	full := map[string]float64{}
	for _, one := range []string{"a", "b"} { // a pattern of one text has no choice: only the full ones are of interest
		job := task(1, "abcabc", traj.Sampling{Temperature: 1})
		job.Pattern = one
		trace, _, err := play(e, job, 1)
		if err != nil {
			t.Fatal(err)
		}
		full[one] = math.Exp(float64(trace.LogProbsFull[6]))
		if trace.LogProbs[6] != 0 || trace.LogProbs[7] != 0 {
			t.Errorf("without a choice the log-probabilities are %v, want 0", trace.LogProbs[6:])
		}
	}
	drawn := map[string]bool{}
	for seed := range uint64(40) {
		job := task(seed, "abcabc", traj.Sampling{Temperature: 1})
		job.Pattern = "a|b"
		trace, replies, err := play(e, job, 1)
		if err != nil {
			t.Fatal(err)
		}
		text := replies[0].Text
		want := full[text] / (full["a"] + full["b"])
		if got := math.Exp(float64(trace.LogProbs[6])); math.Abs(got-want) > 1e-5 {
			t.Errorf("%q has the probability %v, want %v", text, got, want)
		}
		drawn[text] = true
	}
	if len(drawn) != 2 {
		t.Errorf("drew %v, want both", drawn)
	}
}

// TestHeldRefuses: turns too short for any text, and a context that is full.
func TestHeldRefuses(t *testing.T) {
	e := start(t, func(c *infer.Config) { alphabet(c); c.Context = 20 })
	job := task(1, "abc", samplings[0])
	job.Pattern = "abcabc"
	if _, _, err := play(e, job, 1); err == nil || !strings.Contains(err.Error(), "a turn has 6 tokens at most, a call takes 7") {
		t.Errorf("error %v", err)
	}
	job.TurnTokens, job.Prompt = 10, user("abcabcabcabcab")
	if _, replies, err := play(e, job, 1); err != nil || replies[0].Text != "" || replies[0].Turn.FinishReason != "context" {
		t.Errorf("a turn that does not fit: %v, %v", replies, err)
	}
	job.Prompt = user("abcabcabcabca")
	if _, replies, err := play(e, job, 1); err != nil || replies[0].Text != "abcabc" {
		t.Errorf("a turn that just fits: %v, %v", replies, err)
	}
}
