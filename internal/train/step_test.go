package train

import (
	"testing"

	"agentmill/internal/checkpoint"
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/numtest"
	"agentmill/internal/rl"
	"agentmill/internal/traj"
)

var playing = model.Options{DType: device.F32}

// logProbs are those of the trained tokens of t.
func logProbs(t *testing.T, m model.Model, r *traj.Trajectory) []float32 {
	t.Helper()
	b, err := model.Pack([]model.Sample{{IDs: r.TokenIDs, Trained: r.Trained}})
	if err != nil {
		t.Fatal(err)
	}
	logp := make([]float32, len(b.Targets))
	m.Forward(b, logp, false)
	return logp
}

// newTrainer is a trainer before its first update.
func newTrainer(t *testing.T, cfg Config) *trainer {
	t.Helper()
	cfg = cfg.withDefaults()
	parent, err := checkpoint.Open(cfg.Policy, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { parent.Close() })
	s := &stage{cfg: cfg, parent: parent}
	if err := s.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	tr, err := s.start(t.Context(), plan(cfg, s.choose()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.close)
	return tr
}

func (t *trainer) gradients() (all [][]float32) {
	for _, p := range t.model.Weights().Params() {
		g := make([]float32, p.Grad.Len())
		t.cfg.Backend.Download(g, p.Grad)
		all = append(all, g)
	}
	return all
}

// TestGradientIsREINFORCEs: on policy the gradient of an update is that of
// −Σ A·log π / N, summed row by row, however rows are packed and whatever their
// temperatures.
func TestGradientIsREINFORCEs(t *testing.T) {
	b := newBench(t)
	rows := b.played(3, 1, 0, 0.5, -1)
	rows[1].Sampling.Temperature = 0.7
	cfg := b.config(t, "grpo", "child", rows)
	cfg.TokensPerBatch, cfg.RL.Importance.Kind = 60, rl.Uncorrected
	tr := newTrainer(t, cfg)
	batch, total := tr.weighed(tr.updates[0])
	micro := pack(batch, cfg.TokensPerBatch)
	if len(micro) < 3 {
		t.Fatalf("%d micro-batches, want several", len(micro))
	}
	tr.model.Weights().ZeroGrads()
	var seen observed
	for _, m := range micro {
		if _, _, err := tr.accumulate(m, &seen); err != nil {
			t.Fatal(err)
		}
	}
	got := tr.gradients()

	tr.model.Weights().ZeroGrads()
	for _, s := range batch {
		p, err := model.Pack([]model.Sample{s.Sample})
		if err != nil {
			t.Fatal(err)
		}
		p.InvTemp = s.invTemp
		n := len(p.Targets)
		logp, dlogp := make([]float32, n), make([]float32, n)
		tr.model.Forward(p, logp, true)
		for i := range dlogp {
			dlogp[i] = float32(-s.credit.Advantage / float64(total))
		}
		tr.model.Backward(dlogp)
	}
	for i, want := range tr.gradients() {
		numtest.Close(t, tr.model.Weights().Params()[i].Name, got[i], want, numtest.Tol{Abs: 1e-6, Rel: 1e-4})
	}
}

// TestDriftIsMeasured: rows whose log-probabilities are the trainer's own show
// none, others show by how much, truncated ones are compared in full.
func TestDriftIsMeasured(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name   string
		change func(r *traj.Trajectory)
		mean   float64
	}{
		{"same numbers", func(*traj.Trajectory) {}, 0},
		{"off by a tenth", func(r *traj.Trajectory) { shift(r.LogProbs, r.Trained, 0.1) }, 0.1},
		{"truncated, full ones agree", func(r *traj.Trajectory) {
			r.LogProbsFull = append([]float32(nil), r.LogProbs...)
			shift(r.LogProbs, r.Trained, 0.5)
			r.Sampling.TopP = 0.9
		}, 0},
		{"truncated at another temperature: nothing compares", func(r *traj.Trajectory) {
			r.Sampling.TopK, r.Sampling.Temperature = 20, 0.5
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows := b.played(2, 1, 0)
			playedBy(t, b, rows)
			for i := range rows {
				tt.change(&rows[i].Trajectory)
			}
			cfg := b.config(t, "grpo", "child", rows)
			cfg.RL.Importance.Kind = rl.Uncorrected // it would refuse what does not compare
			tr := newTrainer(t, cfg)
			m, err := tr.update(tr.updates[0])
			if err != nil {
				t.Fatal(err)
			}
			numtest.Close(t, "drift", []float64{m.Compared.DriftMean, m.Compared.DriftMax}, []float64{tt.mean, tt.mean}, numtest.Tol{Abs: 1e-5})
		})
	}
}

func shift(x []float32, trained []bool, by float32) {
	for i := range x {
		if trained[i] {
			x[i] += by
		}
	}
}

// playedBy sets the log-probabilities of rows to the bench's parent's.
func playedBy(t *testing.T, b *bench, rows []traj.Scored) {
	t.Helper()
	tr := newTrainer(t, b.config(t, "grpo", "x", rows))
	for i := range rows {
		r := &rows[i].Trajectory
		logp := logProbs(t, tr.model, r)
		for k, trained := range r.Trained {
			if trained {
				r.LogProbs[k], logp = logp[0], logp[1:]
			}
		}
	}
}

// TestRenderedRowsTrainTheEndOfTurn: of a row without tokens exactly the
// assistant's words and their end are trained on.
func TestRenderedRowsTrainTheEndOfTurn(t *testing.T) {
	b := newBench(t)
	tr := newTrainer(t, b.config(t, "sft", "child", expert(1)))
	s := tr.updates[0][0]
	var text []int32
	for i, id := range s.IDs {
		if s.Trained[i] {
			text = append(text, id)
		}
	}
	if got, want := b.codec.Decode(text), "search audit 0<|im_end|>answer May 0 | 1<|im_end|>"; got != want {
		t.Errorf("trained on %q, want %q", got, want)
	}
}

// TestForeignTokensAreRendered: tokens of a policy that is no ancestor may be of
// another vocabulary.
func TestForeignTokensAreRendered(t *testing.T) {
	b := newBench(t)
	row := expert(1)[0]
	own := b.played(1, 1)[0].Trajectory
	row.TokenIDs, row.Trained, row.LogProbs = own.TokenIDs, own.Trained, own.LogProbs
	tr := newTrainer(t, b.config(t, "sft", "child", []traj.Scored{row}))
	rendered := len(tr.updates[0][0].IDs)
	row.Policy.Hash = b.hash
	tr = newTrainer(t, b.config(t, "sft", "child", []traj.Scored{row}))
	if kept := len(tr.updates[0][0].IDs); kept != len(own.TokenIDs) || rendered == kept {
		t.Errorf("foreign row has %d tokens, own %d, want them rendered and as sampled (%d)", rendered, kept, len(own.TokenIDs))
	}
}

// TestGradientUnderDropout compares the gradient of adapters with differences of
// the loss, what is dropped being the same.
func TestGradientUnderDropout(t *testing.T) {
	b := newBench(t)
	cfg := b.config(t, "grpo", "child", b.played(1, 1, 0))
	cfg.LoRARank, cfg.LoRADropout, cfg.RL.Importance.Kind = 2, .4, rl.Uncorrected
	tr := newTrainer(t, cfg)
	params := tr.model.Weights().Params()
	for i, p := range params { // B is 0 at first, and hides A
		values := make([]float32, p.Values.Len())
		for k := range values {
			values[k] = float32((i+k)%7-3) / 20
		}
		cfg.Backend.Upload(p.Values, values)
	}
	tr.model.Weights().Repack()
	batch, _ := tr.weighed(tr.updates[0])
	// REINFORCE's value is not what its gradient is of: with the advantages of the
	// first pass and CISPO's weights of 1 it is.
	pass := func() float64 {
		p, err := packed(batch)
		if err != nil {
			t.Fatal(err)
		}
		logp := make([]float32, len(p.Targets))
		tr.model.Weights().Drop(5, true)
		tr.model.Forward(p, logp, false)
		tr.model.Weights().Drop(0, false)
		loss, at := 0.0, 0
		for _, s := range batch {
			for range s.Targets() {
				loss -= s.credit.Advantage * float64(logp[at]) * s.scale
				at++
			}
		}
		return loss
	}
	tr.model.Weights().ZeroGrads()
	tr.model.Weights().Drop(5, true)
	var seen observed
	if _, _, err := tr.accumulate(batch, &seen); err != nil {
		t.Fatal(err)
	}
	tr.model.Weights().Drop(0, false)
	gradients := tr.gradients()
	for i, p := range params {
		values := make([]float32, p.Values.Len())
		cfg.Backend.Download(values, p.Values)
		k := i % len(values)
		at := func(v float32) float64 {
			changed := append([]float32{}, values...)
			changed[k] = v
			cfg.Backend.Upload(p.Values, changed)
			tr.model.Weights().Repack()
			return pass()
		}
		const step = 2e-2
		want := (at(values[k]+step) - at(values[k]-step)) / (2 * step)
		at(values[k])
		numtest.Close(t, p.Name, []float64{float64(gradients[i][k])}, []float64{want}, numtest.Tol{Abs: 2e-4, Rel: 3e-2})
	}
}
