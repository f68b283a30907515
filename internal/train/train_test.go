package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/chat"
	"agentmill/internal/chatml"
	"agentmill/internal/checkpoint"
	"agentmill/internal/checkpoint/tinypolicy"
	"agentmill/internal/clock"
	"agentmill/internal/dataset"
	"agentmill/internal/device/cpu"
	"agentmill/internal/model/llama"
	"agentmill/internal/optim"
	"agentmill/internal/question"
	"agentmill/internal/seed"
	"agentmill/internal/traj"
)

// A bench is a tiny parent and what tests need around it.
type bench struct {
	dir    string
	parent string
	hash   string
	codec  *chatml.Codec
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{dir: dir, parent: filepath.Join(dir, "parent")}
	m, err := tinypolicy.Write(b.parent, 1)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tinypolicy.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if b.codec, err = chatml.New(tok); err != nil {
		t.Fatal(err)
	}
	b.hash = m.Hash
	return b
}

// config trains on rows; out is the child's name.
func (b *bench) config(t *testing.T, method, out string, rows []traj.Scored) Config {
	t.Helper()
	backend, err := cpu.New(2, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close() })
	var in bytes.Buffer
	for i := range rows {
		line, err := dataset.Marshal(&rows[i])
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	return Config{
		Source: dataset.Source{Stdin: &in}, Policy: b.parent, Out: filepath.Join(b.dir, out),
		Method: method, RL: DefaultRL(), Cut: "mask",
		Warmup: 0, Epochs: 1, TokensPerBatch: 300, Seed: 7, Optimizer: optim.Default(),
		Backend: backend, NewModel: llama.New, Clock: clock.FixedAt(time.Unix(0, 0)),
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// expert returns rows without tokens.
func expert(n int) (rows []traj.Scored) {
	for i := range n {
		rows = append(rows, traj.Scored{Trajectory: traj.Trajectory{
			Schema: 1, ID: fmt.Sprintf("e%d", i), Question: ask(i), Group: fmt.Sprint("g", i), Stop: traj.Answered,
			Policy: traj.Policy{Name: "expert", Hash: "x"},
			Messages: []chat.Message{
				{Role: chat.System, Content: "Each turn is one line."},
				{Role: chat.User, Content: fmt.Sprintf("When is audit %d?", i)},
				{Role: chat.Assistant, Content: fmt.Sprintf("search audit %d", i)},
				{Role: chat.User, Content: "1 hit"},
				{Role: chat.Assistant, Content: fmt.Sprintf("answer May %d | 1", i)},
			},
		}, Verdict: &traj.Verdict{Correct: true}})
	}
	return rows
}

func ask(i int) question.Question {
	return question.Question{ID: fmt.Sprint("q", i), Question: "When?", Answer: "May", Answerable: true, Split: question.Train}
}

// played returns groups of attempts of the bench's parent: the tokens of
// attempt k are drawn at random, its reward is rewards[k].
func (b *bench) played(groups int, rewards ...float64) (rows []traj.Scored) {
	for g := range groups {
		prompt := b.codec.EncodePrompt([]chat.Message{{Role: chat.User, Content: fmt.Sprintf("When is audit %d?", g)}})
		for k, reward := range rewards {
			rng := seed.Stream(1, "played", g, k)
			t := traj.Trajectory{
				Schema: 1, ID: fmt.Sprintf("%d-%d", g, k), Question: ask(g), Group: fmt.Sprint("g", g), Attempt: k, Stop: traj.Answered,
				Policy: traj.Policy{Name: "p", Hash: b.hash}, Sampling: traj.Sampling{Temperature: 1, TopP: 1},
				TokenIDs: append([]int32(nil), prompt...), Trained: make([]bool, len(prompt)), LogProbs: make([]float32, len(prompt)),
			}
			for range 4 + k {
				t.TokenIDs = append(t.TokenIDs, 3+rng.Int32N(250))
				t.Trained = append(t.Trained, true)
				t.LogProbs = append(t.LogProbs, -5)
			}
			rows = append(rows, traj.Scored{Trajectory: t, Reward: &reward})
		}
	}
	return rows
}

func run(t *testing.T, cfg Config) Stats {
	t.Helper()
	st, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestImitates: a few rows seen often are known by heart, with all weights and
// with adapters.
func TestImitates(t *testing.T) {
	for _, rank := range []int{0, 8} {
		b := newBench(t)
		cfg := b.config(t, "sft", "child", expert(3))
		cfg.Epochs, cfg.Batch, cfg.LR, cfg.LoRARank = 40, 2, 3e-3, rank
		if rank > 0 {
			cfg.LR = 2e-2
		}
		st := run(t, cfg)
		if st.Updates != 80 || st.First < 2 || st.Last > 0.4 {
			t.Errorf("rank %d: %d updates, loss from %.3f to %.3f, want 80 and a fall below 0.4", rank, st.Updates, st.First, st.Last)
		}
		p, err := checkpoint.Open(cfg.Out, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Hash != st.Hash || p.Manifest.Step != 80 || p.Manifest.Parent != b.hash || !p.Manifest.Updated || (p.Adapter != nil) != (rank > 0) {
			t.Errorf("rank %d: manifest %+v", rank, p.Manifest)
		}
		metrics, err := os.ReadFile(filepath.Join(cfg.Out, MetricsFile))
		if err != nil || bytes.Count(metrics, []byte("\n")) != 80 {
			t.Errorf("rank %d: %d lines of metrics, %v", rank, bytes.Count(metrics, []byte("\n")), err)
		}
		p.Close()
	}
}

// TestReinforces: one step makes what was rewarded more likely and what was
// punished less likely.
func TestReinforces(t *testing.T) {
	for _, rank := range []int{0, 4} {
		b := newBench(t)
		rows := b.played(2, 1, -1, 0.2)
		cfg := b.config(t, "grpo", "child", rows)
		cfg.LR, cfg.LoRARank = 1e-3, rank
		before := b.likelihoods(t, b.parent, rows)
		st := run(t, cfg)
		after := b.likelihoods(t, cfg.Out, rows)
		if st.Updates != 1 || st.Credit.Groups != 2 {
			t.Errorf("rank %d: %d updates, %+v", rank, st.Updates, st.Credit)
		}
		for i, r := range rows {
			gain := after[i] - before[i]
			if (*r.Reward == 1 && gain < 0.05) || (*r.Reward == -1 && gain > -0.05) {
				t.Errorf("rank %d, row %s, reward %v: log-probability moved by %.3f", rank, r.ID, *r.Reward, gain)
			}
		}
	}
}

// likelihoods is the log-probability of the trained tokens of each row.
func (b *bench) likelihoods(t *testing.T, dir string, rows []traj.Scored) (sums []float64) {
	t.Helper()
	p, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	m, err := llama.New(p.Config, b.config(t, "sft", "x", nil).Backend, p.Merged(), playing)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, r := range rows {
		sum := 0.0
		for _, x := range logProbs(t, m, &r.Trajectory) {
			sum += float64(x)
		}
		sums = append(sums, sum)
	}
	return sums
}

// files returns the contents of all files under dir.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A stopper ends a run after some steps.
type stopper struct {
	slog.Handler
	cancel context.CancelFunc
	left   int
}

func (s *stopper) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "sft" || r.Message == "grpo" || r.Message == "distill" {
		if s.left--; s.left == 0 {
			s.cancel()
		}
	}
	return nil
}

// stopAfter is a log that ends a run after some steps.
func stopAfter(cfg Config, cancel context.CancelFunc, steps int) *slog.Logger {
	return slog.New(&stopper{cfg.Log.Handler(), cancel, steps})
}

// TestStoppedAnywhere: a run that was stopped, twice, ends with the bytes of an
// unbroken one.
func TestStoppedAnywhere(t *testing.T) {
	for _, tt := range []struct {
		name, method string
		rank, saves  int
	}{
		{"sft", "sft", 0, 2},
		{"sft, adapters", "sft", 4, 2},
		{"sft, saved by the interruption alone", "sft", 0, 100},
		{"grpo in several updates", "grpo", 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			rows := expert(5)
			if tt.method == "grpo" {
				rows = b.played(3, 1, 0)
			}
			config := func() Config {
				cfg := b.config(t, tt.method, "child", rows)
				cfg.Epochs, cfg.Batch, cfg.LR, cfg.LoRARank, cfg.SaveSteps = 3, 2, 1e-3, tt.rank, tt.saves
				return cfg
			}
			run(t, config())
			want := files(t, config().Out)
			if err := os.RemoveAll(config().Out); err != nil {
				t.Fatal(err)
			}
			for _, steps := range []int{3, 2} {
				ctx, cancel := context.WithCancel(t.Context())
				cfg := config()
				cfg.Log = slog.New(&stopper{cfg.Log.Handler(), cancel, steps})
				if _, err := Run(ctx, cfg); !errors.Is(err, context.Canceled) {
					t.Fatalf("got %v, want a stopped run", err)
				}
				if _, err := os.Stat(cfg.Out); err == nil {
					t.Fatal("a stopped run left a policy")
				}
				if _, err := os.Stat(cfg.partial()); err != nil {
					t.Fatalf("a stopped run kept nothing: %v", err)
				}
			}
			run(t, config())
			if diff := cmp.Diff(want, files(t, config().Out)); diff != "" {
				t.Errorf("stopped and gone on (-unbroken +got):\n%.2000s", diff)
			}
			if left, _ := filepath.Glob(filepath.Join(b.dir, "*.partial")); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

func TestUnfinishedRunOfOtherRows(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	cfg := b.config(t, "sft", "child", expert(5))
	cfg.Epochs, cfg.Batch, cfg.SaveSteps = 3, 2, 1
	cfg.Log = slog.New(&stopper{cfg.Log.Handler(), cancel, 3})
	if _, err := Run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	cfg = b.config(t, "sft", "child", expert(4))
	cfg.Epochs, cfg.Batch = 3, 2
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "unfinished run with other rows") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestNoSignal(t *testing.T) {
	for _, rank := range []int{0, 4} {
		b := newBench(t)
		rows := append(b.played(2, 0.5, 0.5), b.played(3, 1)[2:]...)
		cfg := b.config(t, "grpo", "child", rows)
		cfg.RequireSignal, cfg.LoRARank = true, rank
		_, err := Run(t.Context(), cfg)
		if !errors.Is(err, ErrNoSignal) || !strings.Contains(err.Error(), "2 with equal rewards, 1 of one attempt") {
			t.Errorf("got %v, want no signal, with the reasons", err)
		}
		if _, err := os.Stat(cfg.Out); err == nil {
			t.Error("a policy was written all the same")
		}
		cfg = b.config(t, "grpo", "child", rows)
		cfg.LoRARank = rank
		if st := run(t, cfg); st.Updated || (rank == 0 && st.Hash != b.hash) {
			t.Errorf("rank %d: updated %v, hash %s, want the parent's %s", rank, st.Updated, st.Hash, b.hash)
		}
		p, err := checkpoint.Open(cfg.Out, checkpoint.Options{})
		if err != nil || p.Manifest.Updated || p.Manifest.Step != 0 {
			t.Fatalf("manifest %+v, %v", p.Manifest, err)
		}
		p.Close()
		before, after := b.likelihoods(t, b.parent, rows), b.likelihoods(t, cfg.Out, rows)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("rank %d: the child differs (-parent +child):\n%s", rank, diff)
		}
	}
}

// TestMastersAreInherited: float32 values go from parent to child, so that many
// small steps are not lost in the rounding of the weights that are played.
func TestMastersAreInherited(t *testing.T) {
	b := newBench(t)
	cfg := b.config(t, "grpo", "child", b.played(2, 1, 0))
	cfg.LR = 1e-5
	st := run(t, cfg)
	flat := b.played(2, 1, 1)
	for i := range flat {
		flat[i].Policy.Hash = st.Hash
	}
	grandchild := b.config(t, "grpo", "grandchild", flat)
	grandchild.Policy = cfg.Out
	run(t, grandchild)
	a, c := files(t, filepath.Join(cfg.Out, "trainer")), files(t, filepath.Join(grandchild.Out, "trainer"))
	if a["trainer.safetensors"] != c["trainer.safetensors"] {
		t.Error("masters or moments changed without an update")
	}
	parent := b.config(t, "grpo", "other", b.played(2, 1, 1))
	run(t, parent)
	if o := files(t, filepath.Join(parent.Out, "trainer")); o["trainer.safetensors"] == a["trainer.safetensors"] {
		t.Error("an update left the masters as they were")
	}
}

func TestRefusals(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name, method string
		change       func(r *traj.Scored)
		want         string
	}{
		{"test split", "sft", func(r *traj.Scored) { r.Question.Split = question.Test }, `stdin:2: question.split: is "test", want "train"`},
		{"no split", "grpo", func(r *traj.Scored) { r.Question.Split = "" }, `stdin:2: question.split: is "", want "train"`},
		{"oracle", "grpo", func(r *traj.Scored) { r.Policy.Oracle = "search" }, `stdin:2: policy.oracle: is "search"`},
		{"no tokens", "grpo", func(r *traj.Scored) { r.TokenIDs, r.Trained, r.LogProbs = nil, nil, nil }, `stdin:2: token_ids: missing; --method grpo needs sampled tokens`},
		{"other policy", "grpo", func(r *traj.Scored) { r.Policy.Hash = "0123456789abcdef" }, `stdin:2: policy.hash: is 0123456789ab…, want ` + b.hash[:12]},
		{"greedy", "grpo", func(r *traj.Scored) { r.Sampling.Temperature = 0 }, `stdin:2: sampling.temperature: is 0`},
		{"foreign vocabulary", "grpo", func(r *traj.Scored) { r.TokenIDs[2] = 99999 }, `stdin:2: token_ids: entry 2 is 99999, want 0 to`},
		{"nothing trained", "grpo", func(r *traj.Scored) { clear(r.Trained) }, `stdin:2: trained: 0 trained tokens in the row`},
		{"no assistant", "sft", func(r *traj.Scored) { r.TokenIDs, r.Trained, r.LogProbs = nil, nil, nil }, `stdin:2: messages: no assistant message`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows := b.played(1, 1, 0)
			tt.change(&rows[1])
			cfg := b.config(t, tt.method, "refused", rows)
			_, err := Run(t.Context(), cfg)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if left, _ := filepath.Glob(filepath.Join(b.dir, "*refused*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestStaleness(t *testing.T) {
	b := newBench(t)
	cfg := b.config(t, "grpo", "child", b.played(1, 1, 0))
	run(t, cfg)
	stale := b.config(t, "grpo", "grandchild", b.played(1, 1, 0)) // of the grandparent
	stale.Policy = cfg.Out
	if _, err := Run(t.Context(), stale); err == nil || !strings.Contains(err.Error(), "policy.hash") {
		t.Errorf("got %v, want a refusal", err)
	}
	stale = b.config(t, "grpo", "grandchild", b.played(1, 1, 0))
	stale.Policy, stale.MaxStaleness = cfg.Out, 1
	run(t, stale)
}

func TestWhichRows(t *testing.T) {
	b := newBench(t)
	reward := 1.0
	of := expert(4)
	wrong, cut, failed, unjudged := of[0], of[1], of[2], of[3]
	wrong.Verdict = &traj.Verdict{}
	cut.Turns = []chat.Turn{{FinishReason: chat.FinishLength}}
	failed.Stop, failed.Failure, failed.Messages = traj.Failed, &traj.Failure{Boundary: "env"}, nil
	unjudged.Verdict = nil
	st := run(t, b.config(t, "sft", "child", []traj.Scored{wrong, cut, failed, unjudged}))
	if st.Rows != 0 || st.Filtered != 1 || st.Cut != 1 || st.Failed != 1 || st.Unjudged != 1 {
		t.Errorf("sft: %+v", st)
	}
	all := b.config(t, "sft", "all", []traj.Scored{wrong, cut, failed, unjudged})
	all.Filter, all.Cut = "all", "train"
	if st := run(t, all); st.Rows != 3 || st.Failed != 1 {
		t.Errorf("sft, all: %+v", st)
	}
	unseen := expert(6)[5]
	unseen.Calls = []traj.Call{{Tool: "search_emails", IDs: []string{"a"}}, {Turn: 1, Tool: "read_email", IDs: []string{"b"}}}
	if st := run(t, b.config(t, "sft", "unseen", []traj.Scored{unseen, expert(5)[4]})); st.Rows != 1 || st.Unseen != 1 {
		t.Errorf("sft, a mail read that was not shown: %+v", st)
	}
	short := b.config(t, "sft", "short", []traj.Scored{expert(5)[4], wrong, cut, unjudged})
	short.Filter = "!correct || kind == 'nowhere'"
	if st := run(t, short); st.Rows != 1 || st.Unjudged != 1 || st.Filtered != 2 {
		t.Errorf("sft, %s: %+v", short.Filter, st)
	}
	rows := b.played(1, 1, 0, -2, 7)
	rows[2].Stop = traj.Length
	rows[3].Stop, rows[3].Failure, rows[3].Reward = traj.Failed, &traj.Failure{Boundary: "env"}, &reward
	if st := run(t, b.config(t, "grpo", "grpo", rows)); st.Rows != 2 || st.Cut != 1 || st.Failed != 1 {
		t.Errorf("grpo: %+v", st)
	}
}

func TestCheck(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"method", func(c *Config) { c.Method = "ppo" }, `--method "ppo": want one of [grpo sft distill]`},
		{"advantage", func(c *Config) { c.RL.Advantage = "grp" }, `--advantage "grp": want one of`},
		{"filter", func(c *Config) { c.Filter = "corect" }, `--filter "corect": unknown name corect`},
		{"filter of a group", func(c *Config) { c.Method, c.Filter = "grpo", "correct" }, `--filter "correct": want it with --method sft alone`},
		{"epochs", func(c *Config) { c.Epochs = 0 }, `--epochs 0: want 1 or more`},
		{"too many epochs", func(c *Config) { c.Epochs = 1 << 40 }, `--epochs 1099511627776: want at most 10000`},
		{"save steps", func(c *Config) { c.SaveSteps = -1 }, `--save-steps -1: want 0 or more`},
		{"save every", func(c *Config) { c.SaveEvery = -time.Second }, `--save-every -1: want 0 or more`},
		{"weight decay", func(c *Config) { c.Optimizer.WeightDecay = -.1 }, `--weight-decay -0.1: want 0 or more`},
		{"clip norm", func(c *Config) { c.Optimizer.ClipNorm = math.NaN() }, `--clip-norm NaN: want 0 or more`},
		{"rank", func(c *Config) { c.LoRARank = 1 << 30 }, `--lora-rank 1073741824: want at most`},
		{"adapters without a rank", func(c *Config) { c.RSLoRA = true }, `--lora-alpha, --lora-target, --rslora, --lora-dropout: there are no adapters`},
		{"dropout", func(c *Config) { c.LoRARank, c.LoRADropout = 2, 1 }, `--lora-dropout 1: want 0 or more, below 1`},
		{"target", func(c *Config) { c.LoRARank, c.LoRATargets = 2, []string{"query"} }, `--lora-target "query": want one of [q_proj`},
		{"no rows", func(*Config) {}, `no rows to train on in `},
		{"lr", func(c *Config) { c.LR = -1 }, `learning rate -1`},
		{"in place", func(c *Config) { c.Out = c.Policy + "/" }, `is the parent's folder`},
		{"no out", func(c *Config) { c.Out = "" }, `--policy and --out are needed`},
	} {
		cfg := b.config(t, "grpo", "child", nil)
		tt.change(&cfg)
		if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}
