package ingest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/mail"
)

func TestCompareNatural(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"x/2.", "x/10.", -1}, {"x/10.", "x/2.", 1}, {"x/010.", "x/10.", 0}, {"a", "b", -1}, {"a", "a1", -1}, {"a1b", "a1b", 0}, {"99999999999999999999", "100000000000000000000", -1}, {"", "", 0},
	} {
		if got := compareNatural(tt.a, tt.b); got != tt.want {
			t.Errorf("compareNatural(%s, %s) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestSamePerson(t *testing.T) {
	for _, tt := range []struct {
		name, address string
		want          bool
	}{
		{"Reed, Kenneth M.", "ken.reed@x", true},
		{"Ken Reed", "kenneth.reed@x", true},
		{"Mike Reed", "michael.reed@x", true},
		{"Bob Reed", "robert.reed@x", true},
		{"Ken Reed", "kent.reed@x", true},
		{"Ann Reed", "ken.reed@x", false},
		{"Ken Lund", "ken.reed@x", false},
		{"Ken", "ken.reed@x", false},
		{"", "ken.reed@x", false},
	} {
		p, ok := personOf(tt.address)
		if got := ok && p.same(nameOf(tt.name)); got != tt.want {
			t.Errorf("%q and %s: %v, want %v", tt.name, tt.address, got, tt.want)
		}
	}
	for _, address := range []string{"areed@x", "a..reed@x", ".reed@x", "a.reed@x", "@", ""} {
		if p, ok := personOf(address); ok {
			t.Errorf("%q was read as %v", address, p)
		}
	}
}

// whos are mailboxes with what their mail says about their owners.
type whos map[string]*identity

func (w whos) names() []string { return slices.Sorted(maps.Keys(w)) }

func (w whos) identity(name string) (*identity, error) { return w[name], nil }

func TestSharedAliasIsNobodys(t *testing.T) {
	boxes := whos{}
	for name, first := range map[string]string{"reed-a": "ana", "reed-b": "ben"} {
		boxes[name] = newIdentity()
		for _, to := range []string{first + ".reed@x", "team@x"} {
			boxes[name].see(&mail.Message{Email: mail.Email{From: "eve@x", To: []string{to}}, XTo: first + " Reed"})
		}
	}
	owners, err := identify(boxes, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range owners {
		if len(o.Aliases) > 0 {
			t.Errorf("%s has aliases %v: both lay claim to team@x", o.Owner, o.Aliases)
		}
	}
	owners, err = identify(boxes, map[string]string{"reed-b": "ana.reed@x"})
	if err != nil || len(owners) != 1 || owners[0].Owner != "ana.reed@x" {
		t.Errorf("two mailboxes of one named owner became %v, %v", owners, err)
	}
}

func TestThread(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, day) }
	const me, bo, cy = "me@x", "bo@x", "cy@x"
	emails := []*mail.Email{
		{MessageID: "<root>", Date: at(0), From: bo, To: []string{me}, Subject: "curve"},
		{MessageID: "<reply>", Date: at(1), From: me, To: []string{bo}, Subject: "RE: curve"},
		{MessageID: "<again>", Date: at(2), From: bo, To: []string{me}, Subject: "curve"},
		{MessageID: "<other>", Date: at(3), From: cy, To: []string{me}, Subject: "Re: Curve"},
		{MessageID: "<late>", Date: at(60), From: bo, To: []string{me}, Subject: "Re: curve"},
		{MessageID: "<ref>", Date: at(61), From: cy, To: []string{me}, Subject: "new", References: []string{"<gone>", "<reply>"}},
		{MessageID: "<ref2>", Date: at(62), From: cy, To: []string{me}, Subject: "newer", InReplyTo: "<gone>"},
		{MessageID: "<own>", Date: at(63), From: cy, To: []string{me}, Subject: "x", ThreadID: "159"},
		{MessageID: "<fwd>", Date: at(64), From: me, To: []string{me}, Subject: "FW: Re[2]: curve"},
	}
	thread(emails, map[string]bool{me: true})
	got := map[string]string{}
	for _, e := range emails {
		got[e.MessageID] = e.ThreadID
	}
	want := map[string]string{
		"<root>": "<root>", "<reply>": "<root>", "<again>": "<again>", "<other>": "<other>", "<late>": "<late>",
		"<ref>": "<root>", "<ref2>": "<root>", "<own>": "159", "<fwd>": "<late>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
