package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"agentmill/internal/mail"
)

//go:embed notmuch.py
var notmuchScript string

// askNotmuch indexes the inbox with notmuch and asks it the queries, for all
// words, newest first.
func askNotmuch(ctx context.Context, python, dir string, inbox []*mail.Email, queries []query) (took []time.Duration, found int, err error) {
	config := filepath.Join(dir, "notmuch-config")
	if _, err := os.Stat(config); err != nil {
		if err := indexNotmuch(ctx, dir, config, inbox); err != nil {
			return nil, 0, err
		}
	}
	cmd := exec.CommandContext(ctx, python, "-c", notmuchScript, config) //nolint:gosec // the user names the program
	var in strings.Builder
	for _, q := range queries {
		after, before := max(0, q.after.Unix()), max(1, q.before.Unix()-1) // notmuch knows no seconds before 1970
		fmt.Fprintf(&in, "\"%s\" date:@%d..@%d\n", strings.Join(q.words, "\" and \""), after, before)
	}
	cmd.Stdin, cmd.Stderr = strings.NewReader(in.String()), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("ask notmuch: %w", err)
	}
	for r := bytes.NewReader(out); len(took) < len(queries); {
		var seconds float64
		var hits int
		if _, err := fmt.Fscanln(r, &seconds, &hits); err != nil {
			return nil, 0, fmt.Errorf("read notmuch's answer %d: %w", len(took)+1, err)
		}
		took, found = append(took, time.Duration(seconds*1e9)), found+hits
	}
	return took, found, nil
}

// indexNotmuch writes the mails as a Maildir and has notmuch index it.
func indexNotmuch(ctx context.Context, dir, config string, inbox []*mail.Email) error {
	root := filepath.Join(dir, "notmuch-mail")
	for _, sub := range []string{"cur", "new", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, "all", sub), 0o700); err != nil {
			return err
		}
	}
	for i, e := range inbox {
		text := fmt.Sprintf("Message-ID: <%s>\nDate: %s\nFrom: %s\nTo: %s\nSubject: %s\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n%s\n",
			strings.Trim(e.MessageID, "<>"), e.Date.Format(time.RFC1123Z), e.From, strings.Join(e.To, ",\n "), strings.Join(strings.Fields(e.Subject), " "), e.Body)
		if err := os.WriteFile(filepath.Join(root, "all", "cur", fmt.Sprintf("%d.%d.host:2,S", e.Date.Unix(), i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	text := "[database]\npath=" + root + "\n[user]\nname=A\nprimary_email=" + owner + "\n[new]\ntags=new\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "notmuch", "--config", config, "new") //nolint:gosec // a path of ours
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("notmuch new: %w: %s", err, out), os.Remove(config))
	}
	return nil
}
