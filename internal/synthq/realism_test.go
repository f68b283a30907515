package synthq

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/ingest"
	"agentmill/internal/mail"
	"agentmill/internal/mailbox"
	"agentmill/internal/progress"
	"agentmill/internal/question"
	"agentmill/internal/realism"
)

// TestRealismOnRealMail checks that the score tells questions that people wrote
// from the plainest wording of the generator on the same mails.
func TestRealismOnRealMail(t *testing.T) {
	shared := os.Getenv("AGENTMILL_SHARED")
	if shared == "" {
		t.Skip("AGENTMILL_SHARED names no folder with real mail and questions")
	}
	people, plain := handmade(t, shared)
	scores := func(pairs []sourced) []float64 {
		var out []float64
		for _, p := range pairs {
			out = append(out, realism.Score(p.question, p.mail))
		}
		return out
	}
	got := auc(scores(people), scores(plain))
	t.Logf("%d questions of people, %d of the generator: AUC %.3f", len(people), len(plain), got)
	if got < .85 {
		t.Errorf("AUC %.3f, want at least .85", got)
	}
}

// A sourced is a question and the text of its mail.
type sourced struct{ question, mail string }

// handmade reads the questions that people wrote, and makes the generator's of
// the same mails.
func handmade(t *testing.T, shared string) (people, plain []sourced) {
	t.Helper()
	ctx := context.Background()
	qs, _, err := dataset.ReadAll[question.Question](ctx, dataset.Source{Paths: []string{filepath.Join(shared, "enron", "questions.jsonl.gz")}})
	if err != nil {
		t.Fatal(err)
	}
	custodians := map[string]bool{}
	for _, q := range qs {
		custodians[custodianOf(q)] = true
	}
	out := filepath.Join(t.TempDir(), "emails.parquet")
	_, err = ingest.Run(ctx, ingest.Config{
		Paths: []string{filepath.Join(shared, "enron", "enron_sample_dev.tar.gz")}, Match: sortedKeys(custodians), Out: out,
		Stdout: io.Discard, Clock: clock.Real(), Log: slog.New(slog.DiscardHandler), Progress: progress.New(io.Discard, nil, progress.Never, false),
	})
	if err != nil {
		t.Fatal(err)
	}
	mails, _, err := dataset.ReadAll[mail.Email](ctx, dataset.Source{Paths: []string{out}})
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*mail.Email{}
	for i := range mails {
		byID[mails[i].MessageID] = &mails[i]
		for _, c := range mails[i].Copies {
			byID[c.MessageID] = &mails[i]
		}
	}
	done := map[*mail.Email]bool{}
	for _, q := range qs {
		if !q.Answerable || byID[q.MessageIDs[0]] == nil {
			continue
		}
		e := byID[q.MessageIDs[0]]
		text := e.Subject + "\n" + e.Body
		people = append(people, sourced{q.Question, text})
		if done[e] {
			continue
		}
		done[e] = true
		box := mailbox.New(e.Owner, []*mail.Email{e})
		for _, c := range candidates(box.Docs[0], newVoice(e, func(a string) bool { return a == e.Owner }, box)) {
			plain = append(plain, sourced{capital(c.words.direct()), text})
		}
	}
	return people, plain
}

func custodianOf(q question.Question) string {
	name := string(q.Extra["custodian"])
	return name[1 : len(name)-1]
}

// auc is the chance that a score of good is above one of bad.
func auc(good, bad []float64) float64 {
	sum := 0.0
	for _, g := range good {
		for _, b := range bad {
			switch {
			case g > b:
				sum++
			case g == b:
				sum += .5
			}
		}
	}
	return sum / float64(len(good)*len(bad))
}
