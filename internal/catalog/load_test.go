package catalog_test

import (
	"os"
	"testing"

	"agentmill/internal/catalog"
	"agentmill/internal/checkpoint"
	"agentmill/internal/device"
	"agentmill/internal/model"
)

// BenchmarkLoad opens the policy folder that AGENTMILL_SMOLLM2 names and builds its
// model: what a program does before its first token.
func BenchmarkLoad(b *testing.B) {
	dir := os.Getenv("AGENTMILL_SMOLLM2")
	if dir == "" {
		b.Skip("AGENTMILL_SMOLLM2 is not set to a policy folder (make model)")
	}
	b.Run("part=open", func(b *testing.B) {
		for b.Loop() {
			p, err := checkpoint.Open(dir, checkpoint.Options{})
			if err != nil {
				b.Fatal(err)
			}
			_ = p.Close()
		}
	})
	for name, dtype := range map[string]device.DType{"f32": device.F32, "w16": device.BF16} {
		b.Run("part=model/precision="+name, func(b *testing.B) {
			p, err := checkpoint.Open(dir, checkpoint.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			for b.Loop() {
				backend, err := catalog.Device("cpu", 0)
				if err != nil {
					b.Fatal(err)
				}
				m, err := catalog.NewModel(p.Config, backend, p.Merged(), model.Options{DType: dtype})
				if err != nil {
					b.Fatal(err)
				}
				m.Close()
				_ = backend.Close()
			}
		})
	}
}
