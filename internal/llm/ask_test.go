package llm

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// A fake answers by replies one after the other, the last one for ever.
type fake struct {
	mu      sync.Mutex
	replies []Reply
	err     error
	hold    chan struct{} // if set, a request waits until it is closed
	got     []Request
}

func (*fake) Model() string { return "m" }

func (f *fake) Complete(ctx context.Context, r Request) (Reply, error) {
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
			return Reply{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, r)
	if f.err != nil {
		return Reply{}, f.err
	}
	return f.replies[min(len(f.got), len(f.replies))-1], nil
}

func (f *fake) requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.got)
}

func says(text string) Reply {
	return Reply{Text: text, Finish: chat.FinishStop, Usage: Usage{PromptTokens: 100, CompletionTokens: 10, CachedTokens: 40}, USD: .5, Retries: 1}
}

var verdict = &Schema{Name: "verdict", JSON: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["ok","scores"],
	"properties":{"ok":{"type":"boolean"},"why":{"type":["string","null"],"minLength":2},"kind":{"enum":["a","b"]},
	"scores":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"number","minimum":0,"maximum":1}}}}`)}

type opinion struct {
	OK     bool
	Why    *string
	Kind   string
	Scores []float64
}

func TestDecode(t *testing.T) {
	const good = `{"ok":true,"scores":[0.5]}`
	for _, tt := range []struct{ name, text, want string }{
		{"plain", good, ""},
		{"blanks around", "\n " + good + "\n", ""},
		{"in a fence", "```json\n" + good + "\n```", ""},
		{"after reasoning", "<think>{\"ok\":false}</think>\n" + good, ""},
		{"all fields", `{"ok":false,"scores":[0,1],"why":null,"kind":"b"}`, ""},
		{"nothing", "", "empty"},
		{"prose before", "Sure: " + good, "not JSON"},
		{"prose behind", good + " That is all.", "goes on"},
		{"two values", good + good, "goes on"},
		{"two fences", "```\n" + good + "\n```\n```\n" + good + "\n```", "not JSON"},
		{"cut", `{"ok":true,"scores":[0.5`, "not JSON"},
		{"a word for a truth value", `{"ok":"yes","scores":[0.5]}`, "reply.ok: want boolean"},
		{"a field is missing", `{"ok":true}`, "scores is missing"},
		{"a field too many", `{"ok":true,"scores":[0.5],"x":1}`, `"x" is not asked for`},
		{"a field twice", `{"ok":true,"ok":false,"scores":[0.5]}`, `"ok" stands twice`},
		{"out of range", `{"ok":true,"scores":[7]}`, "reply.scores[0]: 7 is more than 1"},
		{"below range", `{"ok":true,"scores":[-1]}`, "-1 is less than 0"},
		{"text for a number", `{"ok":true,"scores":["0.8x"]}`, "reply.scores[0]: want number"},
		{"too many", `{"ok":true,"scores":[1,1,1]}`, "has 3 entries"},
		{"too short", `{"ok":true,"scores":[1],"why":"x"}`, "shorter than 2"},
		{"no such kind", `{"ok":true,"scores":[1],"kind":"c"}`, "c is none of [a b]"},
		{"nested without end", strings.Repeat("[", 1_000_000), "nested too deep"},
		{"a list for an object", `[true]`, "reply: want object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var v opinion
			err := Decode(says(tt.text), verdict, &v)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Decode(%q) = %v, want an error with %q", tt.text, err, tt.want)
			}
		})
	}
	cut := says(good)
	cut.Finish = chat.FinishLength
	if err := Decode(cut, verdict, new(opinion)); err == nil {
		t.Error("a reply that was cut is read, though it happens to be whole JSON")
	}
	if err := Decode(says(`{"ok":true,"more":1}`), nil, new(opinion)); err == nil {
		t.Error("a field that the value does not have is read without a schema")
	}
}

func TestAskTriesAnew(t *testing.T) {
	cut := says(`{"ok":`)
	cut.Finish = chat.FinishLength
	f := &fake{replies: []Reply{says("hm"), cut, says(`{"ok":true,"scores":[1]}`)}}
	var v opinion
	reply, err := Ask(t.Context(), f, Request{Schema: verdict, MaxTokens: 50}, 3, &v, nil)
	if err != nil || !v.OK {
		t.Fatalf("Ask = %v, %+v", err, v)
	}
	if reply.USD != 1.5 || reply.Retries != 3 || reply.Usage != (Usage{PromptTokens: 300, CompletionTokens: 30, CachedTokens: 120}) {
		t.Errorf("cost of three requests is %+v", reply)
	}
	var asked [][2]int
	for _, r := range f.got {
		asked = append(asked, [2]int{r.Try, r.MaxTokens})
	}
	if diff := cmp.Diff([][2]int{{0, 50}, {1, 50}, {2, 100}}, asked); diff != "" {
		t.Errorf("tries and limits (-want +got):\n%s", diff)
	}
}

func TestAskGivesUpWithoutAnAnswer(t *testing.T) {
	f := &fake{replies: []Reply{says(`{"ok":true,"scores":[1]}`)}}
	refuse := func() error { return errors.New("ids differ") }
	reply, err := Ask(t.Context(), f, Request{Schema: verdict}, 2, new(opinion), refuse)
	none, ok := errors.AsType[*NoAnswerError](err)
	if !ok || none.Tries != 2 || reply.USD != 1 || !strings.Contains(err.Error(), "ids differ") {
		t.Errorf("Ask = %+v, %v; want no answer after 2 tries, and their cost", reply, err)
	}
	f.err = &Error{Kind: traj.KindServer, Err: errors.New("down")}
	if _, err := Ask(t.Context(), f, Request{Schema: verdict}, 2, new(opinion), nil); !Passing(err) || len(f.got) != 3 {
		t.Errorf("Ask = %v after %d requests; want the client's failure at once", err, len(f.got))
	}
}

func TestAskReadsEachReplyAnew(t *testing.T) {
	f := &fake{replies: []Reply{says(`{"ok":true,"scores":[1],"kind":"a"}`), says(`{"ok":false,"scores":[1]}`)}}
	var v opinion
	_, err := Ask(t.Context(), f, Request{Schema: verdict}, 2, &v, func() error {
		if v.OK {
			return errors.New("want another")
		}
		return nil
	})
	if err != nil || v.Kind != "" || !slices.Equal(v.Scores, []float64{1}) {
		t.Errorf("Ask = %v, %+v; want nothing left of the reply that was refused", err, v)
	}
}

// FuzzDecode: whatever a model writes is read or refused, and what is read is
// what the standard library reads.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"ok":true,"scores":[0.5]}`, "```json\n{}\n```", "<think>x</think>{}", `{"ok":1e999}`, `[[[]]]`, `{"a":{"a":1,"a":2}}`, "\xff", `"\ud800"`} {
		f.Add(s)
	}
	free := &Schema{Name: "any", JSON: json.RawMessage(`{}`)}
	f.Fuzz(func(t *testing.T, text string) {
		var v, want any
		if Decode(Reply{Text: text, Finish: chat.FinishStop}, free, &v) != nil {
			return
		}
		plain := unfenced(afterThought(strings.TrimSpace(text)))
		if err := json.Unmarshal([]byte(plain), &want); err != nil || !cmp.Equal(want, v) {
			t.Errorf("%q is read as %v, the library reads %v (%v)", text, v, want, err)
		}
	})
}
