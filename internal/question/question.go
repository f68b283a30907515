// Package question owns Question: what is asked of an inbox, what the answer
// is, and which mails it rests on.
package question

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// A Split says what a question may be used for.
type Split string

// The splits. A question without one has not been through filterq.
const (
	Train Split = "train"
	Val   Split = "val"
	Test  Split = "test"
)

// Unknown is the answer to an unanswerable question.
const Unknown = "I don't know"

// A Question is one row of a question file. The names are those of the public
// data set corbt/enron_emails_sample_questions, which loads as it is.
type Question struct {
	ID           string           `json:"id"`
	Question     string           `json:"question"`
	Answer       string           `json:"answer"`
	Aliases      []string         `json:"aliases"`
	Answerable   bool             `json:"answerable"`
	MessageIDs   []string         `json:"message_ids"`
	AlsoIn       []string         `json:"also_in"` // other mails that carry the same evidence
	Evidence     string           `json:"evidence"`
	Spans        []Span           `json:"spans"`
	HowRealistic float64          `json:"how_realistic"`
	InboxAddress string           `json:"inbox_address"`
	QueryDate    string           `json:"query_date"` // YYYY-MM-DD, optionally with a time
	Kind         string           `json:"kind"`
	Hops         int              `json:"hops"`
	Env          string           `json:"env"`
	Split        Split            `json:"split,omitempty"`
	Generator    string           `json:"generator"`
	Checks       map[string]Check `json:"checks,omitempty"`

	// Extra holds fields of the input record that this version does not know.
	Extra map[string]json.RawMessage `json:"-"`
}

// A Span locates evidence in UTF-8 bytes of a mail's body.
type Span struct {
	MessageID string `json:"message_id"`
	Start     int    `json:"start"`
	End       int    `json:"end"`
}

// A Check is what one filter said: verdict is pass, drop or skipped.
type Check struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
}

// Hash is the id of a question that brings none: 16 hex digits of a hash of
// env, inbox, question and answer.
func (q *Question) Hash() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{q.Env, q.InboxAddress, q.Question, q.Answer}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// IsUnknown reports whether an answer says that nothing was found: Unknown, with
// any letter case, apostrophe, blanks around it and full stop behind it.
func IsUnknown(answer string) bool {
	answer = strings.ReplaceAll(strings.TrimSpace(answer), "\u2019", "'")
	return strings.EqualFold(strings.TrimSuffix(answer, "."), Unknown)
}
