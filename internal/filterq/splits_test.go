package filterq_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/dataset"
	"agentmill/internal/filterq"
	"agentmill/internal/question"
)

// ofInboxes returns a question for each of n mailboxes.
func ofInboxes(n int) []question.Question {
	var qs []question.Question
	for i := range n {
		q := kickoff(fmt.Sprintf("p%d@corvane.example", i), fmt.Sprintf("<%d@x>", i), fmt.Sprintf("March %d", i+1), "2001-03-05")
		qs = append(qs, q)
	}
	return qs
}

func splitsOf(qs []question.Question) map[string]question.Split {
	m := map[string]question.Split{}
	for _, q := range qs {
		m[q.InboxAddress] = q.Split
	}
	return m
}

func TestSplits(t *testing.T) {
	w := world{dir: t.TempDir()}
	file := func(c *filterq.Config) { c.Splits = w.path("splits.tsv") }

	w.write(t, "q.jsonl", ofInboxes(8))
	first, _, st := w.filter(t, "q.jsonl", file)
	if st.Splits[question.Test] != 2 || st.Splits[question.Val] != 1 || st.Splits[question.Train] != 5 {
		t.Errorf("splits of 8 mailboxes: %v, want 5 train, 1 val, 2 test", st.Splits)
	}

	// More mailboxes later: nobody moves, and the file is written the same twice.
	w.write(t, "q.jsonl", ofInboxes(12))
	second, _, _ := w.filter(t, "q.jsonl", file)
	now := splitsOf(second)
	for inbox, s := range splitsOf(first) {
		if now[inbox] != s {
			t.Errorf("%s moved from %s to %s", inbox, s, now[inbox])
		}
	}
	before, err := os.ReadFile(w.path("splits.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	w.filter(t, "q.jsonl", file)
	after, err := os.ReadFile(w.path("splits.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("the file changed without new mailboxes:\n%s", diff)
	}

	// Few mailboxes: no split is empty from three on.
	w.write(t, "q.jsonl", ofInboxes(3))
	if _, _, st := w.filter(t, "q.jsonl", nil); len(st.Splits) != 3 {
		t.Errorf("splits of 3 mailboxes: %v, want one each", st.Splits)
	}
}

func TestGivenSplitIsKept(t *testing.T) {
	w := world{dir: t.TempDir()}
	qs := ofInboxes(4)
	for i := range qs {
		qs[i].Split = question.Val
	}
	w.write(t, "q.jsonl", qs)
	if _, _, st := w.filter(t, "q.jsonl", nil); st.Splits[question.Val] != 4 {
		t.Errorf("splits %v, want the 4 given ones", st.Splits)
	}
}

func TestWithoutIndex(t *testing.T) {
	w := world{dir: t.TempDir()}
	w.write(t, "q.jsonl", ofInboxes(1))
	kept, _, _ := w.filter(t, "q.jsonl", nil)
	for _, name := range []string{"inbox", "evidence", "unique", "absent", "reachable"} {
		if c := kept[0].Checks[name]; c.Verdict != filterq.Skipped || c.Reason == "" {
			t.Errorf("check %s: %v, want it skipped with a reason", name, c)
		}
	}
}

func TestBadSplitsFile(t *testing.T) {
	w := world{dir: t.TempDir()}
	w.write(t, "q.jsonl", ofInboxes(1))
	if err := os.WriteFile(w.path("bad.tsv"), []byte("# splits\na@x.example\ttrian\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := filterq.Run(context.Background(), filterq.Config{In: sourceOf(w), Out: w.path("out.jsonl"), Progress: silent(), Splits: w.path("bad.tsv"), Hits: 5})
	if err == nil || !strings.Contains(err.Error(), "bad.tsv:2: ") {
		t.Errorf("error %v, want one that names line 2 of bad.tsv", err)
	}
	if _, err := os.Stat(w.path("out.jsonl")); err == nil {
		t.Error("output is left behind")
	}
}

func sourceOf(w world) dataset.Source { return dataset.Source{Paths: []string{w.path("q.jsonl")}} }
