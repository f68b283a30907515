package llama_test

import (
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
	"agentmill/internal/model"
	"agentmill/internal/model/decoder"
	"agentmill/internal/model/llama"
	"agentmill/internal/model/modeltest"
)

// TestContract: grouped heads, own output matrix; then tied output matrix, one
// key head, biases.
func TestContract(t *testing.T) {
	grouped := modeltest.Tiny("llama")
	biased := grouped
	biased.TieWordEmbeddings, biased.NumKeyValueHeads, biased.AttentionBias, biased.MLPBias = true, 1, true, true
	for name, cfg := range map[string]model.Config{"grouped": grouped, "biased": biased} {
		t.Run(name, func(t *testing.T) {
			modeltest.Run(t, modeltest.Family{Config: cfg, Source: decoder.Random(cfg, llama.Design(cfg), 1), New: llama.New}, cpus(t)...)
		})
	}
}

// TestGolden: an own output matrix and ten steps of training; then the rotation
// of Llama 3.1, a tied output matrix and biases.
func TestGolden(t *testing.T) {
	for _, name := range []string{"llama", "llama3"} {
		t.Run(name, func(t *testing.T) {
			modeltest.Golden(t, "testdata/"+name+".safetensors", llama.New, cpus(t)[0])
		})
	}
}

// cpus are the kernel paths of this machine, the fastest first.
func cpus(t *testing.T) []device.Backend {
	t.Helper()
	var backends []device.Backend
	for _, path := range cpu.Paths() {
		b, err := cpu.New(2, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		backends = append(backends, b)
	}
	return backends
}
