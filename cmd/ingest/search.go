package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/cli"
	"agentmill/internal/jsonl"
	"agentmill/internal/mailstore"
	"agentmill/internal/terminal"
)

// nearest is how many names a wrong --inbox is answered with.
const nearest = 3

// searchOptions are the flags as they are typed.
type searchOptions struct {
	index, inbox, mode, after, before string
	query                             mailstore.Query
	json                              bool
}

func searchCommand() *cli.Command {
	var o searchOptions
	return &cli.Command{
		Name:      "search",
		Usage:     "search a mailbox as an agent does",
		ArgsUsage: "WORD ...",
		Description: `Prints the hits of a search, best first: id, date, sender, subject, and the words around the matches in
brackets. A word in quotes that holds blanks is a phrase.

examples, after make demo:
  bin/ingest search --index runs/demo/inbox.db --inbox dana.patel@corvane.example review budget
  bin/ingest search --index runs/demo/inbox.db --inbox patel-d --search all --after 2001-03-01 "design review"`,
		Flags: []ufcli.Flag{
			&ufcli.StringFlag{Name: "index", Required: true, Usage: "search the database `FILE`", Destination: &o.index},
			&ufcli.StringFlag{Name: "inbox", Usage: "`ADDRESS`, alias or name of the mailbox; may be left out if there is one", Destination: &o.inbox},
			&ufcli.StringFlag{Name: "search", Value: string(mailstore.Any), Usage: "`RULE`: any (any word may occur, best first) or all (every word must, newest first)", Destination: &o.mode},
			&ufcli.StringFlag{Name: "from", Usage: "only mail whose sender's address holds `TEXT`", Destination: &o.query.From},
			&ufcli.StringFlag{Name: "to", Usage: "only mail with a recipient (cc and bcc too) whose address holds `TEXT`", Destination: &o.query.To},
			&ufcli.StringFlag{Name: "after", Usage: "only mail of `DATE` (YYYY-MM-DD) or later", Destination: &o.after},
			&ufcli.StringFlag{Name: "before", Usage: "only mail earlier than `DATE`", Destination: &o.before},
			&ufcli.IntFlag{Name: "max", Value: mailstore.DefaultMax, Usage: "print at most `N` hits", Destination: &o.query.Max},
			&ufcli.BoolFlag{Name: "json", Usage: "print hits as JSON lines", Destination: &o.json},
		},
		Run: o.run,
	}
}

func (o *searchOptions) run(ctx context.Context, e *cli.Env) error {
	if err := o.check(e.Args); err != nil {
		return err
	}
	store, err := mailstore.Open(o.index)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	if o.query.Owner, err = inbox(store, o.inbox); err != nil {
		return err
	}
	found, err := store.Search(ctx, o.query)
	if errors.Is(err, mailstore.ErrNoKeywords) {
		return cli.Usagef("%q: want a word with a letter or a digit", e.Args)
	}
	if err != nil {
		return err
	}
	total := strconv.Itoa(found.Total)
	if found.More {
		total = fmt.Sprintf("more than %d", found.Total)
	}
	e.Notef("%s match in the mailbox of %s, %d shown", total, o.query.Owner, len(found.Hits))
	return o.print(e.Stdout, found.Hits)
}

func (o *searchOptions) check(words []string) (err error) {
	if o.query.Mode = mailstore.Mode(o.mode); o.query.Mode != mailstore.Any && o.query.Mode != mailstore.All {
		return cli.Usagef("--search %q: want any or all", o.mode)
	}
	if o.query.Max < 1 {
		return cli.Usagef("--max %d: want 1 or more", o.query.Max)
	}
	if len(words) == 0 {
		return cli.Usagef("want words to search for")
	}
	o.query.Keywords, o.query.Marks = words, [2]string{"[", "]"}
	if o.query.After, err = day("after", o.after); err != nil {
		return err
	}
	o.query.Before, err = day("before", o.before)
	return err
}

// day reads the date that a flag holds; nothing is no limit.
func day(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, cli.Usagef("--%s %q: want YYYY-MM-DD", flag, text)
	}
	return t, nil
}

// inbox is the owner that a name means; of an index with one mailbox that one
// if there is no name.
func inbox(store *mailstore.Store, name string) (string, error) {
	if name == "" {
		if owners := store.Owners(); len(owners) == 1 {
			return owners[0].Owner, nil
		}
		return "", cli.Usagef("--inbox is missing: the index has %d mailboxes", len(store.Owners()))
	}
	owner, ok := store.Resolve(name)
	if !ok {
		return "", cli.WithHint(cli.Usagef("--inbox %q: no such mailbox in the index", name), "the nearest: "+strings.Join(store.Near(name, nearest), ", "))
	}
	return owner, nil
}

// A hit is a mailstore.Hit as it is printed with --json.
type hit struct {
	ID        int64  `json:"id"`
	MessageID string `json:"message_id"`
	Date      string `json:"date,omitempty"`
	From      string `json:"from"`
	Subject   string `json:"subject"`
	Snippet   string `json:"snippet"`
}

func (o *searchOptions) print(w io.Writer, hits []mailstore.Hit) error {
	var text strings.Builder
	for _, h := range hits {
		shown := hit{h.Row, h.MessageID, "", h.From, h.Subject, h.Snippet}
		if !h.Date.IsZero() {
			shown.Date = h.Date.Format(time.RFC3339)
		}
		if o.json {
			line, err := jsonl.Marshal(shown)
			if err != nil {
				return err
			}
			text.WriteString(terminal.JSON(string(line)) + "\n")
			continue
		}
		date, _, _ := strings.Cut(shown.Date, "T")
		if date == "" {
			date = "undated"
		}
		text.WriteString(terminal.Safe(fmt.Sprintf("%6d  %-10s  %s: %s\n        %s\n", h.Row, date, h.From, h.Subject, h.Snippet)))
	}
	_, err := io.WriteString(w, text.String())
	return err
}
