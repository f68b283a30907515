package checkpoint_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/checkpoint"
	"agentmill/internal/checkpoint/tinypolicy"
)

// TestExportGGUF: a policy of each family comes back from a GGUF file with the
// same configuration, tokenizer, template and weights.
func TestExportGGUF(t *testing.T) {
	for _, shape := range []string{"tiny", "tiny-qwen2", "tiny-qwen3"} {
		t.Run(shape, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := tinypolicy.WriteShape(filepath.Join(dir, "p"), shape, 3); err != nil {
				t.Fatal(err)
			}
			p := openPolicy(t, filepath.Join(dir, "p"))
			m, err := checkpoint.SaveGGUF(filepath.Join(dir, "q"), p, checkpoint.Manifest{Method: "export gguf"})
			if err != nil {
				t.Fatal(err)
			}
			q := openPolicy(t, filepath.Join(dir, "q"))
			if q.Hash != m.Hash || q.Manifest.Parent != p.Hash {
				t.Errorf("manifest %+v", q.Manifest)
			}
			if q.ChatTemplate() != p.ChatTemplate() || cmp.Diff(p.TemplateTokens(), q.TemplateTokens()) != "" {
				t.Error("another template, or other control tokens")
			}
			const text = "search the date 12 naïve <|im_end|>"
			if diff := cmp.Diff(p.Tokenizer.EncodeSpecial(text), q.Tokenizer.EncodeSpecial(text)); diff != "" {
				t.Errorf("tokens (-was +is):\n%s", diff)
			}
			if p.Config.RopeTheta != q.Config.RopeTheta || p.Config.RMSNormEps != q.Config.RMSNormEps || p.Config.TieWordEmbeddings != q.Config.TieWordEmbeddings || p.Config.VocabSize != q.Config.VocabSize {
				t.Errorf("configuration: was %+v, is %+v", p.Config, q.Config)
			}
			for _, name := range p.Names() {
				want, shape, err := p.Tensor(name)
				if err != nil {
					t.Fatal(err)
				}
				got, gotShape, err := q.Tensor(name)
				if err != nil || cmp.Diff(shape, gotShape) != "" || cmp.Diff(want, got) != "" {
					t.Errorf("%s: other values or shape %v, %v", name, gotShape, err)
				}
			}
		})
	}
}

func openPolicy(t *testing.T, dir string) *checkpoint.Policy {
	t.Helper()
	p, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
