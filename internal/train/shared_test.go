package train

import (
	"flag"
	"slices"
	"testing"

	"agentmill/internal/checkpoint"
	"agentmill/internal/dataset"
	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
	"agentmill/internal/model"
	"agentmill/internal/model/llama"
	"agentmill/internal/numtest"
)

// TestGroupsShareTheirPrompt: rows of a group are neighbours in a pass, what they
// begin with counts and is computed once, and their log-probabilities are the bits
// that each has by itself.
func TestGroupsShareTheirPrompt(t *testing.T) {
	b := newBench(t)
	cfg := b.config(t, "grpo", "child", b.played(3, 1, 0, 0.5, -1))
	tr := newTrainer(t, cfg)
	rows := tr.updates[0]
	apart, longest := 0, 0
	for _, s := range rows {
		apart, longest = apart+len(s.Input()), max(longest, len(s.Input()))
	}
	limit, tokens := longest+10, 0
	for _, micro := range pack(rows, limit) {
		p, err := packed(micro)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.IDs) > limit {
			t.Errorf("a pass has %d tokens, want %d at most", len(p.IDs), limit)
		}
		for i, s := range micro[1:] {
			if s.row.credit.Group != micro[i].row.credit.Group && slices.ContainsFunc(micro[i+1:], func(x sample) bool { return x.row.credit.Group == micro[i].row.credit.Group }) {
				t.Errorf("group %s is not together", micro[i].row.credit.Group)
			}
		}
		tokens += len(p.IDs)
	}
	if m, err := tr.update(rows); err != nil || m.Tokens >= tokens || tokens >= apart {
		t.Errorf("%d tokens of %d in small passes, %d in large ones, error %v: want fewer each time", tokens, apart, m.Tokens, err)
	}
	shared, err := scoreRows(t.Context(), tr.model, unique(tr.updates), limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range rows {
		p, err := model.Pack([]model.Sample{s.Sample})
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float32, len(p.Targets))
		tr.model.Forward(p, want, false)
		numtest.Close(t, s.id, shared[s.row], want, numtest.Tol{})
	}
}

// What BenchmarkGroup trains on what.
var (
	benchPolicy = flag.String("policy", "", "BenchmarkGroup: folder of the policy")
	benchRows   = flag.String("rows", "", "BenchmarkGroup: scored rows of it")
)

// BenchmarkGroup is one GRPO update of real rows, its prompts computed once a pass
// and anew for every row:
//
//	go test ./internal/train -run - -bench Group -args -policy DIR -rows FILE
func BenchmarkGroup(b *testing.B) {
	if *benchPolicy == "" || *benchRows == "" {
		b.Skip("want -policy and -rows")
	}
	backend, err := cpu.New(0, "")
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	parent, err := checkpoint.Open(*benchPolicy, checkpoint.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer parent.Close()
	cfg := Config{Source: dataset.Source{Paths: []string{*benchRows}}, Method: "grpo", RL: DefaultRL(), Cut: "mask", Epochs: 1, TokensPerBatch: 2048, MaxStaleness: 1 << 20}
	s := &stage{cfg: cfg.withDefaults(), parent: parent}
	if err := s.read(b.Context()); err != nil {
		b.Fatal(err)
	}
	rows := s.choose()
	for _, precision := range []struct {
		name  string
		dtype device.DType
	}{{"f32", device.F32}, {"bf16", device.BF16Dot}} {
		m, err := llama.New(parent.Config, backend, parent.Merged(), model.Options{Train: model.TrainFull, DType: precision.dtype})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(precision.name+"/shared", func(b *testing.B) { passes(b, m, sharedBatches(b, rows)) })
		b.Run(precision.name+"/apart", func(b *testing.B) { passes(b, m, apartBatches(b, rows)) })
		m.Close()
	}
}

func sharedBatches(b *testing.B, rows []sample) (all []*model.Batch) {
	b.Helper()
	for _, micro := range pack(rows, 2048) {
		p, err := packed(micro)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// apartBatches fill passes as full with rows that share nothing.
func apartBatches(b *testing.B, rows []sample) (all []*model.Batch) {
	b.Helper()
	for len(rows) > 0 {
		var micro []model.Sample
		for n := 0; len(rows) > 0 && (n == 0 || n+len(rows[0].Input()) <= 2048); rows = rows[1:] {
			micro, n = append(micro, rows[0].Sample), n+len(rows[0].Input())
		}
		p, err := model.Pack(micro)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func passes(b *testing.B, m model.Model, batches []*model.Batch) {
	b.Helper()
	tokens := 0
	for _, p := range batches {
		tokens += len(p.IDs)
	}
	update(m, batches[:1]) // the first touches memory
	for b.Loop() {
		update(m, batches)
	}
	b.ReportMetric(float64(tokens), "tokens")
	b.ReportMetric(float64(len(batches)), "passes")
}

func update(m model.Model, batches []*model.Batch) {
	m.Weights().ZeroGrads()
	for _, p := range batches {
		logp := make([]float32, len(p.Targets))
		m.Forward(p, logp, true)
		m.Backward(logp)
	}
}
