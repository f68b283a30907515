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
	"agentmill/internal/dataset"
	"agentmill/internal/mail"
	"agentmill/internal/mailstore"
	"agentmill/internal/terminal"
)

// showOptions are the flags as they are typed.
type showOptions struct {
	index, inbox string
	json         bool
}

func showCommand() *cli.Command {
	var o showOptions
	return &cli.Command{
		Name:      "show",
		Usage:     "print mails of an index",
		ArgsUsage: "ID ...",
		Description: `Prints each mail with its header. An ID is the number that search prints, or a Message-ID with or without
angle brackets, that of a copy too.

examples, after make demo:
  bin/ingest show --index runs/demo/inbox.db 17
  bin/ingest show --index runs/demo/inbox.db --json 17 18`,
		Flags: []ufcli.Flag{
			&ufcli.StringFlag{Name: "index", Required: true, Usage: "read the database `FILE`", Destination: &o.index},
			&ufcli.StringFlag{Name: "inbox", Usage: "only of the mailbox with this `ADDRESS`, alias or name", Destination: &o.inbox},
			&ufcli.BoolFlag{Name: "json", Usage: "print records as JSON lines", Destination: &o.json},
		},
		Run: o.run,
	}
}

func (o *showOptions) run(ctx context.Context, e *cli.Env) error {
	if len(e.Args) == 0 {
		return cli.Usagef("want the ID of a mail")
	}
	store, err := mailstore.Open(o.index)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	owners, err := o.owners(store)
	if err != nil {
		return err
	}
	for n, id := range e.Args {
		mails, err := read(ctx, store, owners, id)
		if err != nil {
			return err
		}
		for i, m := range mails {
			if err := o.print(e.Stdout, m, n+i > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// owners are the mailboxes to look in.
func (o *showOptions) owners(store *mailstore.Store) ([]string, error) {
	if o.inbox != "" {
		owner, err := inbox(store, o.inbox)
		return []string{owner}, err
	}
	var all []string
	for _, box := range store.Owners() {
		all = append(all, box.Owner)
	}
	return all, nil
}

// read returns the mail of each mailbox that has the id.
func read(ctx context.Context, store *mailstore.Store, owners []string, id string) (mails []*mailstore.Mail, err error) {
	for _, owner := range owners {
		m, err := store.Read(ctx, owner, id)
		switch {
		case errors.Is(err, mailstore.ErrNoMail):
		case err != nil:
			return nil, err
		default:
			mails = append(mails, m)
		}
	}
	if len(mails) == 0 {
		return nil, fmt.Errorf("no mail %s in %s", id, strings.Join(owners, ", "))
	}
	return mails, nil
}

func (o *showOptions) print(w io.Writer, m *mailstore.Mail, more bool) error {
	if o.json {
		return printRecord(w, m)
	}
	var text strings.Builder
	if more {
		text.WriteString("\n" + strings.Repeat("-", 72) + "\n\n")
	}
	for _, line := range header(m) {
		if line.value != "" {
			fmt.Fprintf(&text, "%-12s %s\n", line.name+":", strings.Join(strings.Fields(line.value), " "))
		}
	}
	text.WriteString("\n" + strings.TrimRight(m.Body, "\n") + "\n")
	_, err := io.WriteString(w, terminal.Safe(text.String()))
	return err
}

// printRecord writes the record that ingest wrote of the mail.
func printRecord(w io.Writer, m *mailstore.Mail) error {
	var line strings.Builder
	out, err := dataset.Create[mail.Email]("-", &line)
	if err != nil {
		return err
	}
	if err := errors.Join(out.Write(&m.Email), out.Commit()); err != nil {
		return err
	}
	_, err = io.WriteString(w, terminal.JSON(line.String()))
	return err
}

type headerLine struct{ name, value string }

// header is what is said of a mail above its body.
func header(m *mailstore.Mail) []headerLine {
	date := ""
	if !m.Date.IsZero() {
		date = m.Date.Format(time.RFC1123Z)
	}
	lines := []headerLine{
		{"ID", strconv.FormatInt(m.Row, 10)},
		{"Message-ID", m.MessageID},
		{"Mailbox", m.Owner + ", " + m.Folder},
		{"Date", date},
		{"From", m.From},
		{"To", strings.Join(m.To, ", ")},
		{"Cc", strings.Join(m.Cc, ", ")},
		{"Bcc", strings.Join(m.Bcc, ", ")},
		{"Subject", m.Subject},
		{"Thread", m.ThreadID},
		{"Near copy of", m.NearOf},
		{"Labels", strings.Join(m.Labels, ", ")},
	}
	for _, a := range m.Attachments {
		lines = append(lines, headerLine{"Attachment", fmt.Sprintf("%s, %s, %d bytes", a.Name, a.Type, a.Size)})
	}
	for _, c := range m.Copies {
		lines = append(lines, headerLine{"Copy", c.MessageID + ", " + c.Folder})
	}
	return append(lines, headerLine{"Source", m.Source}, headerLine{"Warnings", strings.Join(m.Warnings, ", ")})
}
