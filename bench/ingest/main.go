// Command ingest measures the searching of mailboxes against the SQL of the
// reference, as ratios within one run.
//
//	go run ./bench/ingest search --mail MAIL.tar.gz --questions QUESTIONS.jsonl.gz
//
// search asks one inbox, multiplied to --mails, the same questions through
// mailstore and through the SQL of the reference, in turns, then of each alone
// by many readers. With --notmuch /usr/bin/python3 (Debian's notmuch and
// python3-notmuch2) notmuch is asked for all words as well.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/ingest: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "search" {
		return errors.New("want search")
	}
	return runSearch(ctx, flag.NewFlagSet(args[0], flag.ExitOnError), args[1:])
}
