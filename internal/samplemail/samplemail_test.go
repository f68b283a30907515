package samplemail

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"strings"
	"testing"

	"agentmill/internal/seed"
)

func TestSameSeedSameBytes(t *testing.T) {
	sum := func(seed uint64) [32]byte {
		var b bytes.Buffer
		if _, err := Write(&b, Config{Seed: seed, Inboxes: 3, Messages: 200}); err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(b.Bytes())
	}
	once, again := sum(5), sum(5)
	if once != again {
		t.Error("two archives of seed 5 differ")
	}
	if once == sum(6) {
		t.Error("archives of seeds 5 and 6 are equal")
	}
}

// TestDefault checks the sizes that the pipelines count on.
func TestDefault(t *testing.T) {
	messages, err := Generate(Default)
	if err != nil {
		t.Fatal(err)
	}
	ids, boxes, kinds, topics, texts := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]int{}
	for i := range messages {
		m := &messages[i]
		ids[m.ID], boxes[m.Custodian], kinds[m.Kind], topics[m.Topic] = true, true, true, true
		texts[m.Custodian+"\x00"+m.Date.String()+m.Subject+m.Body]++
	}
	copies := 0
	for _, n := range texts {
		copies += n - 1
	}
	for _, tt := range []struct {
		what      string
		got, want int
	}{
		{"messages", len(messages), 4000},
		{"distinct Message-IDs", len(ids), len(messages)},
		{"mailboxes", len(boxes), 8},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %d, want %d", tt.what, tt.got, tt.want)
		}
	}
	if len(kinds) < 100 || len(topics) < 13 || copies < 500 {
		t.Errorf("%d kinds of message, %d topics, %d copies: want at least 100, 13, 500", len(kinds), len(topics), copies)
	}
}

// TestBodies checks that mails are as long as people write them, that every
// slot is filled, and that all domains are invented.
func TestBodies(t *testing.T) {
	messages, err := Generate(Config{Seed: 3, Inboxes: 4, Messages: 1600})
	if err != nil {
		t.Fatal(err)
	}
	facts, fit := 0, 0
	for i := range messages {
		m := &messages[i]
		if text := string(m.Bytes()); strings.ContainsAny(text, "{}\x00") {
			t.Errorf("%s has an open slot:\n%s", m.Path(), text)
		}
		for _, p := range append([]Person{m.From, m.To}, m.Cc...) {
			if !strings.HasSuffix(p.Address(), ".example") {
				t.Errorf("%s: address %s is outside .example", m.Path(), p.Address())
			}
		}
		if m.Topic == "noise" || m.Kind == "reply" || m.Kind == "forward" || m.Kind == "chatter" || m.Kind == "hearsay" || strings.HasSuffix(m.Kind, "-change") {
			continue
		}
		facts++
		if n := len(strings.Fields(m.Body)); n >= 35 && n <= 150 {
			fit++
		}
	}
	if facts < 400 || fit < facts*95/100 {
		t.Errorf("%d of %d mails with facts have 35 to 150 words: want 95 of 100", fit, facts)
	}
}

func TestHeaders(t *testing.T) {
	messages, err := Generate(Config{Seed: 1, Inboxes: 2, Messages: 100})
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(messages[0].Bytes()), "\n\n")
	for _, name := range []string{"Message-ID: <", "Date: ", "From: ", "To: ", "Subject: ", "X-From: ", "X-To: ", `X-Folder: \`, "X-Origin: ", "X-FileName: "} {
		if !strings.Contains("\n"+head, "\n"+name) {
			t.Errorf("header has no %q:\n%s", name, head)
		}
	}
}

func TestConfigCheck(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"one mailbox has nobody to test", Config{Inboxes: 1, Messages: 100}, "inboxes is 1"},
		{"too few messages for the mailboxes", Config{Inboxes: 4, Messages: 100}, "messages is 100"},
		{"more than there is to write about", Config{Inboxes: 2, Messages: 5000}, "messages is 5000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.cfg.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check() = %v, want an error with %q", err, tt.want)
			}
		})
	}
	if _, err := Generate(Config{Inboxes: 1}); err == nil {
		t.Error("Generate takes a Config that Check refuses")
	}
}

// TestEveryLineFills tries each line of each kind, so that a slot without
// values is found here and not by a user's seed.
func TestEveryLineFills(t *testing.T) {
	s, err := loadScript()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorlds(s, 1, 2)[0]
	b := &box{world: w, script: s, room: newPostroom([]*world{w}), rnd: seedStream(t), want: 1}
	for _, k := range append(append([]kind{}, s.kinds...), s.noise...) {
		for _, lines := range [][]string{k.subjects, k.facts, k.also, k.sides, k.changes, k.bodies} {
			for _, line := range lines {
				f := b.newFiller(k.key)
				if k.key != "" {
					f.value(k.key, "", "", "")
				}
				if text := f.fill(line); strings.ContainsAny(text, "{}") {
					t.Errorf("kind %s: %q is filled to %q", k.name, line, text)
				}
			}
		}
	}
}

func seedStream(t *testing.T) *rand.Rand {
	t.Helper()
	return seed.Stream(1, t.Name())
}
