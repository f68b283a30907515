package qwen3_test

import (
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/device/cpu"
	"agentmill/internal/model/decoder"
	"agentmill/internal/model/modeltest"
	"agentmill/internal/model/qwen3"
)

func TestContract(t *testing.T) {
	cfg := modeltest.Tiny("qwen3")
	modeltest.Run(t, modeltest.Family{Config: cfg, Source: decoder.Random(cfg, qwen3.Design(cfg), 1), New: qwen3.New}, cpus(t)...)
}

func TestGolden(t *testing.T) {
	for _, name := range []string{"tied", "untied"} {
		t.Run(name, func(t *testing.T) {
			modeltest.Golden(t, "testdata/"+name+".safetensors", qwen3.New, cpus(t)[0])
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
