package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/checkpoint"
	"agentmill/internal/checkpoint/tinypolicy"
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/model/llama"
	"agentmill/internal/numtest"
	"agentmill/internal/rl"
	"agentmill/internal/traj"
)

// options are combinations of a policy gradient's options, each with another
// point where the trainer has to know something before it trains.
var options = map[string]func(*Config){
	"clip by turn, several updates": func(c *Config) { c.RL.Loss.Kind, c.RL.Loss.Ratio = rl.Clip, rl.PerTurn },
	"gspo, engine's numbers":        func(c *Config) { c.RL.Loss.Kind, c.RL.Old = rl.GSPO, enginesOld },
	"cispo, masked by token":        func(c *Config) { c.RL.Loss.Kind, c.RL.Importance.Kind = rl.CISPO, rl.Mask },
	"dual clip, truncated by sequence": func(c *Config) {
		c.RL.Loss.Kind, c.RL.Importance = rl.DualClip, rl.Importance{Kind: rl.Truncate, Level: rl.PerSequence, Low: -1, High: -1}
	},
	"kl to the base under the adapter": func(c *Config) { c.RL.Loss.KL, c.RL.Loss.KLCoef, c.LoRARank = rl.K3, .1, 2 },
	"kl as a shift, to a named policy": func(c *Config) { c.RL.Loss.KL, c.RL.Loss.KLCoef, c.RL.Reference = rl.Shift, .1, c.Policy },
	"salt over grpo, constant aggregate": func(c *Config) {
		c.RL.Advantage, c.RL.Base, c.RL.Aggregate, c.RL.Limit = rl.SALT, "grpo", rl.ByConstant, 40
	},
	"dropout, accumulated": func(c *Config) { c.LoRARank, c.LoRADropout, c.TokensPerBatch = 2, .3, 30 },
	"distill":              func(c *Config) { c.Method, c.RL.Teacher = "distill", c.Policy },
}

// near makes the engine's log-probabilities those of the parent but for a
// little noise.
func (b *bench) near(t *testing.T, rows []traj.Scored) []traj.Scored {
	t.Helper()
	playedBy(t, b, rows)
	for i := range rows {
		r := &rows[i].Trajectory
		for k := range r.LogProbs {
			if r.Trained[k] {
				r.LogProbs[k] = min(0, r.LogProbs[k]+float32(k%3-1)*0.3)
			}
		}
	}
	return rows
}

// TestOptionsStoppedAnywhere: with each of the options a run that was stopped
// twice ends with the bytes of an unbroken one.
func TestOptionsStoppedAnywhere(t *testing.T) {
	for name, change := range options {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			rows := b.near(t, b.played(2, 1, 0))
			config := func() Config {
				cfg := b.config(t, "grpo", "child", rows)
				cfg.Epochs, cfg.Batch, cfg.LR, cfg.SaveSteps = 2, 2, 1e-3, 1
				change(&cfg)
				return cfg
			}
			st := run(t, config())
			if st.Updates != 4 || !st.Updated {
				t.Fatalf("%+v", st)
			}
			want := files(t, config().Out)
			if err := os.RemoveAll(config().Out); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cfg := config()
			cfg.Log = slog.New(&stopper{cfg.Log.Handler(), cancel, 3})
			if _, err := Run(ctx, cfg); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want a stopped run", err)
			}
			run(t, config())
			if diff := cmp.Diff(want, files(t, config().Out)); diff != "" {
				t.Errorf("stopped and gone on (-unbroken +got):\n%.2000s", diff)
			}
		})
	}
}

// TestOptionsOnPolicy: where the policy is the one that sampled, every loss and
// every ratio makes the same update, bit for bit.
func TestOptionsOnPolicy(t *testing.T) {
	b := newBench(t)
	rows := b.played(2, 1, 0, -1)
	update := func(change func(*Config)) map[string]string {
		cfg := b.config(t, "grpo", "child", rows)
		change(&cfg)
		run(t, cfg)
		all := files(t, cfg.Out)
		return map[string]string{"weights": all["model.safetensors"]}
	}
	want := update(func(*Config) {})
	for _, kind := range rl.LossNames() {
		for _, span := range []string{rl.PerToken, rl.PerTurn, rl.PerSequence} {
			loss := rl.Loss{Kind: kind, Low: -1, High: -1, Dual: -1, Ratio: span}
			if loss.Check() != nil {
				continue
			}
			got := update(func(c *Config) { c.RL.Loss, c.RL.Aggregate = loss, rl.ByToken })
			if got["weights"] != want["weights"] {
				t.Errorf("%s per %s: other weights than REINFORCE's", kind, span)
			}
		}
	}
}

// A counted model counts its forward passes.
type counted struct {
	model.Model
	passes *int
}

func (c counted) Forward(b *model.Batch, logp []float32, keep bool) {
	*c.passes++
	c.Model.Forward(b, logp, keep)
}

// TestDefaultCorrectsForTheEngine: token TIS is on, and costs one fresh policy no
// pass; with the engine's numbers as π_old there is nothing to correct.
func TestDefaultCorrectsForTheEngine(t *testing.T) {
	b := newBench(t)
	rows := b.near(t, b.played(2, 1, 0))
	update := func(change func(*Config)) (weights string, flags map[string]string, passes int) {
		cfg := b.config(t, "grpo", "child", rows)
		cfg.NewModel = func(c model.Config, d device.Backend, s model.Source, o model.Options) (model.Model, error) {
			m, err := llama.New(c, d, s, o)
			return counted{m, &passes}, err
		}
		change(&cfg)
		run(t, cfg)
		p, err := checkpoint.Open(cfg.Out, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		return files(t, cfg.Out)["model.safetensors"], p.Manifest.Flags, passes
	}
	named := func(kind string) func(*Config) {
		return func(c *Config) {
			c.RL.Importance.Kind = kind
			if kind == rl.Truncate {
				c.RL.Importance.Level, c.RL.Importance.High = rl.PerToken, 2
			}
		}
	}
	usual, flags, passes := update(func(*Config) {})
	truncated, _, _ := update(named(rl.Truncate))
	none, off, least := update(named(rl.Uncorrected))
	if usual != truncated || usual == none {
		t.Errorf("like truncation by token: %v, like none: %v; want true, false", usual == truncated, usual == none)
	}
	if flags["importance"] != rl.Truncate || flags["importance-level"] != rl.PerToken || flags["importance-high"] != "2" || off["importance"] != rl.Uncorrected {
		t.Errorf("recorded: %v, and without %v", flags, off)
	}
	if passes != least {
		t.Errorf("%d forward passes, %d without importance sampling", passes, least)
	}
	if _, flags, _ := update(func(c *Config) { c.RL.Loss.Kind, c.RL.Old = rl.Clip, enginesOld }); flags["importance"] != rl.Uncorrected {
		t.Errorf("with the engine's numbers as old ones: %v", flags)
	}
	if _, _, passes := update(func(c *Config) { c.Epochs = 2 }); passes != 3*least {
		t.Errorf("two updates: %d forward passes, want %d: of the rows before, and two", passes, 3*least)
	}
}

// TestMaskedRowsLeave (L4 of package rl): rows whose engine disagrees make the
// same update as if they were not there.
func TestMaskedRowsLeave(t *testing.T) {
	b := newBench(t)
	rows := b.played(2, 1, 0)
	playedBy(t, b, rows)
	weights := func(rows []traj.Scored, change func(*Config)) string {
		cfg := b.config(t, "grpo", "child", rows)
		cfg.RL.Importance = rl.Importance{Kind: rl.Mask, Level: rl.Geometric, Low: .9, High: 1.1}
		change(&cfg)
		run(t, cfg)
		return files(t, cfg.Out)["model.safetensors"]
	}
	for _, aggregate := range []string{rl.ByToken, rl.BySequence} {
		by := func(c *Config) { c.RL.Aggregate = aggregate }
		want := weights(rows[:2], by)
		odd := append([]traj.Scored{}, rows...)
		for i := 2; i < 4; i++ {
			odd[i].LogProbs = append([]float32{}, rows[i].LogProbs...)
			shift(odd[i].LogProbs, odd[i].Trained, -.5)
		}
		if weights(odd, by) != want {
			t.Errorf("%s: masked rows change the update", aggregate)
		}
		if weights(rows, by) == want {
			t.Errorf("%s: unmasked rows change nothing: this test has lost its purpose", aggregate)
		}
	}
}

// TestDistils: the student's words become likelier where the teacher thinks so,
// and the divergence falls.
func TestDistils(t *testing.T) {
	b := newBench(t)
	teacher := filepath.Join(b.dir, "teacher")
	if _, err := tinypolicy.Write(teacher, 2); err != nil {
		t.Fatal(err)
	}
	rows := b.played(2, 1, 0)
	for i := range rows {
		rows[i].Reward, rows[i].Group = nil, "" // not asked for
	}
	cfg := b.config(t, "distill", "child", rows)
	cfg.RL.Teacher, cfg.LR, cfg.Epochs = teacher, 1e-3, 6
	run(t, cfg)
	var kl []float64
	for line := range strings.Lines(files(t, cfg.Out)[MetricsFile]) {
		var m Metrics
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		kl = append(kl, m.Compared.KL)
	}
	before, after, taught := b.likelihoods(t, b.parent, rows), b.likelihoods(t, cfg.Out, rows), b.likelihoods(t, teacher, rows)
	gap := func(x []float64) (sum float64) {
		for i := range x {
			sum += x[i] - taught[i]
		}
		return sum
	}
	if !(math.Abs(gap(after)) < math.Abs(gap(before))) || math.Abs(kl[0]) == 0 {
		t.Errorf("log-probabilities above the teacher's: %.3f before, %.3f after (by step %v)", gap(before), gap(after), kl)
	}
}

func TestTeacherOfAnotherVocabulary(t *testing.T) {
	b := newBench(t)
	other := filepath.Join(b.dir, "other")
	if _, err := tinypolicy.Write(other, 2); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(other, "tokenizer.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Two tokens change places.
	var file map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	vocab := file["model"].(map[string]any)["vocab"].(map[string]any)
	vocab["x"], vocab["y"] = vocab["y"], vocab["x"]
	if data, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := b.config(t, "distill", "child", b.played(1, 1, 0))
	cfg.RL.Teacher = other
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), `is "y" to it and "x" to the policy; want the same vocabulary`) {
		t.Errorf("got %v, want a refusal", err)
	}
}

// TestOptionsThatUndoEachOther are refused in one sentence.
func TestOptionsThatUndoEachOther(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.RL.Loss.Low = .2 }, "--loss: loss reinforce has no ratio to clip"},
		{func(c *Config) { c.RL.Old = enginesOld }, "--old engine with --loss reinforce: that loss has no ratio"},
		{func(c *Config) { c.RL.Old, c.RL.Loss.Kind, c.RL.Importance.Kind = enginesOld, rl.Clip, rl.Truncate }, "--importance with --old engine"},
		{func(c *Config) { c.RL.Old, c.RL.Loss.Kind, c.RL.Importance.Level = enginesOld, rl.Clip, rl.PerToken }, "--importance: importance sampling is off"},
		{func(c *Config) { c.RL.Importance.Kind, c.RL.Importance.High = rl.Uncorrected, 3 }, "--importance: importance sampling is off"},
		{func(c *Config) { c.RL.Importance.Kind = "clip" }, `--importance: importance sampling "clip": want truncate, mask or none`},
		{func(c *Config) { c.RL.Importance.Low = .5 }, "--importance: a lower bound of 0.5: truncation has an upper one alone"},
		{func(c *Config) { c.RL.Old = "judge" }, `--old "judge": want trainer or engine`},
		{func(c *Config) { c.RL.Base = "grpo" }, "--advantage-base grpo: rloo is of whole attempts"},
		{func(c *Config) { c.RL.Advantage, c.RL.Base, c.RL.Steps.Renorm = rl.SALT, "grpo", true }, "--salt-renorm with --advantage-base grpo"},
		{func(c *Config) { c.RL.Reference = "x" }, "--reference x: nothing is measured to it"},
		{func(c *Config) { c.RL.Loss.KL, c.RL.Loss.KLCoef = rl.K1, .1 }, "--kl: without adapters there is no base"},
		{func(c *Config) { c.RL.Overlong.Limit = 10 }, "--overlong-limit with --cut mask"},
		{func(c *Config) { c.RL.Overlong.Cache = 10 }, "--overlong-cache 10: there is no limit"},
		{func(c *Config) { c.RL.Teacher = "x" }, "--teacher x: want it with --method distill"},
		{func(c *Config) { c.Method = "distill" }, "--teacher is needed"},
		{func(c *Config) { c.Method, c.RL.Teacher, c.RL.Advantage = "distill", "x", "grpo" }, "--method distill has no rewards"},
		{func(c *Config) { c.Method, c.RL.Loss.Kind = "sft", rl.Clip }, "--loss: imitation has no such thing"},
		{func(c *Config) { c.RL.Aggregate = rl.ByConstant }, "--aggregate: aggregation constant with the constant 0"},
		{func(c *Config) { c.RL.PerTerm, c.RL.Advantage = true, rl.ReinforcePP }, "--advantage: reinforce++ per term"},
		{func(c *Config) { c.RL.TermWeights = []string{"a"} }, `--term-weight "a": want NAME=WEIGHT`},
	} {
		cfg := b.config(t, "grpo", "child", nil)
		tt.change(&cfg)
		if err := cfg.Check(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
	rows := b.played(1, 1, 0)
	rows[1].Sampling.TopK = 5
	cfg := b.config(t, "grpo", "child", rows)
	cfg.RL.Importance.Kind = rl.Truncate
	if _, err := Run(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), "stdin:2: logprobs: are of a truncated distribution") {
		t.Errorf("got %v, want the row named (case O1)", err)
	}
}

// TestOverlongAttemptsCost: equal rewards, but one attempt is too long.
func TestOverlongAttemptsCost(t *testing.T) {
	b := newBench(t)
	cfg := b.config(t, "grpo", "child", b.played(1, 1, 1)) // 4 and 5 tokens
	cfg.Cut, cfg.RL.Overlong = "train", Overlong{Limit: 5, Cache: 1, Factor: 1}
	tr := newTrainer(t, cfg)
	got := map[string]float64{}
	for _, s := range tr.updates[0] {
		got[s.id] = s.credit.Advantage
	}
	if diff := cmp.Diff(map[string]float64{"0-0": 1, "0-1": -1}, got); diff != "" {
		t.Errorf("advantages (-want +got):\n%s", diff)
	}
}

// TestStepsOfRows: turns are numbered, and calls that mean the same are the same.
func TestStepsOfRows(t *testing.T) {
	b := newBench(t)
	rows := b.played(1, 1, 0)
	for i := range rows {
		r := &rows[i].Trajectory
		for _, id := range []int32{40, 41} { // a result, and one more turn
			r.TokenIDs, r.Trained, r.LogProbs = append(r.TokenIDs, id, id), append(r.Trained, false, true), append(r.LogProbs, 0, -1)
		}
		r.Messages = []chat.Message{{Role: chat.User, Content: "When?"}, {Role: chat.Assistant, Content: fmt.Sprint("search ", i)}}
		for k := range 2 {
			r.Messages = append(r.Messages, chat.Message{Role: chat.User, Content: "2  Hits"}, chat.Message{Role: chat.Assistant, Content: fmt.Sprint("answer ", i, k)})
		}
	}
	rows[0].Calls = []traj.Call{{Tool: "search_emails", Arguments: json.RawMessage(`{"keywords":["audit","may"]}`)}}
	rows[1].Calls = []traj.Call{{Tool: "search_emails", Arguments: json.RawMessage(`{"keywords":["May","Audit"]}`)}}
	cfg := b.config(t, "grpo", "child", rows)
	cfg.RL.Advantage = rl.SALT
	tr := newTrainer(t, cfg)
	for _, s := range tr.updates[0] {
		a := s.credit.Advantage
		numtest.Close(t, s.id, s.credit.Turns, []float64{0, a, a}, numtest.Tol{})
		if last := s.turns[len(s.turns)-1]; last != 2 || s.turns[0] != 0 {
			t.Errorf("row %s: turns %v", s.id, s.turns)
		}
	}
	if r := tr.stats.Credit; r.Merged != 2 || r.StepsInAll != 6 {
		t.Errorf("%d of %d steps merged, want 2 of 6", r.Merged, r.StepsInAll)
	}
}

// TestFolderTellsItsOptions: what was in force stands in agentmill.json.
func TestFolderTellsItsOptions(t *testing.T) {
	b := newBench(t)
	cfg := b.config(t, "grpo", "child", b.played(1, 1, 0))
	cfg.RL.Loss.KL, cfg.RL.Loss.KLCoef, cfg.RL.Reference, cfg.RL.Loss.Kind = rl.K2, .1, b.parent, rl.Clip
	run(t, cfg)
	p, err := checkpoint.Open(cfg.Out, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, want := range map[string]string{
		"loss": "clip", "clip-high": "0.2", "aggregate": "token", "kl": "k2", "reference-hash": b.hash, "advantage": "rloo",
	} {
		if got := p.Manifest.Flags[name]; got != want {
			t.Errorf("flag %s is recorded as %q, want %q", name, got, want)
		}
	}
}
