package train

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentmill/internal/checkpoint"
	"agentmill/internal/clock"
	"agentmill/internal/device/cpu"
	"agentmill/internal/model"
	"agentmill/internal/model/llama"
	"agentmill/internal/numtest"
	"agentmill/internal/optim"
	"agentmill/internal/rl"
	"agentmill/internal/safetensors"
)

const trlScript = "../../tools/golden/training.py"

// A trl is what TRL, PEFT and PyTorch computed of one batch.
type trl struct {
	*testing.T
	file *safetensors.File
	cfg  model.Config
}

func openTRL(t *testing.T) *trl {
	t.Helper()
	f, err := safetensors.Open("testdata/trl.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	script, err := os.ReadFile(trlScript)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(script)
	if f.Metadata()["script"] != hex.EncodeToString(sum[:]) {
		t.Fatalf("%s was not written by this %s: run it again", f.Path(), trlScript)
	}
	cfg, err := model.ParseConfig([]byte(f.Metadata()["config"]))
	if err != nil {
		t.Fatal(err)
	}
	return &trl{t, f, cfg}
}

func (g *trl) get(name string) []float32 {
	g.Helper()
	v, _, err := g.file.Tensor(name)
	if err != nil {
		g.Fatal(err)
	}
	return v
}

func (g *trl) source(prefix string) model.MapSource {
	g.Helper()
	src := model.MapSource{}
	for _, name := range g.file.Names() {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			v, shape, err := g.file.Tensor(name)
			if err != nil {
				g.Fatal(err)
			}
			src[rest] = model.Tensor{Values: v, Shape: shape}
		}
	}
	return src
}

// sizes of the batch in the script.
const trlRows, trlPrompt, trlCompletion = 4, 5, 10

// trainer is ours on the file's model, rows and log-probabilities before the
// update and of the reference.
func (g *trl) trainer(change func(*Config)) *trainer {
	g.Helper()
	backend, err := cpu.New(2, "")
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = backend.Close() })
	cfg := Config{
		Method: "grpo", RL: DefaultRL(), TokensPerBatch: 30, LR: 1e-2, Schedule: "constant", Backend: backend,
		Clock: clock.FixedAt(time.Unix(0, 0)), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Optimizer: optim.Config{Beta1: .9, Beta2: .95, Eps: 1e-8, WeightDecay: .1, ClipNorm: .05},
	}
	cfg.RL.Importance.Kind = rl.Uncorrected
	change(&cfg)
	cfg.RL = cfg.RL.withDefaults(cfg.Method)
	lora := model.LoRA{Rank: 2, Alpha: 5, Targets: model.AllProjections()}
	m, err := llama.New(g.cfg, backend, g.source("param."), model.Options{Train: model.TrainLoRA, LoRA: lora, Adapter: g.source("lora.")})
	if err != nil {
		g.Fatal(err)
	}
	tr := &trainer{
		stage: &stage{cfg: cfg, parent: &checkpoint.Policy{}}, model: m, lora: &lora,
		opt: optim.New(backend, m.Weights().Params(), cfg.Optimizer), schedule: cfg.schedule(10),
		known: known{old: map[*row][]float32{}, reference: map[*row][]float32{}},
	}
	g.Cleanup(tr.close)
	tr.updates = [][]sample{g.samples(tr)}
	return tr
}

// samples are the rows, prompt and completion together, with what is known of
// them.
func (g *trl) samples(tr *trainer) (samples []sample) {
	prompts, completions := g.get("prompt_ids"), g.get("completion_ids")
	in, tool := g.get("completion_mask"), g.get("tool_mask")
	for i := range trlRows {
		r := &row{id: strconv.Itoa(i), invTemp: 1}
		r.credit.Attempt = i
		for _, id := range prompts[i*trlPrompt:][:trlPrompt] {
			r.IDs, r.Trained = append(r.IDs, int32(id)), append(r.Trained, false)
		}
		for k := i * trlCompletion; k < (i+1)*trlCompletion && in[k] != 0; k++ {
			trained := tool[k] != 0
			r.IDs, r.Trained = append(r.IDs, int32(completions[k])), append(r.Trained, trained)
			if trained {
				r.turns = append(r.turns, 0)
				tr.known.old[r] = append(tr.known.old[r], g.get("old")[k])
				tr.known.reference[r] = append(tr.known.reference[r], g.get("reference")[k])
			}
		}
		samples = append(samples, sample{row: r, credit: rl.Credit{OK: true, Advantage: float64(g.get("advantages")[i])}})
	}
	return samples
}

func clipped(low, high float64) func(*Config) {
	return func(c *Config) { c.RL.Loss.Kind, c.RL.Loss.Low, c.RL.Loss.High = rl.Clip, low, high }
}

// trlCases are the script's losses as options here.
var trlCases = map[string]func(*Config){
	"clip-token":    clipped(.2, .28),
	"clip-sequence": func(c *Config) { clipped(.2, .2)(c); c.RL.Aggregate = rl.BySequence },
	"clip-constant": func(c *Config) { clipped(.2, .2)(c); c.RL.Aggregate, c.RL.Limit = rl.ByConstant, 12 },
	"dual-clip":     func(c *Config) { c.RL.Loss.Kind, c.RL.Loss.Dual, c.RL.Aggregate = rl.DualClip, 1.5, rl.BySequence },
	"cispo":         func(c *Config) { c.RL.Loss.Kind = rl.CISPO },
	"gspo":          func(c *Config) { c.RL.Loss.Kind = rl.GSPO },
	"kl":            func(c *Config) { clipped(.2, .2)(c); c.RL.Loss.KL, c.RL.Loss.KLCoef = rl.K3, .1 },
	"sft":           func(c *Config) { c.Method = "sft" },
}

// TestParityWithTRL: log-probabilities, the loss and every gradient of the
// adapters of one batch, off policy, in several micro-batches. Both sides compute
// in float32, in another order.
func TestParityWithTRL(t *testing.T) {
	g := openTRL(t)
	for name, change := range trlCases {
		t.Run(name, func(t *testing.T) {
			g := &trl{t, g.file, g.cfg}
			tr := g.trainer(change)
			batch, _ := tr.weighed(tr.updates[0])
			tr.model.Weights().ZeroGrads()
			var seen observed
			loss := 0.0
			for _, micro := range pack(batch, tr.cfg.TokensPerBatch) {
				_, l, err := tr.accumulate(micro, &seen)
				if err != nil {
					t.Fatal(err)
				}
				loss += l
			}
			numtest.Close(t, "loss", []float32{float32(loss)}, g.get(name+".loss"), numtest.Tol{Abs: 2e-6, Rel: 1e-5})
			for i, grad := range tr.gradients() {
				p := tr.model.Weights().Params()[i]
				numtest.Close(t, "gradient of "+p.Name, grad, g.get(name+".grad."+p.Name), numtest.Tol{Abs: 5e-6, Rel: 1e-4})
			}
		})
	}
}

// TestLogProbsAreTRLs: of each trained token.
func TestLogProbsAreTRLs(t *testing.T) {
	g := openTRL(t)
	tr := g.trainer(trlCases["clip-token"])
	scores, err := scoreRows(t.Context(), tr.model, unique(tr.updates), 30)
	if err != nil {
		t.Fatal(err)
	}
	tool := g.get("tool_mask")
	for i, s := range tr.updates[0] {
		var want []float32
		for k := range len(s.IDs) - trlPrompt {
			if at := i*trlCompletion + k; tool[at] != 0 {
				want = append(want, g.get("logp")[at])
			}
		}
		numtest.Close(t, s.id, scores[s.row], want, numtest.Tol{Abs: 1e-5, Rel: 1e-5})
	}
}

// TestTenStepsOfAdamW on the adapters, with the gradient clipped.
func TestTenStepsOfAdamW(t *testing.T) {
	for _, name := range []string{"sft", "clip-token"} {
		g := openTRL(t)
		tr := g.trainer(trlCases[name])
		var losses, norms []float32
		for range 10 {
			m, err := tr.update(tr.updates[0])
			if err != nil {
				t.Fatal(err)
			}
			losses, norms = append(losses, float32(m.Loss)), append(norms, float32(m.GradNorm))
		}
		numtest.Close(t, name+" losses", losses, g.get(name+".losses"), numtest.Tol{Abs: 1e-5, Rel: 1e-4})
		numtest.Close(t, name+" norms", norms, g.get(name+".norms"), numtest.Tol{Abs: 1e-5, Rel: 1e-3})
		for _, p := range tr.model.Weights().Params() {
			got := make([]float32, p.Values.Len())
			tr.cfg.Backend.Download(got, p.Values)
			numtest.Close(t, name+" final "+p.Name, got, g.get(name+".final."+p.Name), numtest.Tol{Abs: 3e-4, Rel: 1e-3})
		}
	}
}
