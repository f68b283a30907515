package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Complete fills and repairs what a message from a table of messages lacks:
// Parse never saw it. What is there already stays.
func (m *Message) Complete(opt Options) {
	if strings.IndexByte(m.Body, 0) >= 0 {
		m.Body = strings.ReplaceAll(m.Body, "\x00", "")
		m.warn(WarnNul)
	}
	m.Body = string(unixLines([]byte(m.Body)))
	m.Subject = strings.Join(strings.Fields(m.Subject), " ")
	switch {
	case m.Date.IsZero():
		m.DateSource = "none"
		m.warn(WarnDateMissing)
	case m.DateSource == "" || m.DateSource == "none":
		m.DateSource = "header"
	}
	if !m.Date.IsZero() && !Believable(m.Date, opt.Now) {
		m.warn(WarnDateRange)
	}
	if m.MessageID == "" {
		sum := sha256.Sum256([]byte(strings.Join(slices.Concat([]string{m.Date.String(), m.From, m.Subject, m.Body}, m.To), "\x00")))
		m.MessageID = "<" + hex.EncodeToString(sum[:12]) + "@no-id.invalid>"
		m.warn(WarnNoMessageID)
	}
	if m.Quoted == nil {
		m.Quoted = quotedSpans(m.Body, senderWords(m))
	}
}
