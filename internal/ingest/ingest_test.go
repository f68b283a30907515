package ingest_test

import (
	"io"
	"log/slog"
	"strings"
	"time"

	"agentmill/internal/clock"
	"agentmill/internal/ingest"
)

func config(paths ...string) ingest.Config {
	return ingest.Config{
		Paths: paths, Stdin: strings.NewReader(""), Stdout: io.Discard,
		Clock: clock.FixedAt(time.Unix(0, 0)), Log: slog.New(slog.DiscardHandler),
	}
}
