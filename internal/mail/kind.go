package mail

import "bytes"

// A kind is the name of a header field that this package reads or knows.
type kind uint8

const (
	other kind = iota
	known      // a field of mail that is not read
	kindSubject
	kindFrom
	kindSender
	kindTo
	kindCc
	kindBcc
	kindDate
	kindMessageID
	kindInReplyTo
	kindReferences
	kindReceived
	kindDelivered
	kindContentType
	kindEncoding
	kindDisposition
	kindXFrom
	kindXTo
	kindXCc
	kindXBcc
	kindXFolder
	kindLabels
	kindThread
)

var kinds = map[string]kind{
	"subject": kindSubject, "from": kindFrom, "sender": kindSender, "to": kindTo, "cc": kindCc, "bcc": kindBcc,
	"date": kindDate, "message-id": kindMessageID, "in-reply-to": kindInReplyTo, "references": kindReferences,
	"received": kindReceived, "delivered-to": kindDelivered, "reply-to": known, "mime-version": known,
	"return-path": known, "resent-from": known, "resent-to": known, "resent-date": known,
	"content-type": kindContentType, "content-transfer-encoding": kindEncoding, "content-disposition": kindDisposition,
	"x-from": kindXFrom, "x-to": kindXTo, "x-cc": kindXCc, "x-bcc": kindXBcc, "x-folder": kindXFolder,
	"x-gmail-labels": kindLabels, "x-gm-thrid": kindThread,
}

// kindOf looks a field's name up in any letter case.
func kindOf(name []byte) kind {
	var buf [32]byte
	if len(name) > len(buf) {
		if isFamily(name) {
			return known
		}
		return other
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	if k := kinds[string(buf[:len(name)])]; k != other {
		return k
	}
	if isFamily(buf[:len(name)]) {
		return known
	}
	return other
}

// isFamily reports whether a name is one of mail's open families.
func isFamily(name []byte) bool {
	return hasFold(name, "x-") || hasFold(name, "content-")
}

func hasFold(name []byte, prefix string) bool {
	return len(name) >= len(prefix) && bytes.EqualFold(name[:len(prefix)], []byte(prefix))
}
