package grammar

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"
)

// pieces are all bytes and some longer tokens; the first is a control token.
func pieces() []string {
	out := []string{""}
	for b := range 256 {
		out = append(out, string([]byte{byte(b)}))
	}
	return append(out, "ab", "abc", `{"`, `"}`, `": "`, "name", "é", "éa", "\xe2\x82", "12", "search ", " from:", "x|", "\n\n", `\"`, "true")
}

var patterns = []string{
	`a`, `ab|abc|b+`, `(ab)*c`, `[a-c]{2,4}x?`, `[^\x00-\x7f]+a`, `"([^"\\\x00-\x1f]|\\["\\])*"`,
	`\{"name": ?"(abc|ab12)", ?"x": ?(true|-?[0-9]{1,3})\}`, `search [!-~]+( from:[!-~]+)?`, "<t>\n[a-z]+\n</t>",
}

// TestWritten: whatever is drawn among the allowed tokens matches, within the
// tokens that were left, and every token that can go on is allowed.
func TestWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, pattern := range patterns {
		whole := regexp.MustCompile(`^(?s:` + pattern + `)$`)
		m, err := New(pattern, pieces())
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			left := m.Least() + rng.IntN(12)
			text, s := "", State(0)
			for {
				fits := slices.DeleteFunc(slices.Clone(m.Allowed(s)), func(c Choice) bool { return c.Left > left-1 })
				if m.End(s) && (len(fits) == 0 || rng.IntN(4) == 0) {
					break
				}
				if len(fits) == 0 {
					t.Fatalf("%s: nothing may follow %q with %d tokens left", pattern, text, left)
				}
				c := fits[rng.IntN(len(fits))]
				text += m.pieces[c.ID]
				s = m.Next(s, c.ID)
				left--
			}
			// The decoder makes broken characters U+FFFD, which match as any other.
			if !whole.MatchString(string([]rune(text))) {
				t.Errorf("%s: wrote %q, which does not match", pattern, text)
			}
		}
	}
}

// TestAllowed compares with trying every token.
func TestAllowed(t *testing.T) {
	for _, pattern := range patterns {
		m, err := New(pattern, pieces())
		if err != nil {
			t.Fatal(err)
		}
		s := State(0)
		for range 6 {
			var want, got []int32
			for id, piece := range m.pieces {
				if piece != "" && m.Next(s, int32(id)) != dead {
					want = append(want, int32(id))
				}
			}
			for _, c := range m.Allowed(s) {
				got = append(got, c.ID)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: allowed %v, want %v", pattern, got, want)
			}
			if len(want) == 0 {
				break
			}
			s = m.Next(s, want[len(want)-1])
		}
	}
}

func TestLeast(t *testing.T) {
	for pattern, want := range map[string]int{`a*`: 0, `abc`: 1, `abcab|zzzzzz`: 2, `\{"name": "x"\}`: 5, `é`: 1} {
		m, err := New(pattern, pieces())
		if err != nil {
			t.Fatal(err)
		}
		if m.Least() != want {
			t.Errorf("%s takes %d tokens at least, want %d", pattern, m.Least(), want)
		}
	}
}

func TestRefused(t *testing.T) {
	letters := []string{"a", "b"}
	for _, tt := range []struct {
		pattern string
		pieces  []string
	}{
		{`(`, letters}, {`^a$`, letters}, {`[^\x00-\x{10FFFF}]`, letters}, {`ac`, letters},
	} {
		if _, err := New(tt.pattern, tt.pieces); err == nil {
			t.Errorf("pattern %q over %q is taken", tt.pattern, tt.pieces)
		}
	}
}

// TestCharacters: no text ends within a character.
func TestCharacters(t *testing.T) {
	m, err := New(`[^\x00-\x7f]+`, pieces())
	if err != nil {
		t.Fatal(err)
	}
	s := State(0)
	for i, b := range []byte("é€") {
		s = m.text.step(s, b)
		if got, want := m.End(s), utf8.ValidString("é€"[:i+1]); got != want {
			t.Errorf("after %q a text may end: %v, want %v", "é€"[:i+1], got, want)
		}
	}
}
