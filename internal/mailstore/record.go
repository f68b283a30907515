package mailstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agentmill/internal/mail"
)

// recipients is the JSON of the column of that name.
type recipients struct {
	To  []string `json:"to"`
	Cc  []string `json:"cc"`
	Bcc []string `json:"bcc"`
}

// rest is the JSON of column more: fields that are kept, not searched.
type rest struct {
	InReplyTo   string                     `json:"in_reply_to,omitempty"`
	References  []string                   `json:"references,omitempty"`
	Attachments []mail.Attachment          `json:"attachments,omitempty"`
	Labels      []string                   `json:"labels,omitempty"`
	Quoted      []mail.Span                `json:"quoted,omitempty"`
	NearOf      string                     `json:"near_of,omitempty"`
	Copies      []mail.Copy                `json:"copies,omitempty"`
	Warnings    []string                   `json:"warnings,omitempty"`
	Extra       map[string]json.RawMessage `json:"extra,omitempty"`
}

const mailColumns = `m.row, o.owner, m.message_id, m.date, m.micros, m.date_source, m.sender, m.recipients,
	m.subject, m.folder, m.thread_id, m.source, m.more, m.body`

// scanMail reads a row of mailColumns.
func scanMail(scan func(...any) error) (*Mail, error) {
	var (
		m       Mail
		seconds sql.NullInt64
		micros  int64
		to      []byte
		more    []byte
	)
	e := &m.Email
	err := scan(&m.Row, &e.Owner, &e.MessageID, &seconds, &micros, &e.DateSource, &e.From, &to,
		&e.Subject, &e.Folder, &e.ThreadID, &e.Source, &more, &e.Body)
	if err != nil {
		return nil, err
	}
	if seconds.Valid {
		e.Date = time.Unix(seconds.Int64, micros*1000).UTC()
	}
	if err := decode(e, to, more); err != nil {
		return nil, fmt.Errorf("row %d: %w", m.Row, err)
	}
	return &m, nil
}

func decode(e *mail.Email, to, more []byte) error {
	var r recipients
	if err := json.Unmarshal(to, &r); err != nil {
		return fmt.Errorf("column recipients: %w", err)
	}
	var x rest
	if err := json.Unmarshal(more, &x); err != nil {
		return fmt.Errorf("column more: %w", err)
	}
	e.To, e.Cc, e.Bcc = r.To, r.Cc, r.Bcc
	e.InReplyTo, e.References, e.Attachments, e.Labels = x.InReplyTo, x.References, x.Attachments, x.Labels
	e.Quoted, e.NearOf, e.Copies, e.Warnings, e.Extra = x.Quoted, x.NearOf, x.Copies, x.Warnings, x.Extra
	return nil
}

// bareID is a Message-ID without angle brackets and blanks.
func bareID(id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(id), "<"), ">")
}
