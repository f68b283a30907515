package mailstore

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"agentmill/internal/mail"
)

// TestTermEndsPage: where merging puts a term at the very end of a page, its
// first row number stands on the next, and counts as whole for two reasons.
func TestTermEndsPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	var boxes []Mailbox
	var first, second []*mail.Email
	for n := 4010; n < 4050; n++ { // about a page
		owner := fmt.Sprintf("n%d@x", n)
		boxes = append(boxes, Mailbox{Owner: owner})
		first = append(first, &mail.Email{MessageID: "<1@x>", Owner: owner, Body: strings.Repeat("a ", n) + "b"})
		second = append(second, &mail.Email{MessageID: "<2@x>", Owner: owner, Body: "b"})
	}
	if err := Build(t.Context(), path, first, Options{Mailboxes: boxes}); err != nil {
		t.Fatal(err)
	}
	b, err := Extend(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	for i, box := range boxes {
		if err := b.Add(t.Context(), box, second[i:i+1]); err != nil {
			t.Fatal(err)
		}
		if err := b.optimize(t.Context(), b.known[box.Owner]); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, box := range boxes {
		hits, err := s.Search(t.Context(), Query{Owner: box.Owner, Keywords: []string{"b"}})
		if err != nil || hits.Total != 2 {
			t.Errorf("%s: %d mails, %v; want 2", box.Owner, hits.Total, err)
		}
	}
}
