package lint

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "agentmill"

// layers lists our packages from the bottom up. A package imports only packages
// of lower layers. A package that is in no layer fails the test: deciding where
// a package belongs is part of adding it.
var layers = [][]string{
	// edge: knows nothing of the domain
	{"internal/clock", "internal/seed", "internal/atomicfile", "internal/jsonl", "internal/ordered", "internal/numtest", "internal/half", "internal/mapped", "internal/lint", "internal/terminal", "internal/tensorboard"},
	{"internal/progress"},
	{"internal/cli", "internal/journal"},
	// vocabulary: types that flow, and pure functions over text and numbers
	{"internal/condition", "internal/chat", "internal/mail", "internal/question", "internal/stats", "internal/extract", "internal/keyword", "internal/match", "internal/device", "internal/gguf", "internal/safetensors", "internal/tokenizer", "internal/grammar"},
	// records and contracts
	{"internal/traj", "internal/dialog", "internal/near", "internal/mailstore", "internal/mailbox", "internal/realism", "internal/samplemail"},
	{"internal/chatml", "internal/dataset", "internal/env", "internal/llm", "internal/toolformat", "internal/reward", "internal/device/cpu/ref"},
	{"internal/mailsource"},
	// implementations and engines
	{"internal/agent", "internal/chattemplate", "internal/device/devicetest", "internal/env/envtest", "internal/nn"},
	{"internal/device/cpu", "internal/env/email", "internal/model", "internal/heuristic", "internal/scripted", "internal/openai", "internal/prompted", "internal/rl"},
	{"internal/env/email/emailtest", "internal/model/decoder", "internal/model/modeltest", "internal/optim"},
	{"internal/model/llama", "internal/model/qwen2", "internal/model/qwen3"},
	{"internal/checkpoint", "internal/infer", "internal/speed"},
	{"internal/checkpoint/tinypolicy"},
	// stages: one a command, never each other
	{"internal/ingest", "internal/synthq", "internal/filterq", "internal/rollout", "internal/judge", "internal/train", "internal/eval"},
	// wiring
	{"internal/catalog"},
	{"cmd/ingest", "cmd/synthq", "cmd/filterq", "cmd/rollout", "cmd/judge", "cmd/train", "cmd/eval"},
}

// free are folders whose programs may import any internal package: they are
// not part of the product.
var free = []string{"tools/", "bench/", "tests/"}

// onlyIn names, for a module, the packages of ours that may import it.
var onlyIn = map[string][]string{
	"github.com/urfave/cli/v2":          {"internal/cli", "internal/catalog", "cmd/ingest", "cmd/synthq", "cmd/filterq", "cmd/rollout", "cmd/judge", "cmd/train", "cmd/eval", "tools/samplemail", "tools/tinymodel", "tools/results"},
	"github.com/parquet-go/parquet-go":  {"internal/dataset"},
	"github.com/sashabaranov/go-openai": {"internal/openai"},
	"modernc.org/sqlite":                {"internal/mailstore", "bench/ingest"},
	"github.com/ardanlabs/jinja":        {"internal/chattemplate"},
	"github.com/guptarohit/asciigraph":  {"internal/train"},
	"google.golang.org/protobuf":        {"internal/tensorboard"},
	"gorgonia.org/cu":                   {"internal/device/cuda"},
	"math/rand":                         {},
}

func TestImportsPointDown(t *testing.T) {
	for _, complaint := range checkTree(t, "../..") {
		t.Error(complaint)
	}
}

// TestLayersAreChecked proves that the check can fail.
func TestLayersAreChecked(t *testing.T) {
	for _, tt := range []struct{ name, pkg, imports, want string }{
		{"upward", "internal/chat", module + "/internal/traj", "imports"},
		{"sibling stage", "internal/rollout", module + "/internal/judge", "imports"},
		{"no layer", "internal/unheard", "fmt", "no layer"},
		{"reserved module", "internal/chat", "gorgonia.org/cu", "may import"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := checkImport("x.go", tt.pkg, tt.imports)
			if !strings.Contains(got, tt.want) {
				t.Errorf("checkImport(%s imports %s) = %q, want a complaint with %q", tt.pkg, tt.imports, got, tt.want)
			}
		})
	}
}

func checkTree(t *testing.T, root string) []string {
	t.Helper()
	var complaints []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if rel != "." && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) || name == "models" || name == "runs" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && rel != "." { // another module
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		found, err := checkFile(path, filepath.ToSlash(filepath.Dir(rel)))
		complaints = append(complaints, found...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return complaints
}

func checkFile(path, pkg string) ([]string, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var complaints []string
	for _, spec := range file.Imports {
		if c := checkImport(path, pkg, strings.Trim(spec.Path.Value, `"`)); c != "" {
			complaints = append(complaints, c)
		}
	}
	return complaints, nil
}

// checkImport returns a complaint about package pkg importing path, or "".
func checkImport(file, pkg, path string) string {
	for mod, allowed := range onlyIn {
		if (path == mod || strings.HasPrefix(path, mod+"/") && mod != "math/rand") && !slices.Contains(allowed, pkg) {
			return fmt.Sprintf("%s: only %v may import %s", file, allowed, mod)
		}
	}
	if slices.ContainsFunc(free, func(f string) bool { return strings.HasPrefix(pkg+"/", f) }) {
		return ""
	}
	from := layerOf(pkg)
	if from < 0 {
		return fmt.Sprintf("%s: package %s is in no layer; add it to layers", file, pkg)
	}
	dep, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return ""
	}
	if to := layerOf(dep); to >= from {
		return fmt.Sprintf("%s: %s (layer %d) imports %s (layer %d)", file, pkg, from, dep, to)
	}
	return ""
}

func layerOf(pkg string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, pkg) })
}
