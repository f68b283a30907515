package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"
)

// ErrNoMessage is what Parse fails with where no message can be made of the
// input at all.
var ErrNoMessage = errors.New("no mail message: not one header line")

// A Message is an Email with what its headers say beyond the record. The fields
// of the mailbox (owner, folder, thread, source, copies) are not filled.
type Message struct {
	Email
	FromName string
	XFrom    string // Exchange's display name
	ExchangeID,
	XFolder string // Enron: the folder in the original mail system
	// Delivered is the address that the mail was delivered to, where a server
	// noted it.
	Delivered string
	XTo       string // as written; DisplayNames splits it
}

// Options are what Parse is told beyond the bytes.
type Options struct {
	// Now bounds believable dates: those more than two days later are flagged.
	Now time.Time
	// Envelope is the date of the mbox separator, for a message without one.
	Envelope time.Time
	// MaxBytes bounds the message: what is beyond is not read, with a warning.
	// 0 is no bound.
	MaxBytes int
}

// Parse reads one message from its RFC 5322 bytes. It fails only with
// ErrNoMessage; every other damage is a warning of the record. The record keeps
// nothing of raw.
func Parse(raw []byte, opt Options) (*Message, error) {
	m := &Message{}
	if opt.MaxBytes > 0 && len(raw) > opt.MaxBytes {
		raw = raw[:opt.MaxBytes]
		m.warn(WarnTruncated)
	}
	h, body := readHeader(raw, m.warn)
	if !slices.ContainsFunc(h, func(f field) bool { return f.kind != other }) {
		return nil, ErrNoMessage
	}
	m.warnDuplicates(h)
	m.readAddresses(h)
	m.readIDs(h)
	m.readDate(h, opt)
	m.readExchange(h)
	m.Subject = shown(decodeWords(h.get(kindSubject)))
	m.readBody(h, body)
	if m.MessageID == "" {
		m.inventID(raw)
	}
	return m, nil
}

// warn adds a warning once.
func (m *Message) warn(name string) {
	if !slices.Contains(m.Warnings, name) {
		m.Warnings = append(m.Warnings, name)
	}
}

func (m *Message) warnDuplicates(h header) {
	var seen [kindThread + 1]bool
	for i := range h {
		switch k := h[i].kind; k {
		case kindMessageID, kindDate, kindFrom, kindSubject, kindContentType, kindEncoding:
			if seen[k] {
				m.warn(WarnDuplicate)
			}
			seen[k] = true
		default:
		}
	}
}

// readAddresses fills the parties. Where a header is empty, as Exchange's
// export left many, its X- field tells. CMU's Enron repeats Cc as Bcc in every
// message, so a Bcc that equals Cc is left out.
func (m *Message) readAddresses(h header) {
	m.readFrom(h)
	m.To = m.addressList(h, kindTo, kindXTo)
	m.Cc = m.addressList(h, kindCc, kindXCc)
	m.Bcc = m.addressList(h, kindBcc, kindXBcc)
	if slices.Equal(m.Cc, m.Bcc) {
		m.Bcc = nil
	}
	if delivered := h.get(kindDelivered); delivered != "" {
		if list := ParseAddresses(delivered); len(list) > 0 {
			m.Delivered = list[0].Addr
		}
	}
}

func (m *Message) readFrom(h header) {
	for _, k := range [...]kind{kindFrom, kindSender} {
		if list := ParseAddresses(h.get(k)); len(list) > 0 {
			m.From, m.FromName = list[0].Addr, list[0].Name
			return
		}
	}
	if list := exchangeAddresses(h.get(kindXFrom)); len(list) > 0 {
		m.From = list[0]
		m.warn(WarnXAddress)
	} else if from := h.get(kindFrom); from != "" {
		m.From = strings.ToLower(strings.Trim(shown(decodeWords(from)), " \"'<>"))
		m.warn(WarnAddress)
	}
}

// addressList joins repeated headers of one kind, or else takes Exchange's.
func (m *Message) addressList(h header, k, exchange kind) (list []string) {
	for i := range h {
		if h[i].kind == k {
			list = appendAddresses(list, h[i].value)
		}
	}
	if len(list) > 0 {
		return list
	}
	if list = exchangeAddresses(h.get(exchange)); len(list) > 0 {
		m.warn(WarnXAddress)
	}
	return list
}

func (m *Message) readIDs(h header) {
	m.MessageID = messageID(h.get(kindMessageID))
	if list := idTokens(h.get(kindInReplyTo)); len(list) > 0 {
		m.InReplyTo = list[0]
	}
	m.References = idTokens(h.get(kindReferences))
	m.ThreadID = shown(h.get(kindThread))
}

// idTokens are the Message-IDs of a text, in angle brackets.
func idTokens(s string) (ids []string) {
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			return ids
		}
		s = s[i:]
		end := strings.IndexFunc(s[1:], func(r rune) bool { return r <= ' ' || r == '<' || r == '>' || r == 0x7f })
		if end < 0 {
			return ids
		}
		if s[1+end] == '>' && end > 0 {
			ids = append(ids, strings.Clone(s[:end+2]))
		}
		s = s[1+end:]
	}
}

func messageID(value string) string {
	if ids := idTokens(value); len(ids) > 0 {
		return ids[0]
	}
	return strings.ReplaceAll(shown(value), " ", "")
}

// inventID names a message without an id by its content.
func (m *Message) inventID(raw []byte) {
	sum := sha256.Sum256(raw)
	m.MessageID = "<" + hex.EncodeToString(sum[:12]) + "@no-id.invalid>"
	m.warn(WarnNoMessageID)
}

// readDate goes down the ladder: Date, the newest Received, the envelope. A
// Date with a zone that cannot be read counts after Received.
func (m *Message) readDate(h header, opt Options) {
	date, warnings, ok := ParseDate(h.get(kindDate))
	if !ok {
		m.warn(WarnDateMissing)
	}
	for _, w := range warnings {
		m.warn(w)
	}
	received := newestReceived(h)
	switch {
	case ok && !(slices.Contains(warnings, WarnBadZone) && !received.IsZero()):
		m.Date, m.DateSource = date, "header"
	case !received.IsZero():
		m.Date, m.DateSource = received, "received"
	case !opt.Envelope.IsZero():
		m.Date, m.DateSource = opt.Envelope.UTC(), "envelope"
	default:
		m.DateSource = "none"
		return
	}
	if !Believable(m.Date, opt.Now) {
		m.warn(WarnDateRange)
	}
}

// Believable reports whether mail can have this date. The first day of 1980 is
// what an unset clock shows; without a now the end of 32-bit time is the limit.
func Believable(date, now time.Time) bool {
	first, last := time.Date(1980, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(2038, 1, 19, 0, 0, 0, 0, time.UTC)
	if !now.IsZero() {
		last = now.Add(48 * time.Hour)
	}
	return !date.Before(first) && !date.After(last)
}

func newestReceived(h header) (newest time.Time) {
	for _, value := range h.all(kindReceived) {
		if i := strings.LastIndexByte(value, ';'); i >= 0 {
			if t, _, ok := ParseDate(value[i+1:]); ok && t.After(newest) {
				newest = t
			}
		}
	}
	return newest
}

func (m *Message) readExchange(h header) {
	from := h.get(kindXFrom)
	if names := DisplayNames(from); len(names) > 0 {
		m.XFrom = names[0]
	}
	m.ExchangeID = exchangeID(from)
	m.XTo = strings.Clone(h.get(kindXTo))
	m.XFolder = shown(h.get(kindXFolder))
	if labels := h.get(kindLabels); labels != "" {
		m.Labels = splitLabels(shown(decodeWords(labels)))
	}
}

// splitLabels reads a list with commas and quotes, after decoding.
func splitLabels(s string) (labels []string) {
	r := csv.NewReader(strings.NewReader(s))
	r.LazyQuotes, r.TrimLeadingSpace = true, true
	fields, err := r.Read()
	if err != nil {
		fields = strings.Split(s, ",")
	}
	for _, label := range fields {
		if label = strings.TrimSpace(label); label != "" {
			labels = append(labels, label)
		}
	}
	return labels
}

func (m *Message) readBody(h header, body []byte) {
	r := reader{warn: m.warn, limit: &limit{parts: maxParts, bytes: maxWork*len(body) + freeWork}}
	r.entity(h, bytes.TrimPrefix(body, []byte("\ufeff")), 0, plainKind)
	m.Body = r.body()
	m.Attachments = r.attachments
	m.Quoted = quotedSpans(m.Body, senderWords(m))
	if len(m.Attachments) > 0 && strings.TrimSpace(m.Body) == "" {
		m.warn(WarnNoText)
	}
}
