package mail

import "testing"

func TestTopic(t *testing.T) {
	for _, tt := range []struct {
		in, topic string
		reply     bool
	}{
		{"Deal", "deal", false},
		{"RE: Fwd:  The  Deal", "the deal", true},
		{"Re[2]: deal", "deal", true},
		{"AW: deal", "deal", true},
		{"[list] Re: deal", "deal", true},
		{"[list] deal", "deal", false},
		{"Resume: Bo", "resume: bo", false},
		{"Re:", "", true},
		{"", "", false},
	} {
		if topic, reply := Topic(tt.in), IsReply(tt.in); topic != tt.topic || reply != tt.reply {
			t.Errorf("%q: %q, %v, want %q, %v", tt.in, topic, reply, tt.topic, tt.reply)
		}
	}
}
