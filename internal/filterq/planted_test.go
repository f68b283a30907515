package filterq_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/extract"
	"agentmill/internal/filterq"
	"agentmill/internal/ingest"
	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
	"agentmill/internal/question"
)

// A garden plants faults into good questions.
type garden struct {
	world
	qs    []question.Question // good ones, answerable
	mails map[string]*mail.Email
}

func newGarden(t *testing.T, w world, qs []question.Question) *garden {
	t.Helper()
	g := &garden{world: w, mails: map[string]*mail.Email{}}
	mails, _, err := dataset.ReadAll[mail.Email](context.Background(), dataset.Source{Paths: []string{filepath.Join(w.mail, "emails.parquet")}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range mails {
		g.mails[mails[i].MessageID] = &mails[i]
		for _, c := range mails[i].Copies {
			g.mails[c.MessageID] = &mails[i]
		}
	}
	for _, q := range qs {
		if q.Answerable && g.mails[q.MessageIDs[0]] != nil {
			q.Checks = nil
			g.qs = append(g.qs, q)
		}
	}
	return g
}

// other is the answer to another question of q's kind, of the same sort as q's
// answer (a sum for a sum, a name for a name), that no source mail of q holds.
func (g *garden) other(i int) (string, bool) {
	q := g.qs[i]
	body := strings.ToLower(g.mails[q.MessageIDs[0]].Body)
	for k := 1; k < len(g.qs); k++ {
		o := g.qs[(i+k*7919)%len(g.qs)]
		if o.Kind == q.Kind && sortOf(o.Answer) == sortOf(q.Answer) && !strings.Contains(body, strings.ToLower(o.Answer)) && !strings.Contains(o.Answer, q.Answer) {
			return o.Answer, true
		}
	}
	return "", false
}

// sortOf is the sort of an answer: of its first fact, or by how it is written.
func sortOf(answer string) string {
	facts := extract.Spans(answer)
	switch {
	case len(facts) > 0:
		return string(facts[0].Kind)
	case strings.ContainsAny(answer, "0123456789"):
		return "number"
	case slices.ContainsFunc(strings.Fields(answer), func(w string) bool { return len(w) > 3 && (w[0] < 'A' || w[0] > 'Z') }):
		return "words"
	}
	return "name"
}

// spoilt returns a copy of each question after change, which may refuse it.
func (g *garden) spoilt(change func(i int, q *question.Question) bool) []question.Question {
	var out []question.Question
	for i, q := range g.qs {
		q.MessageIDs = slices.Clone(q.MessageIDs)
		if change(i, &q) {
			out = append(out, q)
		}
	}
	return out
}

// caught is the share of qs that the filter drops.
func (g *garden) caught(t *testing.T, index *mailstore.Store, qs []question.Question) float64 {
	t.Helper()
	g.write(t, "planted.jsonl", qs)
	_, _, st := g.filter(t, "planted.jsonl", func(c *filterq.Config) {
		if index != nil {
			c.Index = index
		}
	})
	return 1 - float64(st.Kept)/float64(st.Read)
}

// rivals is the index of the mails with a rival of each question's source mail,
// which change makes of it, an hour later; it may refuse.
func (g *garden) rivals(t *testing.T, change func(e *mail.Email, q *question.Question, value string) bool) (*mailstore.Store, []question.Question) {
	t.Helper()
	var emails []*mail.Email
	seen := map[*mail.Email]bool{}
	for _, e := range g.mails {
		if !seen[e] {
			seen[e] = true
			emails = append(emails, e)
		}
	}
	qs := g.spoilt(func(i int, q *question.Question) bool {
		e := *g.mails[q.MessageIDs[0]]
		value, ok := g.other(i)
		e.MessageID, e.Copies, e.Quoted, e.Date = fmt.Sprintf("<rival-%d@x>", i), nil, nil, e.Date.Add(time.Hour)
		if !ok || q.Hops > 1 || !change(&e, q, value) {
			return false
		}
		emails = append(emails, &e)
		q.QueryDate = e.Date.AddDate(0, 0, 2).Format(time.DateOnly)
		return true
	})
	path := filepath.Join(t.TempDir(), "rivals.db")
	if err := mailstore.Build(context.Background(), path, emails, mailstore.Options{}); err != nil {
		t.Fatal(err)
	}
	store, err := mailstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store, qs
}

// version is the source mail again, with another value in place of the answer.
func version(e *mail.Email, q *question.Question, value string) bool {
	ok := strings.Contains(e.Body, q.Answer) && strings.Contains(q.Evidence, q.Answer)
	e.Body = strings.ReplaceAll(e.Body, q.Answer, value)
	return ok
}

// note is a mail of its own that answers the question with another value.
func note(e *mail.Email, q *question.Question, value string) bool {
	e.Subject, e.Body = "a word", "To answer what was asked:\n\n"+strings.TrimSuffix(q.Question, "?")+": it is "+value+".\n\nSo much for that."
	return true
}

// copied returns each question with itself, asked of a mailbox of another split.
func (g *garden) copied() []question.Question {
	var boxes []string
	for _, q := range g.qs {
		if !slices.Contains(boxes, q.InboxAddress) {
			boxes = append(boxes, q.InboxAddress)
		}
	}
	slices.Sort(boxes)
	split := func(box string) question.Split {
		return []question.Split{question.Train, question.Test}[slices.Index(boxes, box)%2]
	}
	var out []question.Question
	for _, q := range g.qs {
		q.Split = split(q.InboxAddress)
		out = append(out, q)
		q.ID += "-copy"
		q.InboxAddress = boxes[(slices.Index(boxes, q.InboxAddress)+1)%len(boxes)]
		q.Split = split(q.InboxAddress)
		out = append(out, q)
	}
	return out
}

// Faults that are named twice.
const (
	rivalVersion = "rival mail: the source mail with another value"
	rivalNote    = "rival mail: a note that answers with another value"
	otherValue   = "answer changed to a value of the same kind"
)

// check plants all faults and wants each caught 95 of 100 times.
func (g *garden) check(t *testing.T) {
	t.Helper()
	rate := map[string]float64{
		otherValue: g.caught(t, nil, g.spoilt(func(i int, q *question.Question) (ok bool) {
			q.Answer, ok = g.other(i)
			q.Aliases = nil
			return ok
		})),
		"source swapped": g.caught(t, nil, g.spoilt(func(i int, q *question.Question) bool {
			for k := 1; k < len(g.qs); k++ {
				if o := g.qs[(i+k)%len(g.qs)]; o.InboxAddress == q.InboxAddress && !slices.Contains(slices.Concat(q.MessageIDs, q.AlsoIn), o.MessageIDs[0]) {
					q.MessageIDs, q.AlsoIn, q.Spans = []string{o.MessageIDs[0]}, nil, nil
					return true
				}
			}
			return false
		})),
		"answer told in the question": g.caught(t, nil, g.spoilt(func(_ int, q *question.Question) bool {
			q.Question = strings.TrimSuffix(q.Question, "?") + ", is it " + q.Answer + "?"
			return true
		})),
	}
	for name, change := range map[string]func(*mail.Email, *question.Question, string) bool{rivalVersion: version, rivalNote: note} {
		index, qs := g.rivals(t, change)
		rate[name] = g.caught(t, index, qs)
	}
	rate["copied across splits"] = min(1, 2*g.caught(t, nil, g.copied()))
	for name, r := range rate {
		t.Logf("%s: caught %.3f", name, r)
		if r < .95 {
			t.Errorf("%s: caught %.3f, want at least .95", name, r)
		}
	}
}

// TestPlantedInMany plants faults into the built-in generator's questions.
func TestPlantedInMany(t *testing.T) {
	w := smallWorld(t)
	w.synth(t, "q.jsonl", nil)
	kept, _, _ := w.filter(t, "q.jsonl", nil)
	newGarden(t, w, kept).check(t)
}

// TestCheckersOnRealMail runs the checks over questions that people wrote and
// verified: nearly all must pass, and planted faults must not.
func TestCheckersOnRealMail(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("AGENTMILL_SHARED")
	if shared == "" {
		t.Skip("AGENTMILL_SHARED names no folder with real mail and questions")
	}
	ctx, dir := context.Background(), t.TempDir()
	qs, _, err := dataset.ReadAll[question.Question](ctx, dataset.Source{Paths: []string{filepath.Join(shared, "enron", "questions.jsonl.gz")}})
	if err != nil {
		t.Fatal(err)
	}
	var boxes []string
	for _, q := range qs {
		if name := strings.Trim(string(q.Extra["custodian"]), `"`); !slices.Contains(boxes, name) {
			boxes = append(boxes, name)
		}
	}
	_, err = ingest.Run(ctx, ingest.Config{
		Paths: []string{filepath.Join(shared, "enron", "enron_sample_dev.tar.gz")}, Match: boxes, Out: filepath.Join(dir, "emails.parquet"), Index: filepath.Join(dir, "inbox.db"),
		Stdout: io.Discard, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler), Progress: silent(),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := openWorld(t, dir)
	w.write(t, "hand.jsonl", qs)
	kept, _, st := w.filter(t, "hand.jsonl", nil)
	answerable := 0
	for _, q := range qs {
		if q.Answerable {
			answerable++
		}
	}
	pass := float64(st.Kept-st.Unanswerable) / float64(answerable)
	t.Logf("%d questions of people: %.3f of the answerable pass; dropped %v", len(qs), pass, st.Dropped)
	if pass < .95 {
		t.Errorf("%.3f of the answerable questions pass, want at least .95", pass)
	}
	newGarden(t, w, kept).check(t)
}
