package filterq

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"agentmill/internal/atomicfile"
	"agentmill/internal/question"
	"agentmill/internal/seed"
)

// A splitTable is which split each mailbox belongs to.
type splitTable struct {
	path    string
	of      map[string]question.Split
	changed bool
}

// split gives each question its split. One that a record brings is kept; else
// the table decides, to which mailboxes it does not know are added.
func (c *Config) split(items []*item) (*splitTable, error) {
	t, err := c.readSplits()
	if err != nil {
		return nil, err
	}
	var unknown []string
	for _, it := range items {
		if _, ok := t.of[it.inbox]; ok {
			continue
		}
		if _, ok := rank[it.Split]; ok {
			t.set(it.inbox, it.Split)
		} else if !slices.Contains(unknown, it.inbox) {
			unknown = append(unknown, it.inbox)
		}
	}
	unknown = slices.DeleteFunc(unknown, func(inbox string) bool { _, ok := t.of[inbox]; return ok })
	t.assign(unknown, c.Shares)
	for _, it := range items {
		if _, ok := rank[it.Split]; !ok {
			it.Split = t.of[it.inbox]
		}
	}
	return t, nil
}

func (t *splitTable) set(inbox string, s question.Split) {
	t.of[inbox] = s
	t.changed = true
}

// assign gives new mailboxes their splits. The first ones are ranked by a hash
// of their address, so that the shares hold and, from three mailboxes on, no
// split is empty; later ones go by their hash alone.
func (t *splitTable) assign(inboxes []string, shares Shares) {
	hash := func(inbox string) uint64 { return seed.Derive(0, "split", strings.ToLower(inbox)) }
	if len(t.of) > 0 {
		for _, inbox := range inboxes {
			switch u := float64(hash(inbox)) / math.MaxUint64; {
			case u < shares.Test:
				t.set(inbox, question.Test)
			case u < shares.Test+shares.Val:
				t.set(inbox, question.Val)
			default:
				t.set(inbox, question.Train)
			}
		}
		return
	}
	slices.SortFunc(inboxes, func(a, b string) int { return cmp.Or(cmp.Compare(hash(a), hash(b)), strings.Compare(a, b)) })
	n := len(inboxes)
	test, val := part(shares.Test, n, 2), part(shares.Val, n, 3)
	for i, inbox := range inboxes {
		switch {
		case i < test:
			t.set(inbox, question.Test)
		case i < test+val:
			t.set(inbox, question.Val)
		default:
			t.set(inbox, question.Train)
		}
	}
}

// part is a share of n mailboxes: at least one where the share is not 0 and
// there are at least least mailboxes.
func part(share float64, n, least int) int {
	if share == 0 || n < least {
		return 0
	}
	return max(1, int(math.Round(share*float64(n))))
}

// readSplits reads lines of mailbox, tab, split. A file that is not there is an
// empty table.
func (c *Config) readSplits() (*splitTable, error) {
	path := c.Splits
	t := &splitTable{path: path, of: map[string]question.Split{}}
	if path == "" {
		return t, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read splits: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		inbox, s, ok := strings.Cut(line, "\t")
		if _, known := rank[question.Split(s)]; !ok || !known {
			return nil, fmt.Errorf("%s:%d: %q: want a mailbox, a tab, and train, val or test", path, n, line)
		}
		inbox = c.mailbox(inbox)
		if other, ok := t.of[inbox]; ok && other != question.Split(s) {
			return nil, fmt.Errorf("%s:%d: mailbox %s has the split %s already, in a line before", path, n, inbox, other)
		}
		t.of[inbox] = question.Split(s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read splits %s: %w", path, err)
	}
	return t, nil
}

// save writes the table back where it has changed.
func (t *splitTable) save() error {
	if t.path == "" || !t.changed {
		return nil
	}
	inboxes := make([]string, 0, len(t.of))
	for inbox := range t.of {
		inboxes = append(inboxes, inbox)
	}
	slices.Sort(inboxes)
	var b strings.Builder
	b.WriteString("# mailbox and the split of its questions\n")
	for _, inbox := range inboxes {
		fmt.Fprintf(&b, "%s\t%s\n", inbox, t.of[inbox])
	}
	return atomicfile.WriteFile(t.path, []byte(b.String()))
}
