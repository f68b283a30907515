package mail_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/mail"
)

const exchange = `Message-ID: <1.1075@example.com>
Date: Wed, 13 Dec 2000 18:41:00 -0800 (PST)
From: ana.reed@example.com
To: bo.kim@example.com, 
	eve.lund@example.com
Subject: RE:  the
	curve
Cc: cy@example.com
Mime-Version: 1.0
Content-Type: text/plain; charset=us-ascii
Content-Transfer-Encoding: 7bit
Bcc: cy@example.com
X-From: Reed, Ana </O=EXAMPLE/OU=NA/CN=RECIPIENTS/CN=AREED>
X-To: Kim, Bo </O=EXAMPLE/OU=NA/CN=RECIPIENTS/CN=BKIM>, Lund, Eve </O=EXAMPLE/CN=ELUND>
X-Folder: \Ana_Reed_Dec2000\Notes Folders\All documents
X-Origin: Reed-A

Fine.

 -----Original Message-----
From: Kim, Bo
Subject: the curve

4.10?
`

func TestParse(t *testing.T) {
	own := len("Fine.\n\n")
	body := exchange[strings.Index(exchange, "Fine."):]
	want := &mail.Message{
		Email: mail.Email{
			MessageID: "<1.1075@example.com>", Date: time.Date(2000, 12, 14, 2, 41, 0, 0, time.UTC), DateSource: "header",
			From: "ana.reed@example.com", To: []string{"bo.kim@example.com", "eve.lund@example.com"}, Cc: []string{"cy@example.com"},
			Subject: "RE: the curve", Body: body, Quoted: []mail.Span{{Start: own, End: len(body)}},
		},
		XFrom: "Reed, Ana", XTo: "Kim, Bo </O=EXAMPLE/OU=NA/CN=RECIPIENTS/CN=BKIM>, Lund, Eve </O=EXAMPLE/CN=ELUND>", ExchangeID: "areed", XFolder: `\Ana_Reed_Dec2000\Notes Folders\All documents`,
	}
	got, err := mail.Parse([]byte(exchange), mail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseMIME(t *testing.T) {
	for _, tt := range []struct {
		name, raw, body string
		attachments     []mail.Attachment
		warnings        []string
	}{
		{
			"plain before HTML", "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>html\n--b\nContent-Type: text/plain\n\nplain\n--b--\n",
			"plain", nil, nil,
		},
		{
			"HTML where the plain part is empty", "Content-Type: multipart/alternative; boundary=b\n\n--b\n\n \n--b\nContent-Type: text/html\n\n<p>html\n--b--\n",
			"html\n", nil, nil,
		},
		{
			"an attachment and two texts", "Content-Type: multipart/mixed; boundary=\"b b\"\n\n--b b\n\none\n--b b\nContent-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\nSGVsbG8=\n--b b\n\ntwo\n--b b--\n",
			"one\ntwo",
			[]mail.Attachment{{Name: "a.pdf", Type: "application/pdf", Size: 5}},
			nil,
		},
		{
			"a text file is an attachment", "Content-Type: text/plain\nContent-Disposition: attachment; filename*=utf-8''caf%C3%A9.txt\n\ntext",
			"",
			[]mail.Attachment{{Name: "café.txt", Type: "text/plain", Size: 4}},
			[]string{mail.WarnNoText},
		},
		{
			"a message within", "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\n\nFrom: bo@x\nSubject: old\n\nold text\n--b--\n",
			"---------- Forwarded message ----------\nFrom: bo@x\nSubject: old\n\nold text", nil, nil,
		},
		{"quoted-printable UTF-8, CRLF", "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: Quoted-Printable\r\n\r\ncaf=C3=A9=\r\n s\r\nx\r\n", "café s\nx\n", nil, nil},
		{"a boundary that is not there", "Content-Type: multipart/mixed; boundary=b\n\ntext\n", "text\n", nil, []string{mail.WarnBoundary}},
		{"multipart without a boundary", "Content-Type: multipart/mixed\n\ntext\n", "text\n", nil, nil},
		{"a type that is none", "Content-Type: text\n\nbody\n", "body\n", nil, []string{mail.WarnContentType}},
		{"NUL", "Subject: x\n\na\x00b\n", "ab\n", nil, []string{mail.WarnNul}},
		{"a digest", "Content-Type: multipart/digest; boundary=b\n\n--b\n\nFrom: bo@x\nSubject: one\n\ntext\n--b--\n", "---------- Forwarded message ----------\nFrom: bo@x\nSubject: one\n\ntext", nil, nil},
		{
			"an invitation", "Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n--b\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\n--b--\n",
			"text",
			[]mail.Attachment{{Type: "text/calendar", Size: 15}},
			nil,
		},
		{
			"a file in the text", "\nsee below\nbegin 644 cat.txt\n#0V%T\n`\nend\nbye\n", "see below\nbye\n",
			[]mail.Attachment{{Name: "cat.txt", Type: "text/plain", Size: 3}},
			nil,
		},
		{"text that says it is base64", "Content-Transfer-Encoding: base64\n\nThis is, in fact, plain text.\n", "This is, in fact, plain text.\n", nil, []string{mail.WarnBase64}},
		{"HTML that names its charset itself", "Content-Type: text/html\n\n<meta charset=koi8-r><p>\xd0\xd2\xc9\n", "при\n", nil, nil},
		{"the charset says UTF-8 and is not", "Content-Type: text/plain; charset=utf-8\n\ncaf\xe9 \xe0\n", "café à\n", nil, []string{mail.WarnWrongCharset}},
		{"unknown charset", "Content-Type: text/plain; charset=x-unheard\n\ncaf\xe9\n", "café\n", nil, []string{mail.WarnCharset}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := mail.Parse([]byte("Message-ID: <a@x>\nFrom: a@x\nDate: 5 Mar 2001 10:00:00 +0000\n"+tt.raw), mail.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.body, m.Body); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.attachments, m.Attachments); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.warnings, m.Warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseDateLadder(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	envelope := time.Date(2001, 1, 2, 0, 0, 0, 0, time.UTC)
	const received = "Received: from a by b; Fri, 5 Feb 2021 22:05:02 +0800\nReceived: from c by a; Fri, 5 Feb 2021 22:05:01 +0800\n"
	for _, tt := range []struct {
		name, header string
		envelope     time.Time
		want, source string
		warnings     []string
	}{
		{"header", "Date: 5 Mar 2001 10:00:00 +0000\n" + received, envelope, "2001-03-05T10:00:00Z", "header", nil},
		{"newest Received", received, envelope, "2021-02-05T14:05:02Z", "received", []string{mail.WarnDateMissing}},
		{"envelope", "Date: soon\n", envelope, "2001-01-02T00:00:00Z", "envelope", []string{mail.WarnDateMissing}},
		{"none", "", time.Time{}, "0001-01-01T00:00:00Z", "none", []string{mail.WarnDateMissing}},
		{"a bad zone counts after Received", "Date: 5 Mar 2001 10:00:00 -0-200\n" + received, envelope, "2021-02-05T14:05:02Z", "received", []string{mail.WarnBadZone}},
		{"a bad zone is better than the envelope", "Date: 5 Mar 2001 10:00:00 -0-200\n", envelope, "2001-03-05T10:00:00Z", "header", []string{mail.WarnBadZone}},
		{"the future", "Date: 4 Jan 2026 10:00:00 +0000\n", envelope, "2026-01-04T10:00:00Z", "header", []string{mail.WarnDateRange}},
		{"tomorrow", "Date: 2 Jan 2026 10:00:00 +0000\n", envelope, "2026-01-02T10:00:00Z", "header", nil},
		{"an unset clock", "Date: 1 Jan 1980 00:00:00 +0000\n", envelope, "1980-01-01T00:00:00Z", "header", []string{mail.WarnDateRange}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := mail.Parse([]byte("Message-ID: <a@x>\nFrom: a@x\n"+tt.header+"\n"), mail.Options{Now: now, Envelope: tt.envelope})
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Date.Format(time.RFC3339); got != tt.want || m.DateSource != tt.source || !slices.Equal(m.Warnings, tt.warnings) {
				t.Errorf("%s from %s with %v, want %s from %s with %v", got, m.DateSource, m.Warnings, tt.want, tt.source, tt.warnings)
			}
		})
	}
}

func TestParseHeaders(t *testing.T) {
	raw := "Message-ID: <1@x>\nMessage-ID: <2@x>\nFrom: =?UTF-8?Q?K=C3=A5re?= <K@x>\nFrom: forged@x\nTo: a@x\nTo: b@x\n" +
		"Subject: =?iso-8859-1?q?caf=E9?= =?UTF-8?B?w6k=?=\nIn-Reply-To: Bo's of Monday <0@x>\nReferences: <r1@x>\n <r2@x>\n" +
		"Delivered-To: k@x\nX-GM-THRID: 159\nX-Gmail-Labels: =?UTF-8?Q?=C3=85pnet,\"A,_B\"?=\nDate: 5 Mar 2001 10:00:00 +0000\n\n"
	m, err := mail.Parse([]byte(raw), mail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := &mail.Message{FromName: "Kåre", Delivered: "k@x", Email: mail.Email{
		MessageID: "<1@x>", Date: time.Date(2001, 3, 5, 10, 0, 0, 0, time.UTC), DateSource: "header", From: "k@x", To: []string{"a@x", "b@x"},
		Subject: "caféé", InReplyTo: "<0@x>", References: []string{"<r1@x>", "<r2@x>"}, ThreadID: "159", Labels: []string{"Åpnet", "A, B"},
		Warnings: []string{mail.WarnDuplicate},
	}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
}

// TestParseRawHeader reads 8-bit headers in the charset of the message.
func TestParseRawHeader(t *testing.T) {
	m, err := mail.Parse([]byte("Message-ID: <1@x>\nFrom: \"\xd0\xd2\xc9\" <a@x>\nSubject: \xd0\xd2\xc9\x1b[2J\nContent-Type: text/plain; charset=koi8-r\n\n\xd0\n"), mail.Options{})
	if err != nil || m.Subject != "при [2J" || m.FromName != "при" || m.Body != "п\n" {
		t.Errorf("subject %q, name %q, body %q, %v", m.Subject, m.FromName, m.Body, err)
	}
}

// TestParseExchangeRecipients takes recipients from X-To where To is empty.
func TestParseExchangeRecipients(t *testing.T) {
	m, err := mail.Parse([]byte("Message-ID: <1@x>\nX-From: Kim, Bo </O=EXAMPLE/CN=BKIM>\nX-To: All Traders@EXAMPLE, eve@example.org\nX-cc: \nSubject: x\n\n"), mail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"all.traders@example", "eve@example.org"}, m.To); diff != "" || m.From != "bo.kim@example" || m.Cc != nil || !slices.Contains(m.Warnings, mail.WarnXAddress) {
		t.Errorf("from %q, cc %v, warnings %v, to %s", m.From, m.Cc, m.Warnings, diff)
	}
}

func TestParseInventsID(t *testing.T) {
	const raw = "From: a@x\nSubject: no id\n\nbody\n"
	a, err := mail.Parse([]byte(raw), mail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := mail.Parse([]byte(raw+"more"), mail.Options{})
	if !strings.HasSuffix(a.MessageID, "@no-id.invalid>") || a.MessageID == b.MessageID || !slices.Contains(a.Warnings, mail.WarnNoMessageID) {
		t.Errorf("ids %s and %s, warnings %v", a.MessageID, b.MessageID, a.Warnings)
	}
}

func TestParseNoMessage(t *testing.T) {
	for _, raw := range []string{"", "\n\n\n", "hello", "# A README\n\nwith: a colon\n", "\x00\x01\x02"} {
		if m, err := mail.Parse([]byte(raw), mail.Options{}); !errors.Is(err, mail.ErrNoMessage) {
			t.Errorf("%q became %+v, %v", raw, m, err)
		}
	}
}

// FuzzParse checks what holds for every record: valid UTF-8 throughout, spans in
// order within the body, and an id.
func FuzzParse(f *testing.F) {
	f.Add([]byte(exchange))
	f.Add([]byte("From: a\nContent-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>\xff&#0;\n--b--"))
	f.Add([]byte("From: a\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\nRnJvbTogeA=="))
	f.Add([]byte("Subject: =?x?q?=FF?= =?utf-8?b?/w==?=\r\rX-To: </O=\r\rx"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := mail.Parse(raw, mail.Options{})
		if err != nil {
			return
		}
		texts := append([]string{m.MessageID, m.From, m.FromName, m.Subject, m.Body, m.XFrom, m.XFolder, m.InReplyTo, m.ThreadID, m.XTo}, slices.Concat(m.To, m.Cc, m.Bcc, m.References, m.Labels)...)
		for _, a := range m.Attachments {
			texts = append(texts, a.Name, a.Type)
		}
		for _, text := range texts {
			if !utf8.ValidString(text) {
				t.Fatalf("%q is no UTF-8", text)
			}
		}
		end := 0
		for _, span := range m.Quoted {
			if span.Start < end || span.End <= span.Start || span.End > len(m.Body) {
				t.Fatalf("spans %v in a body of %d bytes", m.Quoted, len(m.Body))
			}
			end = span.End
		}
		if m.MessageID == "" || strings.ContainsRune(m.Body, '\r') || strings.ContainsRune(m.Body, 0) {
			t.Fatalf("id %q, body %q", m.MessageID, m.Body)
		}
	})
}
