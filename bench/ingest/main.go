// Command ingest measures the reading of mail and the searching of mailboxes
// against named peers, as ratios within one run.
//
//	go run ./bench/ingest search --mail MAIL.tar.gz --questions QUESTIONS.jsonl.gz
//	go run ./bench/ingest make --mail MAIL.tar.gz --messages 500000 --to BIG.tar.gz
//	go run ./bench/ingest whole --mail MAIL.tar.gz --python python3
//
// search asks one inbox, multiplied to --mails, the same questions through
// mailstore and through the SQL of the reference, in turns. whole reads an
// archive into Parquet and an index, in turns with Python and with the peers
// that are at hand; make writes the larger archive for it.
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
	modes := map[string]func(context.Context, *flag.FlagSet, []string) error{"search": runSearch, "make": runMake, "whole": runWhole}
	if len(args) == 0 || modes[args[0]] == nil {
		return errors.New("want search, make or whole")
	}
	return modes[args[0]](ctx, flag.NewFlagSet(args[0], flag.ExitOnError), args[1:])
}
