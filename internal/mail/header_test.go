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
		want      [][2]string
		body      string
		warnings  []string
	}{
		{"plain", "From: a@x\nTo: b@x\n\nbody\n", [][2]string{{"From", "a@x"}, {"To", "b@x"}}, "body\n", nil},
		{"CRLF in the header, LF in the body", "From: a@x\r\nTo: b@x\r\n\r\nbody\n", [][2]string{{"From", "a@x"}, {"To", "b@x"}}, "body\n", nil},
		{"folded", "To: a@x, \n\tb@x,\r\n  c@x\n\nbody", [][2]string{{"To", "a@x, b@x, c@x"}}, "body", nil},
		{"folded from nothing", "Subject:\n long\n\n", [][2]string{{"Subject", "long"}}, "", nil},
		{"blank lines before", "\n\r\nFrom: a@x\n\nbody", [][2]string{{"From", "a@x"}}, "body", nil},
		{"a separator before", "From a@x Mon Jan  1 00:00:00 2001\nFrom: a@x\n\nbody", [][2]string{{"From", "a@x"}}, "body", nil},
		{"a junk line inside", "From: a@x\nthis is no field\nSubject: s\n\nbody", [][2]string{{"From", "a@x"}, {"Subject", "s"}}, "body", []string{WarnHeaderJunk}},
		{"no blank line", "From: a@x\nHello Bo,\nthe curve moved.\n", [][2]string{{"From", "a@x"}}, "Hello Bo,\nthe curve moved.\n", []string{WarnNoBlankLine}},
		{"a blank before the colon", "Subject : s\n\n", [][2]string{{"Subject", "s"}}, "", nil},
		{"a line of blanks ends it", "From: a@x\n \t\nSubject: of the body\n", [][2]string{{"From", "a@x"}}, "Subject: of the body\n", nil},
		{"8-bit bytes are windows-1252", "Subject: caf\xe9\n\n", [][2]string{{"Subject", "café"}}, "", nil},
		{"a lone CR ends a line", "From: a@x\rTo: b@x\r\rbody", [][2]string{{"From", "a@x"}, {"To", "b@x"}}, "body", nil},
		{"no body", "From: a@x", [][2]string{{"From", "a@x"}}, "", nil},
		{"nothing", "", nil, "", nil},
		{"no header", "Hello Bo\n", nil, "Hello Bo\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var warnings []string
			h, body := readHeader([]byte(tt.raw), func(w string) { warnings = append(warnings, w) })
			var want header
			for _, f := range tt.want {
				want = append(want, field{kindOf([]byte(f[0])), f[1]})
			}
			if diff := cmp.Diff(want, h, cmp.AllowUnexported(field{})); diff != "" {
				t.Error(diff)
			}
			if string(body) != tt.body || !slices.Equal(warnings, tt.warnings) {
				t.Errorf("body %q, warnings %v, want %q, %v", body, warnings, tt.body, tt.warnings)
			}
		})
	}
}

func TestHeaderGetIsFirstAndFolded(t *testing.T) {
	h, _ := readHeader([]byte("TO: a\nto: b\n\n"), func(string) {})
	if h.get(kindTo) != "a" || strings.Join(h.all(kindTo), " ") != "a b" || h.get(kindCc) != "" {
		t.Errorf("get %q, all %v", h.get(kindTo), h.all(kindTo))
	}
}
