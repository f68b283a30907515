package mail

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"regexp"
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
	XFrom    string   // Exchange's display names
	XTo      []string // likewise
	ExchangeID,
	XFolder string // Enron: the folder in the original mail system
	// Delivered is the address that the mail was delivered to, where a server
	// noted it.
	Delivered string
}

// Options are what Parse is told beyond the bytes.
type Options struct {
	// Now bounds believable dates: those more than two days later are flagged.
	Now time.Time
	// Envelope is the date of the mbox separator, for a message without one.
	Envelope time.Time
}

// Parse reads one message from its RFC 5322 bytes. It fails only with
// ErrNoMessage; every other damage is a warning of the record.
func Parse(raw []byte, opt Options) (*Message, error) {
	m := &Message{}
	h, body := readHeader(raw, m.warn)
	if !slices.ContainsFunc(h, func(f field) bool { return isKnown(f.name) }) {
		return nil, ErrNoMessage
	}
	m.warnDuplicates(h)
	m.readAddresses(h)
	m.readIDs(h)
	m.readDate(h, opt)
	m.readExchange(h)
	m.Subject = strings.Join(strings.Fields(decodeWords(h.get("Subject"))), " ")
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
	var seen [6]bool
	for _, f := range h {
		for i, name := range [...]string{"Message-ID", "Date", "From", "Subject", "Content-Type", "Content-Transfer-Encoding"} {
			if strings.EqualFold(f.name, name) {
				if seen[i] {
					m.warn(WarnDuplicate)
				}
				seen[i] = true
			}
		}
	}
}

// readAddresses fills the parties. CMU's Enron repeats Cc as Bcc in every
// message, so a Bcc that equals Cc is left out.
func (m *Message) readAddresses(h header) {
	from := h.get("From")
	if list := ParseAddresses(from); len(list) > 0 {
		m.From, m.FromName = list[0].Addr, list[0].Name
	} else if from != "" {
		m.From = strings.ToLower(strings.Trim(decodeWords(from), " \"'<>"))
		m.warn(WarnAddress)
	}
	m.To, m.Cc, m.Bcc = addressList(h, "To"), addressList(h, "Cc"), addressList(h, "Bcc")
	if slices.Equal(m.Cc, m.Bcc) {
		m.Bcc = nil
	}
	if list := ParseAddresses(h.get("Delivered-To")); len(list) > 0 {
		m.Delivered = list[0].Addr
	}
}

// addressList joins repeated headers of one name.
func addressList(h header, name string) (list []string) {
	for _, value := range h.all(name) {
		for _, a := range ParseAddresses(value) {
			list = append(list, a.Addr)
		}
	}
	return list
}

var idToken = regexp.MustCompile(`<[^<>\s]+>`)

func (m *Message) readIDs(h header) {
	m.MessageID = messageID(h.get("Message-ID"))
	m.InReplyTo = idToken.FindString(h.get("In-Reply-To"))
	if references := h.get("References"); references != "" {
		m.References = idToken.FindAllString(references, -1)
	}
	m.ThreadID = strings.TrimSpace(h.get("X-GM-THRID"))
}

func messageID(value string) string {
	if id := idToken.FindString(value); id != "" {
		return id
	}
	return strings.Join(strings.Fields(value), "")
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
	date, warnings, ok := ParseDate(h.get("Date"))
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
	if !believable(m.Date, opt.Now) {
		m.warn(WarnDateRange)
	}
}

// believable reports whether mail can have this date. The first day of 1980 is
// what an unset clock shows; without a now the end of 32-bit time is the limit.
func believable(date, now time.Time) bool {
	first, last := time.Date(1980, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(2038, 1, 19, 0, 0, 0, 0, time.UTC)
	if !now.IsZero() {
		last = now.Add(48 * time.Hour)
	}
	return !date.Before(first) && !date.After(last)
}

func newestReceived(h header) (newest time.Time) {
	for _, value := range h.all("Received") {
		if i := strings.LastIndexByte(value, ';'); i >= 0 {
			if t, _, ok := ParseDate(value[i+1:]); ok && t.After(newest) {
				newest = t
			}
		}
	}
	return newest
}

var exchangeID = regexp.MustCompile(`(?i)/CN=([^/>]+)>\s*$`)

func (m *Message) readExchange(h header) {
	from := h.get("X-From")
	if names := exchangeNames(from); len(names) > 0 {
		m.XFrom = names[0]
	}
	if id := exchangeID.FindStringSubmatch(from); id != nil {
		m.ExchangeID = strings.ToLower(id[1])
	}
	m.XTo = exchangeNames(h.get("X-To"))
	m.XFolder = h.get("X-Folder")
	if labels := h.get("X-Gmail-Labels"); labels != "" {
		m.Labels = splitLabels(decodeWords(labels))
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
	r := reader{warn: m.warn}
	r.entity(h, bytes.TrimPrefix(body, []byte("\ufeff")), 0)
	m.Body = r.text.String()
	m.Attachments = r.attachments
	m.Quoted = quotedSpans(m.Body)
	if strings.TrimSpace(m.Body) == "" && len(m.Attachments) > 0 {
		m.warn(WarnNoText)
	}
}
