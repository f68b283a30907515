// Package mail owns Email, the record that ingest writes, and the reading of
// one message from its RFC 5322 bytes.
//
// Most callers want Parse. The package does no input or output: it takes bytes
// and returns records. A damaged message is an Email with Warnings, never an
// error, as long as anything of it can be read.
package mail

import (
	"encoding/json"
	"time"
)

// An Email is one message in one mailbox. The mailbox (Owner) is the one in
// which the message was found, not its addressees.
type Email struct {
	MessageID   string       `json:"message_id"`
	Date        time.Time    `json:"date"` // UTC, microseconds; zero when DateSource is "none"
	DateSource  string       `json:"date_source"`
	From        string       `json:"from"`
	To          []string     `json:"to"`
	Cc          []string     `json:"cc"`
	Bcc         []string     `json:"bcc"`
	Subject     string       `json:"subject"`
	Body        string       `json:"body"`
	Owner       string       `json:"owner"`
	Folder      string       `json:"folder"`
	ThreadID    string       `json:"thread_id"`
	InReplyTo   string       `json:"in_reply_to,omitempty"`
	References  []string     `json:"references,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	Labels      []string     `json:"labels,omitempty"`
	Quoted      []Span       `json:"quoted,omitempty"` // history and signatures: marked, not removed
	NearOf      string       `json:"near_of,omitempty"`
	Copies      []Copy       `json:"copies,omitempty"` // the same message elsewhere in this mailbox
	Source      string       `json:"source"`
	Warnings    []string     `json:"warnings,omitempty"`

	// Extra holds fields of the input record that this version does not know.
	Extra map[string]json.RawMessage `json:"-"`
}

// An Attachment is listed, its content is not kept.
type Attachment struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

// A Span is a half-open range of UTF-8 bytes of a body.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// A Copy is another file that holds the same message. Enron gave every copy an
// id of its own, so ids resolve through copies everywhere.
type Copy struct {
	MessageID string `json:"message_id"`
	Folder    string `json:"folder"`
	Source    string `json:"source"`
}
