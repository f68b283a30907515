package near_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agentmill/internal/mail"
	"agentmill/internal/near"
	"agentmill/internal/numtest"
)

const (
	letter = "The deal closes on Friday at noon in the small room on the third floor. Please bring the signed pages and two copies, and tell Bo that the lawyers want to see the annex before we send it to the bank."
	other  = "Thanks for lunch yesterday. The weather was kind to us, and the children still talk about the boat. We should do this again in the summer, when Eve is back from her trip to the north."
)

func mailOf(subject, own, quoted string) *mail.Email {
	e := &mail.Email{Subject: subject, Body: own + quoted}
	if quoted != "" {
		e.Quoted = []mail.Span{{Start: len(own), End: len(own + quoted)}}
	}
	return e
}

func TestNearMails(t *testing.T) {
	const short = "The deal closes Friday at noon. Bring the signed pages."
	history := "\n-----Original Message-----\nFrom: Bo\n\n" + other
	for _, tt := range []struct {
		name string
		a, b *mail.Email
		near bool
	}{
		{"wrapped, quoted, in capitals", mailOf("x", letter, ""), mailOf("y", strings.ToUpper(strings.ReplaceAll(letter, " the", "\n> the")), ""), true},
		{"a footer behind", mailOf("x", letter, ""), mailOf("y", letter+" To leave this list go away.", ""), true},
		{"another text", mailOf("x", letter, ""), mailOf("x", other, ""), false},
		{"a reply with its own text is not near what it quotes", mailOf("x", other, ""), mailOf("RE: x", letter, history), false},
		{"a forward without a word of its own is", mailOf("x", other, ""), mailOf("FW: x", "", history), true},
		{"one word before a forward", mailOf("x", other, ""), mailOf("FW: x", "Ha.\n", history), false},
		{"short, from a list", mailOf("Deal", short, ""), mailOf("[list] Deal", short+"\n_______\nlist footer", ""), true},
		{"short, of another matter", mailOf("Deal", short, ""), mailOf("Lunch", short, ""), false},
		{"short, on another history", mailOf("Deal", short, history), mailOf("Deal", short, "\n> "+letter), false},
		{"too short to tell", mailOf("Deal", "Fine with me, Bo.", ""), mailOf("Deal", "Fine with me, Bo.", ""), false},
		{"nothing", mailOf("", "", ""), mailOf("", "", ""), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var x near.Index
			x.Add(7, near.PrintOf(tt.a))
			id, got := x.Find(near.PrintOf(tt.b))
			if got != tt.near || got && id != 7 {
				t.Errorf("near: %v (%d), want %v", got, id, tt.near)
			}
		})
	}
}

// TestIndexTakesTheMostLike prefers the likest, then the first.
func TestIndexTakesTheMostLike(t *testing.T) {
	var x near.Index
	x.Add(1, near.PrintOf(mailOf("", letter+" And more of it.", "")))
	x.Add(2, near.PrintOf(mailOf("", letter, "")))
	x.Add(3, near.PrintOf(mailOf("", letter, "")))
	if id, ok := x.Find(near.PrintOf(mailOf("", letter, ""))); !ok || id != 2 {
		t.Errorf("%d, %v, want 2", id, ok)
	}
}

func numbered(from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d ", from+i)
	}
	return b.String()
}

func TestLikeness(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b string
		want float64
		tol  float64
	}{
		{"equal", letter, letter, 1, 0},
		{"nothing in common", letter, other, 0, 0},
		{"half of a short text, exactly", numbered(0, 22), numbered(10, 22), 10. / 30, 1e-9},
		{"half of a long text, estimated", numbered(0, 2000), numbered(500, 2000), 1500. / 2500, .15},
		{"one word", "yes", "Yes!", 1, 0},
		{"empty", "", letter, 0, 0},
		{"both empty", "", "", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := near.Of(tt.a), near.Of(tt.b)
			numtest.Close(t, "likeness", []float64{a.Likeness(b), b.Likeness(a)}, []float64{tt.want, tt.want}, numtest.Tol{Abs: tt.tol})
		})
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		name, part, whole string
		want              float64
	}{
		{"whole", letter, other + " " + letter + " " + other, 1},
		{"not at all", letter, other, 0},
		{"in a long one", numbered(300, 200), numbered(0, 1000), 1},
		{"empty", "", letter, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, on := near.Of(tt.part).Within(near.Of(tt.whole))
			if numtest.Close(t, "share", []float64{got}, []float64{tt.want}, numtest.Tol{}); tt.want > 0 && on < 3 {
				t.Errorf("rests on %d hashes", on)
			}
		})
	}
}

// TestSketchIgnoresOrder checks N2's use: the order in which mails are added
// does not matter to whether something near is found.
func TestSketchIgnoresOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for i := range 200 {
		texts = append(texts, numbered(100*i, 60))
	}
	rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	var x near.Index
	for i, text := range texts {
		if j, ok := x.Find(near.PrintOf(mailOf("", text, ""))); ok {
			t.Fatalf("%d is near %d", i, j)
		}
		x.Add(i, near.PrintOf(mailOf("", text, "")))
	}
	for i, text := range texts {
		if j, ok := x.Find(near.PrintOf(mailOf("", text+"and two words", ""))); !ok || i != j {
			t.Fatalf("%d is near %d, %v", i, j, ok)
		}
	}
}
