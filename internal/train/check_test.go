package train

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentmill/internal/chat"
	"agentmill/internal/chattemplate"
	"agentmill/internal/checkpoint"
	"agentmill/internal/checkpoint/tinypolicy"
	"agentmill/internal/dialog"
	"agentmill/internal/model"
	"agentmill/internal/safetensors"
	"agentmill/internal/traj"
)

// asPlayed are rows whose tokens are those that the engine would have seen and
// sampled for their messages, in the tokenizer's own pieces, with the parent's
// log-probabilities.
func (b *bench) asPlayed(t *testing.T, n int) []traj.Scored {
	t.Helper()
	rows := expert(n)
	for i := range rows {
		r := &rows[i].Trajectory
		samples, err := dialog.Render(b.codec, r.Messages, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.TokenIDs, r.Trained = samples[0].IDs, samples[0].Trained
		r.LogProbs = make([]float32, len(r.TokenIDs))
		r.Policy = traj.Policy{Name: "p", Hash: b.hash}
		r.Sampling.Temperature = 1
		r.Group, r.Attempt, r.Question = "g", i, ask(0)
		reward := float64(i % 2)
		rows[i].Reward = &reward
	}
	playedBy(t, b, rows)
	return rows
}

func check(t *testing.T, cfg Config) (string, error) {
	t.Helper()
	cfg.Look, cfg.Out = true, ""
	var out bytes.Buffer
	_, err := CheckRows(t.Context(), cfg, 0.05, &out)
	return out.String(), err
}

func TestCheckRows(t *testing.T) {
	b := newBench(t)
	first := func(r *traj.Trajectory) int { return slices.Index(r.Trained, true) }
	for _, tt := range []struct {
		name   string
		change func(r *traj.Trajectory)
		want   string // of the row's line
		fault  string // "": none
	}{
		{"exact", func(*traj.Trajectory) {}, "e1  exact", ""},
		{
			"another word of the prompt",
			func(r *traj.Trajectory) { r.TokenIDs[3] = 90 },
			`e1  drifts at token 3 of turn 1: "`, "1 of 2 rows are not what tokenizer and template say",
		},
		{
			"a template's newline that was not in the row (case T3)",
			func(r *traj.Trajectory) {
				i := first(r)
				r.TokenIDs = append(r.TokenIDs[:i-1], r.TokenIDs[i:]...)
				r.Trained = append(r.Trained[:i-1], r.Trained[i:]...)
				r.LogProbs = append(r.LogProbs[:i-1], r.LogProbs[i:]...)
			},
			`of turn 1: "search" is marked as sampled, the template says "\n"`, "rows are not what",
		},
		{
			"a call that was taken out of its message (case T2)",
			func(r *traj.Trajectory) { r.Messages[2].Content = "" },
			`e1  drifts at token 4`, "rows are not what",
		},
		{
			"another policy's numbers",
			func(r *traj.Trajectory) { shift(r.LogProbs, r.Trained, -1) },
			"e1  exact", "engine and trainer differ by 0.5 in the mean, want 0.05 at most",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows := b.asPlayed(t, 2)
			tt.change(&rows[1].Trajectory)
			out, err := check(t, b.config(t, "grpo", "x", rows))
			if !strings.Contains(out, tt.want) {
				t.Errorf("output:\n%s\nwant %s", out, tt.want)
			}
			switch {
			case tt.fault == "" && err != nil:
				t.Errorf("got %v, want no drift", err)
			case tt.fault != "" && (!errors.Is(err, ErrDrift) || !strings.Contains(err.Error(), tt.fault)):
				t.Errorf("got %v, want %s", err, tt.fault)
			}
		})
	}
}

// TestOwnPiecesAreNoDrift (case T1): a word that was sampled in other pieces than
// the tokenizer's is kept as it is.
func TestOwnPiecesAreNoDrift(t *testing.T) {
	b := newBench(t)
	rows := b.asPlayed(t, 2)
	r := &rows[0].Trajectory
	for i, id := range r.TokenIDs {
		if r.Trained[i] && b.codec.Decode([]int32{id}) == "search" {
			pieces := []int32{}
			for _, letter := range "search" {
				pieces = append(pieces, b.codec.EncodeTurn(string(letter))[0])
			}
			r.TokenIDs = append(append(append([]int32{}, r.TokenIDs[:i]...), pieces...), r.TokenIDs[i+1:]...)
			break
		}
	}
	for range 5 { // the turn begins with trained tokens
		at := 0
		for !r.Trained[at] {
			at++
		}
		r.Trained = append(r.Trained[:at], append([]bool{true}, r.Trained[at:]...)...)
		r.LogProbs = append(r.LogProbs, 0)
	}
	playedBy(t, b, rows)
	out, err := check(t, b.config(t, "grpo", "x", rows))
	if err != nil || !strings.Contains(out, "2 exact, 0 drift") || !strings.Contains(out, "split 1 in another way") {
		t.Errorf("got %v and\n%s", err, out)
	}
}

// adapted is a child of the bench's parent with an adapter.
func (b *bench) adapted(t *testing.T, name string, rows []traj.Scored) Config {
	t.Helper()
	cfg := b.config(t, "grpo", name, rows)
	cfg.LoRARank, cfg.LR = 4, 5e-2
	run(t, cfg)
	return cfg
}

// TestCheckAdapter: an adapter without effect, and one that the base has in it
// already (case L3).
func TestCheckAdapter(t *testing.T) {
	b := newBench(t)
	rows := b.asPlayed(t, 2)
	flat := b.asPlayed(t, 2)
	*flat[1].Reward = 0
	dead := b.adapted(t, "dead", flat) // no signal: B is 0
	look := b.config(t, "sft", "x", rows)
	look.Policy = dead.Out
	if _, err := check(t, look); !errors.Is(err, ErrDrift) || !strings.Contains(err.Error(), "the adapter has no effect: base_model.model.model.layers.0.mlp.down_proj.lora_B.weight, ") {
		t.Errorf("dead adapter: %v", err)
	}

	live := b.adapted(t, "live", rows)
	p, err := checkpoint.Open(live.Out, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	merged, err := newModel(t, b, p)
	if err != nil {
		t.Fatal(err)
	}
	defer merged.Close()
	for i := range rows { // as the live adapter's policy would have sampled
		r := &rows[i].Trajectory
		r.Policy.Hash = p.Hash
		fill(r, logProbs(t, merged, r))
	}
	look = b.config(t, "grpo", "x", rows)
	look.Policy = live.Out
	out, err := check(t, look)
	if err != nil || !strings.Contains(out, "14 of 14 products change something") {
		t.Errorf("live adapter: %v\n%s", err, out)
	}

	// The same adapter again over a base that it is merged into.
	twice := filepath.Join(b.dir, "merged")
	base, err := checkpoint.Open(b.parent, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	writeMerged(t, twice, base, p)
	again := filepath.Join(b.dir, "again")
	onto, err := checkpoint.Open(twice, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer onto.Close()
	writeAdapter(t, again, onto, p)
	q, err := checkpoint.Open(again, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for i := range rows {
		rows[i].Policy.Hash = q.Hash
	}
	look = b.config(t, "grpo", "x", rows)
	look.Policy = again
	if _, err := check(t, look); !errors.Is(err, ErrDrift) || !strings.Contains(err.Error(), "the base has the adapter in it already") || !strings.Contains(err.Error(), "lora_A.weight") {
		t.Errorf("adapter applied twice: %v", err)
	}
}

func newModel(t *testing.T, b *bench, p *checkpoint.Policy) (model.Model, error) {
	t.Helper()
	cfg := b.config(t, "sft", "x", nil)
	return cfg.NewModel(p.Config, cfg.Backend, p.Merged(), playing)
}

// fill sets the log-probabilities of r's trained tokens.
func fill(r *traj.Trajectory, logp []float32) {
	for k, trained := range r.Trained {
		if trained {
			r.LogProbs[k], logp = logp[0], logp[1:]
		}
	}
}

func TestDryRun(t *testing.T) {
	b := newBench(t)
	rows := append(b.played(2, 1, 0, 0, 0), b.played(3, .5, .5)[4:]...)
	cut := rows[1]
	cut.Turns = []chat.Turn{{FinishReason: chat.FinishLength}}
	rows[1] = cut
	cfg := b.config(t, "grpo", "child", rows)
	cfg.Look, cfg.Out = true, ""
	var out bytes.Buffer
	if _, err := DryRun(t.Context(), cfg, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"g1        0   1.000        4       0  +1.732       +1.500  +0.750  +1.000  +3.000",
		"g0        1   0.000        0       5",
		"-0.577       -0.500  -0.250  -0.333  -1.000       -0.577  -0.333  -0.333        cut",
		"no signal",
		"salt merges 0 of 8 turns",
		"rows     10 read, 7 trained on; 0 failed, 1 cut, 2 filtered or without signal",
		"groups   3: 2 with a signal, 1 with equal rewards (33 %), 0 of one attempt",
		"sample   the gradient is that of",
		"updates  1 in 1 passes, 66 tokens (row by row 207: ",
		"time     not known: the clock stands still",
		"memory   about ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if left := files(t, b.dir); len(left) != len(files(t, b.parent)) {
		t.Errorf("%d files, want the parent's alone", len(left))
	}
	sft := b.config(t, "sft", "child", expert(2))
	sft.Look, sft.Out = true, ""
	out.Reset()
	if _, err := DryRun(t.Context(), sft, &out); err != nil || !strings.Contains(out.String(), "rows     2 read, 2 trained on") {
		t.Errorf("sft: %v\n%s", err, out.String())
	}
}

// TestForecastOfMemory counts what a real trainer allocates.
func TestForecastOfMemory(t *testing.T) {
	b := newBench(t)
	for _, rank := range []int{0, 4} {
		cfg := b.config(t, "grpo", "child", b.played(4, 1, 0))
		cfg.LoRARank = rank
		tr := newTrainer(t, cfg)
		trained := 0
		for _, p := range tr.model.Weights().Params() {
			trained += p.Values.Len()
		}
		all, _, adapters := tr.parameters()
		want := all
		if rank > 0 {
			want = adapters
		}
		if trained != want {
			t.Errorf("rank %d: %d parameters are trained, the forecast counts %d", rank, trained, want)
		}
	}
}

// writeMerged writes p's weights with its adapter added.
func writeMerged(t *testing.T, dir string, base, p *checkpoint.Policy) {
	t.Helper()
	entries, err := checkpoint.Entries(p.Merged().(interface {
		model.Source
		Shape(name string) ([]int, error)
	}), safetensors.F32)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Save(dir, checkpoint.Contents{Parent: base, Tensors: entries}); err != nil {
		t.Fatal(err)
	}
}

// writeAdapter writes p's adapter for another base.
func writeAdapter(t *testing.T, dir string, base, p *checkpoint.Policy) {
	t.Helper()
	var entries []safetensors.Entry
	src := p.Adapter.Source()
	for _, name := range src.Names() {
		values, shape, err := src.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, safetensors.Of(name, safetensors.F32, shape, values))
	}
	if _, err := checkpoint.Save(dir, checkpoint.Contents{Parent: base, LoRA: &p.Adapter.LoRA, Tensors: entries}); err != nil {
		t.Fatal(err)
	}
}

// TestReplayOfParts (case T4): a template that drops earlier thoughts makes two
// rows of one attempt; each is compared with its own prompt.
func TestReplayOfParts(t *testing.T) {
	tok, err := tinypolicy.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	const template = `{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and not loop.last and '</think>' in m.content %}{{ m.content.split('</think>')[-1] }}{% else %}{{ m.content }}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
	codec, err := chattemplate.New(tok, template, map[string]string{"eos_token": "<|im_end|>"})
	if err != nil {
		t.Fatal(err)
	}
	whole := expert(1)[0].Trajectory
	whole.Messages[2].Content = "<think>May?</think>search audit 0"
	samples, err := dialog.Render(codec, whole.Messages, nil)
	if err != nil || len(samples) != 2 {
		t.Fatalf("%d rows, %v; want 2", len(samples), err)
	}
	for part, s := range samples {
		row := whole
		row.Part, row.TokenIDs, row.Trained = part, s.IDs, s.Trained
		if p, err := replayed(codec, &row); err != nil || !p.exact || p.turns != 1 {
			t.Errorf("part %d: %v, %d turns, %v", part, p.String(), p.turns, err)
		}
		row.TokenIDs = slices.Clone(s.IDs)
		row.TokenIDs[2] = 99
		if p, err := replayed(codec, &row); err != nil || p.exact || p.token != 2 || p.turn != part+1 {
			t.Errorf("part %d with another token: %v, %v", part, p.String(), err)
		}
	}
}
