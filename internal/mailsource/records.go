package mailsource

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"agentmill/internal/dataset"
	"agentmill/internal/mail"
)

// records reads a table of messages that were read before: ours, or one with
// the columns of Hugging Face's corbt/enron-emails, or one of paths and whole
// messages as Kaggle's.
func (s *Source) records(f file, raw io.Reader, buffered io.Reader) error {
	if info, err := statFile(raw); err == nil { // it is not read from the front
		f.budget.in = max(f.budget.in, info.Size())
	}
	return dataset.Objects(context.Background(), f.where, raw, buffered, checkColumns, func(pos dataset.Position, data []byte) error {
		if err := f.budget.take(len(data)); err != nil {
			return fmt.Errorf("%s: %w", pos, err)
		}
		e, err := s.entryOf(&f, data)
		if err != nil {
			e = &Entry{Mailbox: f.box(), raw: bytes.Clone(data), err: err}
		}
		e.Where = pos.String()
		if e.Source == "" {
			e.Source = numbered(f.source, pos.Line)
			if e.record != nil {
				e.record.Source = e.Source
			}
		}
		if err == nil && !s.wanted(e.Mailbox) {
			return nil
		}
		return s.send(e)
	})
}

// A row is a foreign record by its lower-case names.
type row map[string]json.RawMessage

// names are what the columns of tables of messages are called, ours first.
var names = map[string][]string{
	"message_id": {"message_id", "message-id"},
	"from":       {"from", "from_address", "sender"},
	"to":         {"to", "to_addresses", "recipients"},
	"cc":         {"cc", "cc_addresses"},
	"bcc":        {"bcc", "bcc_addresses"},
	"date":       {"date", "sent_at", "timestamp"},
	"subject":    {"subject"},
	"body":       {"body", "content", "text"},
	"file":       {"file_name", "file", "filename", "path"},
	"message":    {"message"},
	"folder":     {"folder"},
	"labels":     {"labels"},
	"thread_id":  {"thread_id"},
	"reply":      {"in_reply_to"},
	"references": {"references"},
}

// checkColumns wants a Parquet file to have what a message cannot be without:
// a column that is missing would else read as empty in every row.
func checkColumns(columns []string) error {
	has := map[string]bool{}
	for _, name := range columns {
		has[strings.ToLower(name)] = true
	}
	present := func(field string) bool {
		return slices.ContainsFunc(names[field], func(n string) bool { return has[n] })
	}
	if present("message") && present("file") {
		return nil
	}
	for _, field := range []string{"message_id", "from", "to", "date", "subject", "body"} {
		if !present(field) {
			return fmt.Errorf("has no column %s, but %s", field, strings.Join(columns, ", "))
		}
	}
	return nil
}

var errNoRecord = errors.New("no mail record: want at least one of message_id, from, subject and body")

// entryOf reads one object.
func (s *Source) entryOf(f *file, data []byte) (*Entry, error) {
	r, err := parseRow(data)
	if err != nil {
		return nil, err
	}
	if owner := r.text("owner"); owner != "" {
		return ownEntry(owner, data)
	}
	if message := r.text("message"); message != "" && r.raw("body") == nil {
		e := &Entry{Source: r.text("file"), raw: []byte(message)}
		if e.cut = int64(len(message)) > s.opt.MaxMessage; e.cut {
			e.raw = e.raw[:s.opt.MaxMessage]
		}
		e.Mailbox, e.folder = place(e.Source, f.fallback)
		return e, nil
	}
	if r.raw("message_id") == nil && r.raw("from") == nil && r.raw("subject") == nil && r.raw("body") == nil {
		return nil, errNoRecord
	}
	m, err := r.message()
	if err != nil {
		return nil, err
	}
	e := &Entry{Source: m.Source, record: m}
	e.Mailbox, e.folder = place(m.Source, f.fallback)
	if m.Folder == "" {
		m.Folder = e.folder
	}
	return e, nil
}

// ownEntry is a record that ingest wrote: its mailbox is its owner's.
func ownEntry(owner string, data []byte) (*Entry, error) {
	m := &mail.Message{}
	if err := dataset.Unmarshal(data, &m.Email); err != nil {
		return nil, err
	}
	return &Entry{Mailbox: strings.ToLower(owner), Source: m.Source, record: m, whole: true}, nil
}

func parseRow(data []byte) (row, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, errors.New("not a JSON object")
	}
	r := row{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		r[strings.ToLower(name)] = members[name]
	}
	return r, nil
}

// raw is the value of a field; nil if it is missing or null.
func (r row) raw(field string) json.RawMessage {
	list := names[field]
	if list == nil {
		list = []string{field}
	}
	for _, name := range list {
		if v, ok := r[name]; ok && string(v) != "null" {
			return v
		}
	}
	return nil
}

// text is a field that is a string, "" if it is none.
func (r row) text(field string) string {
	var s string
	_ = json.Unmarshal(r.raw(field), &s) // another type is no text
	return s
}

// list is a field that is a list of strings, or one string. Null elements are
// dropped.
func (r row) list(field string) ([]string, error) {
	v := r.raw(field)
	if v == nil {
		return nil, nil
	}
	var one string
	if json.Unmarshal(v, &one) == nil {
		return []string{one}, nil
	}
	var many []*string
	if err := json.Unmarshal(v, &many); err != nil {
		return nil, fmt.Errorf("%s: want a list of strings", field)
	}
	var list []string
	for _, p := range many {
		if p != nil {
			list = append(list, *p)
		}
	}
	return list, nil
}

// addresses reads a field of addresses.
func (r row) addresses(field string) (list []string, err error) {
	values, err := r.list(field)
	for _, v := range values {
		for _, a := range mail.ParseAddresses(v) {
			list = append(list, a.Addr)
		}
	}
	return list, err
}

// message reads a foreign record. Fields that mean nothing here are kept in
// Extra.
func (r row) message() (*mail.Message, error) {
	m := &mail.Message{Email: mail.Email{
		MessageID: strings.TrimSpace(r.text("message_id")), Subject: r.text("subject"), Body: r.text("body"), Folder: r.text("folder"),
		Source: r.text("file"), ThreadID: r.text("thread_id"), InReplyTo: r.text("reply"),
	}}
	from, err := r.addresses("from")
	if len(from) > 0 {
		m.From = from[0]
	}
	for _, l := range []struct {
		field string
		list  *[]string
		read  func(string) ([]string, error)
	}{
		{"to", &m.To, r.addresses},
		{"cc", &m.Cc, r.addresses},
		{"bcc", &m.Bcc, r.addresses},
		{"labels", &m.Labels, r.list},
		{"references", &m.References, r.list},
	} {
		var e error
		*l.list, e = l.read(l.field)
		err = errors.Join(err, e)
	}
	if slices.Equal(m.Cc, m.Bcc) { // CMU's Enron repeats every Cc so
		m.Bcc = nil
	}
	m.Date, m.Warnings = r.date()
	m.Extra = r.extra()
	return m, err
}

// date reads a moment, or a text as the header has it.
func (r row) date() (time.Time, []string) {
	text := r.text("date")
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Truncate(time.Microsecond), nil
	}
	t, warnings, ok := mail.ParseDate(text)
	if !ok {
		return time.Time{}, nil
	}
	return t, warnings
}

// extra are the fields that message does not read.
func (r row) extra() map[string]json.RawMessage {
	known := map[string]bool{"owner": true}
	for _, list := range names {
		for _, name := range list {
			known[name] = true
		}
	}
	var extra map[string]json.RawMessage
	for name, value := range r {
		if known[name] || string(value) == "null" {
			continue
		}
		if extra == nil {
			extra = map[string]json.RawMessage{}
		}
		extra[name] = bytes.Clone(value)
	}
	return extra
}
