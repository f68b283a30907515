package interop

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"agentmill/internal/tokenizer"
)

// tokenizers are the vocabularies that are compared: small ones trained with the
// published rules of each family, SmolLM2's own, and those published folders
// that AGENTMILL_TOKENIZERS holds (NAME/tokenizer.json).
func tokenizers(t *testing.T) map[string]string {
	t.Helper()
	paths := map[string]string{}
	for _, kind := range []string{"gpt2", "smollm", "qwen2", "llama3"} {
		paths[kind] = "../../internal/tokenizer/testdata/" + kind + ".tokenizer.json"
	}
	published, err := filepath.Glob(filepath.Join(os.Getenv("AGENTMILL_TOKENIZERS"), "*", "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range published {
		paths[filepath.Base(filepath.Dir(path))] = path
	}
	if dir := os.Getenv("AGENTMILL_SMOLLM2"); dir != "" {
		paths["smollm2"] = filepath.Join(t.TempDir(), "smollm2.json")
		script(t, "tokenizer.py", "json", filepath.Join(dir, "model.gguf"), paths["smollm2"])
	}
	return paths
}

// script runs one of the Python scripts.
func script(t *testing.T, args ...string) {
	t.Helper()
	exe := os.Getenv("AGENTMILL_PYTHON")
	if exe == "" {
		t.Skip("AGENTMILL_PYTHON is not set to a Python with transformers: make test-interop sets it")
	}
	if out, err := exec.Command(exe, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// TestTokenizersAgree compares AGENTMILL_LINES (20,000) texts of mixedtext.py a
// vocabulary, id for id, and what random ids decode to.
func TestTokenizersAgree(t *testing.T) {
	lines := os.Getenv("AGENTMILL_LINES")
	if lines == "" {
		lines = "20000"
	}
	for name, path := range tokenizers(t) {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			tok, err := tokenizer.FromJSON(data)
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "ids")
			script(t, "tokenizer.py", "ids", path, lines, "1", out)
			f, err := os.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			n := compare(t, tok, bufio.NewReaderSize(f, 1<<20))
			if want, _ := strconv.Atoi(lines); n != want {
				t.Errorf("compared %d texts, want %d", n, want)
			}
		})
	}
}

// compare reads what tokenizer.py wrote and returns the number of texts.
func compare(t *testing.T, tok *tokenizer.Tokenizer, r io.Reader) int {
	t.Helper()
	bad, texts := 0, 0
	for ; ; texts++ {
		text, want, err := record(r)
		if errors.Is(err, errEnd) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.EncodeSpecial(text); !slices.Equal(got, want) {
			if bad++; bad <= 10 {
				t.Errorf("EncodeSpecial(%q)\n  = %v %q\nwant %v %q", text, got, pieces(tok, got), want, pieces(tok, want))
			}
		}
	}
	for {
		text, ids, err := record(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Decode(ids); got != text {
			if bad++; bad <= 20 {
				t.Errorf("Decode(%v) = %q, want %q", ids, got, text)
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d texts differ", bad, texts)
	}
	return texts
}

func pieces(tok *tokenizer.Tokenizer, ids []int32) (out []string) {
	for _, id := range ids {
		out = append(out, string(tok.DecodeBytes([]int32{id})))
	}
	return out
}

// errEnd is the mark between texts and rows of ids.
var errEnd = errors.New("end of texts")

func record(r io.Reader) (text string, ids []int32, err error) {
	var n uint32
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return "", nil, err
	}
	if n == 1<<32-1 {
		return "", nil, errEnd
	}
	raw := make([]byte, n)
	if _, err := io.ReadFull(r, raw); err != nil {
		return "", nil, err
	}
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return "", nil, err
	}
	ids = make([]int32, n)
	return string(raw), ids, binary.Read(r, binary.LittleEndian, ids)
}
