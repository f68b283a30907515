package mail

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadHeader(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		want      header
		body      string
		warnings  []string
	}{
		{"plain", "From: a@x\nTo: b@x\n\nbody\n", header{{"From", "a@x"}, {"To", "b@x"}}, "body\n", nil},
		{"CRLF in the header, LF in the body", "From: a@x\r\nTo: b@x\r\n\r\nbody\n", header{{"From", "a@x"}, {"To", "b@x"}}, "body\n", nil},
		{"folded", "To: a@x, \n\tb@x,\r\n  c@x\n\nbody", header{{"To", "a@x, b@x, c@x"}}, "body", nil},
		{"folded from nothing", "Subject:\n long\n\n", header{{"Subject", " long"}}, "", nil},
		{"blank lines before", "\n\r\nFrom: a@x\n\nbody", header{{"From", "a@x"}}, "body", nil},
		{"a separator before", "From a@x Mon Jan  1 00:00:00 2001\nFrom: a@x\n\nbody", header{{"From", "a@x"}}, "body", nil},
		{"a junk line inside", "From: a@x\nthis is no field\nSubject: s\n\nbody", header{{"From", "a@x"}, {"Subject", "s"}}, "body", []string{WarnHeaderJunk}},
		{"no blank line", "From: a@x\nHello Bo,\nthe curve moved.\n", header{{"From", "a@x"}}, "Hello Bo,\nthe curve moved.\n", []string{WarnNoBlankLine}},
		{"a blank before the colon", "Subject : s\n\n", header{{"Subject", "s"}}, "", nil},
		{"a line of blanks ends it", "From: a@x\n \t\nSubject: of the body\n", header{{"From", "a@x"}}, "Subject: of the body\n", nil},
		{"8-bit bytes are windows-1252", "Subject: caf\xe9\n\n", header{{"Subject", "café"}}, "", nil},
		{"a lone CR ends a line", "From: a@x\rTo: b@x\r\rbody", header{{"From", "a@x"}, {"To", "b@x"}}, "body", nil},
		{"no body", "From: a@x", header{{"From", "a@x"}}, "", nil},
		{"nothing", "", nil, "", nil},
		{"no header", "Hello Bo\n", nil, "Hello Bo\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var warnings []string
			h, body := readHeader([]byte(tt.raw), func(w string) { warnings = append(warnings, w) })
			if diff := cmp.Diff(tt.want, h, cmp.AllowUnexported(field{})); diff != "" {
				t.Error(diff)
			}
			if string(body) != tt.body || !slices.Equal(warnings, tt.warnings) {
				t.Errorf("body %q, warnings %v, want %q, %v", body, warnings, tt.body, tt.warnings)
			}
		})
	}
}

func TestHeaderGetIsFirstAndFolded(t *testing.T) {
	h := header{{"TO", "a"}, {"to", "b"}}
	if h.get("To") != "a" || strings.Join(h.all("to"), " ") != "a b" || h.get("Cc") != "" {
		t.Errorf("get %q, all %v", h.get("To"), h.all("to"))
	}
}
