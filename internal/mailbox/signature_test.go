package mailbox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/extract"
	"agentmill/internal/mail"
)

func TestSignature(t *testing.T) {
	for _, tt := range []struct {
		name, from, body string
		want             []string
	}{
		{
			"all of it", "dana.ruiz@falcon.example", "See you there.\n\nDana L. Ruiz\nDirector of Freight\nFalcon Partners Inc.\n1204 Alder Street\nOffice: 503-555-0101\nFax 503-555-0102\nCell: (503) 555-0103\n",
			[]string{"title: Director of Freight", "company: Falcon Partners Inc.", "address: 1204 Alder Street", "phone: 503-555-0101", "fax: 503-555-0102", "cell: (503) 555-0103"},
		},
		{"several on a line, each with its word", "druiz@falcon.example", "Thanks,\nDana Ruiz\nTel: 503-555-0101 Fax: 503-555-0102\n", []string{"phone: 503-555-0101", "fax: 503-555-0102"}},
		{"several on a line, without words", "druiz@falcon.example", "Dana Ruiz\n503-555-0101 503-555-0102\n", nil},
		{"two telephones: which?", "druiz@falcon.example", "Dana Ruiz\n503-555-0101\n503-555-0102\n", nil},
		{"nobody's business", "druiz@falcon.example", "Dana Ruiz\nHome: 503-555-0101\n12 Alder Lane\n", nil},
		{"an extension is no number", "druiz@falcon.example", "Dana Ruiz\next. 4471\n", nil},
		{"the name of somebody else", "druiz@falcon.example", "Please call\nPeter Marsh\n503-555-0101\n", nil},
		{"what others wrote below", "druiz@falcon.example", "Fine.\n-----Original Message-----\nDana Ruiz\n503-555-0101\n", nil},
		{"prose follows", "druiz@falcon.example", "Dana Ruiz\nwill be out of the office from Monday on and can be reached all week at\n503-555-0101\n", nil},
	} {
		var got []string
		d := newDoc(&mail.Email{From: tt.from, Body: tt.body})
		for _, s := range d.Signature() {
			got = append(got, s.What+": "+s.Value)
			if block := tt.body[s.Block.Start:s.Block.End]; Fold(s.Fact.Text(tt.body)) != s.Value || block[:4] != "Dana" {
				t.Errorf("%s: fact %q in %q, want %q below the name", tt.name, s.Fact.Text(tt.body), block, s.Value)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// An unanswerable question must not be asked where a signature answers it.
func TestAnsweringReadsSignatures(t *testing.T) {
	e := &mail.Email{MessageID: "a", From: "dana.ruiz@falcon.example", Body: "See you.\n\nDana Ruiz\n503-555-0101\nFax: 503-555-0102\n", Date: time.Date(2001, 3, 1, 9, 0, 0, 0, time.UTC)}
	b := New("ana@corvane.example", []*mail.Email{e})
	for q, want := range map[string]string{
		"What is Dana Ruiz's phone number?": "503-555-0101", "What is Dana Ruiz's fax number?": "503-555-0102",
		"What is Dana Ruiz's cell phone number?": "", "What is Peter Ruiz's phone number?": "",
	} {
		got := b.Answering(Asked{Question: q, Answer: "I don't know", Kind: extract.Phone})
		if (len(got) > 0) != (want != "") || len(got) > 0 && got[0].Value != want {
			t.Errorf("Answering(%q) = %v, want %q", q, got, want)
		}
	}
}
