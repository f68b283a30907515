package ingest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/mail"
)

// A fault is what the collection expects of one message. Fields not named in it
// are not tested.
type fault struct {
	MessageID   string            `json:"message_id"`
	Date        string            `json:"date"`
	DateSource  string            `json:"date_source"`
	From        string            `json:"from"`
	FromName    string            `json:"from_name"`
	To          []string          `json:"to"`
	Subject     *string           `json:"subject"`
	Labels      []string          `json:"labels"`
	Body        *string           `json:"body"`
	BodyPrefix  string            `json:"body_prefix"`
	BodyLen     int               `json:"body_len"`
	BodyAnyOf   []string          `json:"body_any_of"`
	Contains    []string          `json:"body_contains"`
	Attachments []mail.Attachment `json:"attachments"`
	Folder      string            `json:"folder"`
	Inbox       string            `json:"inbox"`
	File        string            `json:"file"`
	XFrom       string            `json:"x_from"`
	XToCount    int               `json:"x_to_count"`
	Warnings    []string          `json:"warnings"`
}

// TestFaults reads files with faults from public reports.
func TestFaults(t *testing.T) {
	dir := filepath.Join(sharedFolder(t), "mail-faults")
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]json.RawMessage
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	for name, raw := range expected {
		t.Run(name, func(t *testing.T) {
			got := records(t, filepath.Join(dir, name))
			switch name {
			case "15-duplicates.mbox":
				checkDuplicates(t, got)
				checkNear(t, got)
				return
			case "23-hf-like.parquet":
				checkTable(t, raw, got)
				return
			}
			for _, want := range faults(t, raw) {
				i := slices.IndexFunc(got, func(e mail.Email) bool { return e.MessageID == want.MessageID })
				if i < 0 {
					t.Errorf("no record %s", want.MessageID)
					continue
				}
				want.check(t, &got[i])
				want.checkHeader(t, filepath.Join(dir, name))
			}
		})
	}
}

// faults takes one expectation or a list of them.
func faults(t *testing.T, raw json.RawMessage) (list []fault) {
	t.Helper()
	if raw[0] != '[' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func (want *fault) check(t *testing.T, e *mail.Email) {
	t.Helper()
	equal := func(name string, named bool, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); named && diff != "" {
			t.Errorf("%s %s: %s", e.MessageID, name, diff)
		}
	}
	equal("date", want.Date != "", want.Date, e.Date.Format(time.RFC3339))
	equal("date_source", want.DateSource != "", want.DateSource, e.DateSource)
	equal("from", want.From != "", want.From, e.From)
	equal("to", want.To != nil, want.To, e.To)
	equal("subject", want.Subject != nil, deref(want.Subject), e.Subject)
	equal("labels", want.Labels != nil, want.Labels, e.Labels)
	equal("body", want.Body != nil, deref(want.Body), e.Body)
	equal("length of body", want.BodyLen > 0, want.BodyLen, len(e.Body))
	equal("attachments", want.Attachments != nil, want.Attachments, e.Attachments)
	equal("folder", want.Folder != "", want.Folder, e.Folder)
	equal("source", want.File != "", want.File, e.Source)
	if !strings.HasPrefix(e.Body, want.BodyPrefix) || want.BodyAnyOf != nil && !slices.Contains(want.BodyAnyOf, e.Body) {
		t.Errorf("%s body: %.80q", e.MessageID, e.Body)
	}
	for _, part := range want.Contains {
		if !strings.Contains(e.Body, part) {
			t.Errorf("%s body has no %q: %q", e.MessageID, part, e.Body)
		}
	}
	for _, w := range want.Warnings {
		if !slices.Contains(e.Warnings, w) {
			t.Errorf("%s: warnings %v, want %s among them", e.MessageID, e.Warnings, w)
		}
	}
	if !utf8.ValidString(e.Body) {
		t.Errorf("%s: body is not UTF-8", e.MessageID)
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// checkHeader compares what goes into no record, of a file's first message.
func (want *fault) checkHeader(t *testing.T, path string) {
	t.Helper()
	if want.FromName == "" && want.XFrom == "" {
		return
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := mail.Parse(raw, mail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want.FromName != "" && m.FromName != want.FromName || want.XFrom != "" && (m.XFrom != want.XFrom || len(mail.DisplayNames(m.XTo)) != want.XToCount) {
		t.Errorf("%s: from name %q, X-From %q, %d names in X-To", want.MessageID, m.FromName, m.XFrom, len(mail.DisplayNames(m.XTo)))
	}
}

// checkDuplicates wants messages 1 and 4 merged, 2 and 3 kept apart from them
// though they carry the id of 1.
func checkDuplicates(t *testing.T, got []mail.Email) {
	t.Helper()
	var groups []string
	for _, e := range got {
		sources := []string{e.Source[strings.LastIndexByte(e.Source, ':')+1:]}
		for _, c := range e.Copies {
			sources = append(sources, c.Source[strings.LastIndexByte(c.Source, ':')+1:])
		}
		groups = append(groups, strings.Join(sources, "+"))
	}
	slices.Sort(groups)
	if diff := cmp.Diff([]string{"1+4", "2", "3"}, groups); diff != "" {
		t.Error(diff)
	}
}

// checkTable compares a table of messages whose columns are optional.
func checkTable(t *testing.T, raw json.RawMessage, got []mail.Email) {
	t.Helper()
	var want struct {
		Rows       int
		Row0, Row2 fault
		SumLenTo   int `json:"sum_len_to"`
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, e := range got {
		sum += len(e.To)
	}
	if len(got) != want.Rows || sum != want.SumLenTo {
		t.Fatalf("%d rows with %d addresses, want %d with %d", len(got), sum, want.Rows, want.SumLenTo)
	}
	if date := got[0].Date.Format(time.RFC3339Nano); date != want.Row0.Date || got[0].Body != *want.Row0.Body || len(got[0].To) > 0 {
		t.Errorf("row 0: %+v", got[0])
	}
	if got[2].Body != *want.Row2.Body || !slices.Equal(got[2].To, want.Row2.To) {
		t.Errorf("row 2: %+v", got[2])
	}
}
