package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/ingest"
	"agentmill/internal/mail"
	"agentmill/internal/progress"
)

// readMail ingests a mail file into records.
func readMail(ctx context.Context, path, dir string) ([]mail.Email, error) {
	out := filepath.Join(dir, "emails.parquet")
	quiet := slog.New(slog.DiscardHandler)
	cfg := ingest.Config{Paths: []string{path}, Out: out, Clock: clock.Real(), Log: quiet, Progress: progress.New(os.Stderr, quiet, progress.Never, false)}
	if _, err := ingest.Run(ctx, cfg); err != nil {
		return nil, err
	}
	emails, _, err := dataset.ReadAll[mail.Email](ctx, dataset.Source{Paths: []string{out}})
	return emails, err
}

// owner is whose inbox all mails are put into.
const owner = "ana.reed@example.com"

// oneInbox makes n mails of one inbox: those of sample, then the same again,
// each time a year later and under other ids.
func oneInbox(sample []mail.Email, n int) []*mail.Email {
	out := make([]*mail.Email, 0, n)
	for i := range n {
		e := sample[i%len(sample)]
		if round := i / len(sample); round > 0 {
			e.MessageID = strings.Replace(e.MessageID, "@", "."+strconv.Itoa(round)+"@", 1)
			e.Source = fmt.Sprintf("%d/%s", round, e.Source)
			e.Copies = nil
			if !e.Date.IsZero() {
				e.Date = e.Date.AddDate(round, 0, 0)
			}
		}
		e.Owner, e.Warnings = owner, nil
		out = append(out, &e)
	}
	return out
}
