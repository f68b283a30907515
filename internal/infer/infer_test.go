package infer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/clock"
	"agentmill/internal/device/cpu"
	"agentmill/internal/dialog"
	"agentmill/internal/infer"
	"agentmill/internal/model"
	"agentmill/internal/model/decoder"
	"agentmill/internal/model/llama"
	"agentmill/internal/traj"
)

const (
	vocab = 13
	end   = 12 // end of turn
)

// letters encodes one token a letter: a is 0. Observations begin with "j" and
// end with "k", as markup would.
type letters struct{}

func (letters) Begin(messages []chat.Message, _ []chat.Tool) (dialog.Dialog, error) {
	return talk{prompt: encode(messages[0].Content)}, nil
}

func (letters) EncodeTurn(string) []int32 { panic("not for playing") }

func (letters) ShowsTools() bool { return false }

// talk is a conversation that is never rewritten.
type talk struct{ prompt []int32 }

func (t talk) Prompt() []int32 { return t.prompt }

func (talk) Next(_ string, observed []chat.Message) (dialog.Step, error) {
	return dialog.Step{IDs: encode("j" + observed[0].Content + "k")}, nil
}

func (letters) EndOfTurn() int32 { return end }

func (letters) Decode(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteByte(byte('a' + id))
	}
	return b.String()
}

// endless never ends a turn by itself.
type endless struct{ letters }

func (endless) EndOfTurn() int32 { return vocab }

func encode(s string) []int32 {
	var ids []int32
	for _, c := range s {
		ids = append(ids, c-'a')
	}
	return ids
}

func user(text string) []chat.Message { return []chat.Message{{Role: chat.User, Content: text}} }

// start runs an engine over a tiny random model.
func start(t *testing.T, change func(*infer.Config)) *infer.Engine {
	t.Helper()
	backend, err := cpu.New(2, "")
	if err != nil {
		t.Fatal(err)
	}
	m, err := llama.New(config(), backend, decoder.Random(config(), llama.Design(config()), 3), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := infer.Config{Model: m, Codec: letters{}, Clock: clock.FixedAt(time.Unix(0, 0)), Policy: traj.Policy{Name: "tiny"}}
	if change != nil {
		change(&cfg)
	}
	e := infer.New(cfg)
	t.Cleanup(func() {
		_ = e.Close()
		_ = backend.Close()
	})
	return e
}

func config() model.Config {
	return model.Config{
		ModelType: "llama", VocabSize: vocab, HiddenSize: 16, IntermediateSize: 20, NumHiddenLayers: 2,
		NumAttentionHeads: 4, NumKeyValueHeads: 2, HeadDim: 4, MaxPositionEmbeddings: 96,
		RMSNormEps: 1e-5, RopeTheta: 10000, HiddenAct: "silu",
	}
}

func task(seed uint64, prompt string, s traj.Sampling) agent.Task {
	return agent.Task{Prompt: user(prompt), Sampling: s, Seed: seed, TurnTokens: 6}
}

// play plays turns of one attempt.
func play(e *infer.Engine, task agent.Task, turns int) (agent.Trace, []agent.Reply, error) {
	ctx := context.Background()
	s, err := e.Begin(ctx, task)
	if err != nil {
		return agent.Trace{}, nil, err
	}
	defer s.Close()
	var replies []agent.Reply
	for i := range turns {
		r, err := s.Next(ctx, user(strings.Repeat("def", i%2+1)))
		if err != nil {
			return agent.Trace{}, nil, err
		}
		replies = append(replies, r)
	}
	return s.Trace(), replies, nil
}

// samplings are the distributions that the tests mix.
var samplings = []traj.Sampling{
	{Temperature: 1}, {Temperature: 0.7, TopP: 0.8}, {Temperature: 1.3, TopK: 4}, {}, {Temperature: 1, TopK: 5, TopP: 0.9}, {Temperature: 1, MinP: 0.08},
}

// playAll plays 20 attempts at once. Their prompts begin alike, which lets them
// share keys and values.
func playAll(t *testing.T, e *infer.Engine) ([]agent.Trace, [][]agent.Reply) {
	t.Helper()
	const attempts = 20
	traces, replies := make([]agent.Trace, attempts), make([][]agent.Reply, attempts)
	errs := make([]error, attempts)
	var wg sync.WaitGroup
	for i := range attempts {
		wg.Go(func() {
			prompt := strings.Repeat("abcde", 5) + strings.Repeat("fgh", i%4)
			traces[i], replies[i], errs[i] = play(e, task(uint64(i), prompt, samplings[i%len(samplings)]), 3)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return traces, replies
}

func TestTokensDoNotDependOnBatching(t *testing.T) {
	wantTraces, wantReplies := playAll(t, start(t, func(c *infer.Config) { c.Sessions = 1 }))
	for _, tt := range []struct {
		name            string
		sessions, batch int
	}{
		{"all at once", 20, 512},
		{"few sessions, others wait", 3, 512},
		{"prompts in small chunks", 20, 4},
		{"one token a step", 5, 1},
	} {
		traces, replies := playAll(t, start(t, func(c *infer.Config) { c.Sessions, c.BatchTokens = tt.sessions, tt.batch }))
		for i := range traces {
			if diff := cmp.Diff(wantTraces[i], traces[i]) + cmp.Diff(wantReplies[i], replies[i]); diff != "" {
				t.Errorf("%s: attempt %d (-alone +together):\n%s", tt.name, i, diff)
				break
			}
		}
	}
}

func TestSeedsDiffer(t *testing.T) {
	e := start(t, nil)
	seen := map[string]bool{}
	for seed := range uint64(8) {
		trace, _, err := play(e, task(seed, "abc", traj.Sampling{Temperature: 1}), 2)
		if err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprint(trace.TokenIDs)] = true
	}
	if len(seen) < 7 {
		t.Errorf("8 seeds gave %d different attempts", len(seen))
	}
}

// TestTrace checks T1 and T2 of package traj, and that log-probabilities are
// those that scoring gives, bit for bit.
func TestTrace(t *testing.T) {
	e := start(t, nil)
	for seed := range uint64(5) {
		trace, replies, err := play(e, task(seed, "abc", traj.Sampling{Temperature: 1}), 3)
		if err != nil {
			t.Fatal(err)
		}
		checkLayout(t, trace, replies)
		if diff := cmp.Diff(trace.LogProbs, trace.LogProbsFull); diff != "" {
			t.Errorf("seed %d: at temperature 1 both log-probabilities are the same (-sampled +full):\n%s", seed, diff)
		}
		logp, err := e.LogProbs(context.Background(), trace.TokenIDs, trace.Trained)
		if err != nil {
			t.Fatal(err)
		}
		var sampled []float32
		for i, trained := range trace.Trained {
			if trained {
				sampled = append(sampled, trace.LogProbs[i])
			}
		}
		if diff := cmp.Diff(logp, sampled); diff != "" {
			t.Errorf("seed %d: log-probabilities (-scored +sampled):\n%s", seed, diff)
		}
	}
}

// checkLayout rebuilds the tokens from texts: prompt, turns and observations.
func checkLayout(t *testing.T, trace agent.Trace, replies []agent.Reply) {
	t.Helper()
	var want []int32
	var trained []bool
	add := func(ids []int32, mark bool) {
		for _, id := range ids {
			want, trained = append(want, id), append(trained, mark)
		}
	}
	add(encode("abc"), false)
	for i, r := range replies {
		if i > 0 {
			add(encode("j"+strings.Repeat("def", i%2+1)+"k"), false)
		}
		if r.Turn.PromptTokens != len(want) {
			t.Errorf("turn %d: prompt has %d tokens, want %d", i, r.Turn.PromptTokens, len(want))
		}
		if i > 0 && r.Turn.Cached != replies[i-1].Turn.PromptTokens+replies[i-1].Turn.CompletionTokens-1 {
			t.Errorf("turn %d: %d tokens were cached, want all but the last one sampled before", i, r.Turn.Cached)
		}
		add(encode(r.Text), true)
		if last := i == len(replies)-1; r.Turn.FinishReason == chat.FinishStop || !last {
			add([]int32{end}, r.Turn.FinishReason == chat.FinishStop)
		}
	}
	if diff := cmp.Diff(want, trace.TokenIDs); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(trained, trace.Trained); diff != "" {
		t.Errorf("trained (-want +got):\n%s", diff)
	}
}

func TestFinish(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prompt int // tokens
		turn   int // most tokens of the turn
		want   chat.FinishReason
		tokens int
	}{
		{"cut by the turn's own limit", 4, 2, chat.FinishLength, 2},
		{"context full after two tokens", 8, 5, chat.FinishContext, 2},
		{"the last token of the context may end the turn by its limit", 8, 2, chat.FinishLength, 2},
		{"no room at all", 10, 5, chat.FinishContext, 0},
		{"prompt longer than the context", 12, 5, chat.FinishContext, 0},
		{"no limit but the context", 8, 0, chat.FinishContext, 2},
	} {
		e := start(t, func(c *infer.Config) { c.Context, c.Codec = 10, endless{} })
		task := task(7, strings.Repeat("a", tt.prompt), traj.Sampling{Temperature: 1})
		task.TurnTokens = tt.turn
		trace, replies, err := play(e, task, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := replies[0].Turn
		if got.FinishReason != tt.want || got.CompletionTokens != tt.tokens {
			t.Errorf("%s: finish is %s after %d tokens, want %s after %d", tt.name, got.FinishReason, got.CompletionTokens, tt.want, tt.tokens)
		}
		if want := tt.prompt + tt.tokens; tt.tokens > 0 && len(trace.TokenIDs) != want {
			t.Errorf("%s: trace has %d tokens, want %d", tt.name, len(trace.TokenIDs), want)
		}
	}
}

func TestGreedy(t *testing.T) {
	e := start(t, nil)
	a, _, err := play(e, task(1, "abcabc", traj.Sampling{}), 2)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := play(e, task(2, "abcabc", traj.Sampling{}), 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("greedy choice depends on the seed:\n%s", diff)
	}
	for i, trained := range a.Trained {
		if a.LogProbs[i] != 0 || trained != (a.LogProbsFull[i] < 0) {
			t.Errorf("token %d (trained %v): log-probability %v of the sampled distribution, %v of the full one: want 0 and below 0 where trained",
				i, trained, a.LogProbs[i], a.LogProbsFull[i])
		}
	}
}

func TestRefuses(t *testing.T) {
	e := start(t, nil)
	for _, tt := range []struct {
		sampling traj.Sampling
		want     string
	}{
		{traj.Sampling{Temperature: -1}, "temperature is -1"},
		{traj.Sampling{Temperature: math.NaN()}, "temperature is NaN"},
		{traj.Sampling{TopP: 1.5}, "top_p is 1.5"},
		{traj.Sampling{TopK: -2}, "top_k is -2"},
	} {
		_, err := e.Begin(context.Background(), task(1, "a", tt.sampling))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error is %v, want one with %q", err, tt.want)
		}
	}
	if _, err := e.LogProbs(context.Background(), []int32{1, 99}, []bool{false, true}); err == nil {
		t.Error("scoring a token outside the vocabulary gave no error")
	}
}

func TestCancel(t *testing.T) {
	e := start(t, func(c *infer.Config) { c.Sessions = 1 })
	ctx, cancel := context.WithCancel(context.Background())
	s, err := e.Begin(ctx, task(1, "abc", traj.Sampling{Temperature: 1}))
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error)
	go func() {
		_, err := e.Begin(ctx, task(2, "abc", traj.Sampling{Temperature: 1}))
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("Begin without a free slot: error is %v, want canceled", err)
	}
	if _, err := s.Next(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Next: error is %v, want canceled", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, _, err := play(e, task(3, "abc", traj.Sampling{Temperature: 1}), 1); err != nil {
		t.Errorf("after a cancelled attempt was closed: %v", err)
	}
}

func TestClose(t *testing.T) {
	e := start(t, nil)
	s, err := e.Begin(context.Background(), task(1, "abc", traj.Sampling{Temperature: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Next after Close: error is %v, want one that says so", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.Begin(context.Background(), task(1, "a", traj.Sampling{})); err == nil {
		t.Error("Begin after Close gave no error")
	}
}
