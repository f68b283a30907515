package filterq_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"agentmill/internal/extract"
	"agentmill/internal/mailbox"
	"agentmill/internal/question"
	"agentmill/internal/samplemail"
	"agentmill/internal/synthq"
)

// TestDefaultSample checks what the pipelines count on: enough questions of
// enough kinds, in mailboxes that are kept apart.
func TestDefaultSample(t *testing.T) {
	w := newWorld(t, samplemail.Default)
	asked := w.synth(t, "q.jsonl", nil)
	checkSpans(t, w, asked)
	kept, _, st := w.filter(t, "q.jsonl", nil)

	inboxes, factKinds := map[question.Split]map[string]bool{}, map[string]bool{}
	hits, answerable := 0, 0
	for _, q := range kept {
		if inboxes[q.Split] == nil {
			inboxes[q.Split] = map[string]bool{}
		}
		inboxes[q.Split][q.InboxAddress] = true
		if q.Answerable {
			factKinds[q.Kind] = true
			answerable++
		}
		if strings.HasPrefix(q.Checks["reachable"].Reason, "hit 1") {
			hits++
		}
	}
	for _, tt := range []struct {
		what             string
		got, least, most int
	}{
		{"train questions", st.Splits[question.Train], 1500, 5000},
		{"test questions", st.Splits[question.Test], 200, 2000},
		{"train mailboxes", len(inboxes[question.Train]), 5, 5},
		{"val mailboxes", len(inboxes[question.Val]), 1, 1},
		{"test mailboxes", len(inboxes[question.Test]), 2, 2},
		{"kinds of fact asked for", len(factKinds), 15, 100},
		{"unanswerable of 1000", 1000 * st.Unanswerable / st.Kept, 80, 130},
		{"found at the first hit, of 1000", 1000 * hits / answerable, 600, 850},
	} {
		if tt.got < tt.least || tt.got > tt.most {
			t.Errorf("%s: %d, want %d to %d", tt.what, tt.got, tt.least, tt.most)
		}
	}
}

// checkSpans checks Q1 of package synthq on every question, and that its
// wording tells the kind of its answer.
func checkSpans(t *testing.T, w world, qs []question.Question) {
	t.Helper()
	wrongKind := 0
	for _, q := range qs {
		if got := extract.KindOfQuestion(q.Question); got != extract.Kind(q.Kind) && !extract.Answers(extract.Kind(q.Kind), got) {
			wrongKind++
		}
		if !q.Answerable {
			if q.Answer != question.Unknown || len(q.MessageIDs) != 0 {
				t.Errorf("%s: unanswerable with answer %q and sources %v", q.ID, q.Answer, q.MessageIDs)
			}
			continue
		}
		m, err := w.index.Read(context.Background(), q.InboxAddress, q.MessageIDs[0])
		if err != nil {
			t.Errorf("%s: %v", q.ID, err)
			continue
		}
		s := q.Spans[0]
		if got := mailbox.Fold(m.Body[s.Start:s.End]); got != q.Evidence || !strings.Contains(got, q.Answer) {
			t.Errorf("%s: at %d-%d stands %q; evidence %q, answer %q", q.ID, s.Start, s.End, got, q.Evidence, q.Answer)
		}
		if strings.Contains(strings.ToLower(q.Question), strings.ToLower(q.Answer)) {
			t.Errorf("%s: %q says its answer %q", q.ID, q.Question, q.Answer)
		}
		if q.QueryDate <= m.Date.Format("2006-01-02") {
			t.Errorf("%s: asked on %s about a mail of %s", q.ID, q.QueryDate, m.Date)
		}
	}
	if wrongKind > len(qs)/50 {
		t.Errorf("of %d questions %d do not tell their kind: want at most one in 50", len(qs), wrongKind)
	}
}

func TestSameSeedSameQuestions(t *testing.T) {
	w := smallWorld(t)
	bytesOf := func(name string, seed uint64) []byte {
		w.synth(t, name, func(c *synthq.Config) { c.Seed = seed })
		data, err := os.ReadFile(w.path(name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	first := bytesOf("a.jsonl", 1)
	if !bytes.Equal(first, bytesOf("b.jsonl", 1)) {
		t.Error("the same seed gives other questions")
	}
	if bytes.Equal(first, bytesOf("c.jsonl", 2)) {
		t.Error("another seed gives the same questions")
	}
}

func TestQuotasAndKinds(t *testing.T) {
	w := smallWorld(t)
	for _, q := range w.synth(t, "kinds.jsonl", func(c *synthq.Config) { c.Kinds = []string{"amount", "room"} }) {
		if q.Answerable && q.Kind != "amount" && q.Kind != "room" {
			t.Errorf("%s is of kind %s, want amount or room", q.ID, q.Kind)
		}
	}
	count := map[string]int{}
	for _, q := range w.synth(t, "quota.jsonl", func(c *synthq.Config) { c.PerInbox = 20 }) {
		count[q.InboxAddress]++
	}
	for inbox, n := range count {
		if n < 18 || n > 20 {
			t.Errorf("%s has %d questions, want about 20 and no more", inbox, n)
		}
	}
	if qs := w.synth(t, "limit.jsonl", func(c *synthq.Config) { c.Limit = 7 }); len(qs) != 7 {
		t.Errorf("%d questions, want the limit of 7", len(qs))
	}
	if qs := w.synth(t, "none.jsonl", func(c *synthq.Config) { c.Unanswerable = 0 }); len(qs) == 0 || count0(qs) != 0 {
		t.Errorf("%d of %d questions are unanswerable, want none", count0(qs), len(qs))
	}
}

func count0(qs []question.Question) int {
	n := 0
	for _, q := range qs {
		if !q.Answerable {
			n++
		}
	}
	return n
}
