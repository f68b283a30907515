package interop

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"agentmill/internal/checkpoint"
	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/safetensors"
	"agentmill/internal/tokenizer"
)

// nearTie is how far our two best logits may be apart where another program's
// most probable token is another: it adds up float32 in another order.
const nearTie = 1e-3

type greedyRequest struct {
	Dir     string    `json:"dir,omitempty"`
	GGUF    string    `json:"gguf,omitempty"`
	Prompts [][]int32 `json:"prompts"`
	Tokens  int       `json:"tokens"`
}

// TestGreedyTiny: models of each family by transformers, by llama.cpp and by us.
func TestGreedyTiny(t *testing.T) {
	eachShape(t, func(t *testing.T, shape string) {
		p := write(t, filepath.Join(t.TempDir(), "tiny"), shape)
		compareGreedy(t, p, prompts(p.Tokenizer, 16), 24)
	})
}

// TestLlamaCppReadsExports: policies of each family with an adapter, as the GGUF
// file that train --export writes of them, in float32: llama.cpp finds the next
// tokens that we find with base and adapter.
func TestLlamaCppReadsExports(t *testing.T) {
	eachShape(t, func(t *testing.T, shape string) {
		root := t.TempDir()
		base := write(t, filepath.Join(root, "base"), shape)
		lora := model.LoRA{Rank: 2, Alpha: 3, Targets: model.AllProjections()}
		dir := filepath.Join(root, "adapter")
		if _, err := checkpoint.Save(dir, checkpoint.Contents{Parent: base, LoRA: &lora, Tensors: adapter(t, base, lora)}); err != nil {
			t.Fatal(err)
		}
		p, file := open(t, dir), filepath.Join(root, "exported.gguf")
		if err := checkpoint.ExportGGUF(file, p, "f32"); err != nil {
			t.Fatal(err)
		}
		compareGreedyWith(t, p, greedyRequest{GGUF: file, Prompts: prompts(base.Tokenizer, 16), Tokens: 24}, "llama.cpp")
	})
}

// TestGreedySmolLM2 runs AGENTMILL_PROMPTS prompts (20 if it is not set) from the
// same float32 weights.
func TestGreedySmolLM2(t *testing.T) {
	parent := smolLM2(t)
	dir := filepath.Join(t.TempDir(), "smollm2")
	entries, err := checkpoint.Entries(parent, safetensors.F32)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Save(dir, checkpoint.Contents{Parent: parent, Tensors: entries}); err != nil {
		t.Fatal(err)
	}
	n := 20
	if s := os.Getenv("AGENTMILL_PROMPTS"); s != "" {
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	compareGreedy(t, open(t, dir), prompts(parent.Tokenizer, n), 64)
}

// compareGreedy continues prompts by three programs. At the first difference our
// two best logits must nearly tie, and be the two tokens that were chosen.
func compareGreedy(t *testing.T, p *checkpoint.Policy, prompts [][]int32, tokens int) {
	t.Helper()
	compareGreedyWith(t, p, greedyRequest{Dir: p.Dir, Prompts: prompts, Tokens: tokens}, "transformers", "llama.cpp")
}

// compareGreedyWith compares our engine on p with what each of others makes of r.
func compareGreedyWith(t *testing.T, p *checkpoint.Policy, r greedyRequest, others ...string) {
	t.Helper()
	var theirs map[string][][]int32
	ask(t, "greedy.py", r, &theirs)
	m := engine(t, p)
	prompts, tokens := r.Prompts, r.Tokens
	ours := greedy(m, prompts, tokens)
	for _, who := range others {
		equal, tied := 0, 0
		for i, prompt := range prompts {
			theirs := theirs[who][i]
			at := firstDifference(ours[i], theirs)
			switch {
			case at == tokens, at == len(theirs) && at > 0 && control(p.Tokenizer, theirs[at-1]):
				equal++
			case at == len(theirs):
				t.Errorf("%s ends prompt %d after %d tokens, we go on with %d", who, i, at, ours[i][at])
			default:
				tied++
				checkTie(t, m, fmt.Sprintf("%s, prompt %d, token %d", who, i, at), slices.Concat(prompt, ours[i][:at]), ours[i][at], theirs[at])
			}
		}
		t.Logf("%s: %d of %d rows equal, %d part at a near tie", who, equal, len(prompts), tied)
		if equal < len(prompts)*3/4 {
			t.Errorf("%s: only %d of %d rows are equal", who, equal, len(prompts))
		}
	}
}

// control says whether id is a control token, one that text never encodes to:
// llama.cpp ends a row after one that ends the text.
func control(tok *tokenizer.Tokenizer, id int32) bool {
	return len(tok.Encode(tok.Decode([]int32{id}))) > 1
}

func firstDifference(a, b []int32) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// checkTie checks that after ids the tokens a and b are our two best, by nearly
// the same logit.
func checkTie(t *testing.T, m model.Model, where string, ids []int32, a, b int32) {
	t.Helper()
	row := logits(m, ids, true)
	order := make([]int32, len(row))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Compare(row[y], row[x]) })
	gap := row[order[0]] - row[order[1]]
	if order[0] != a || order[1] != b || gap > nearTie {
		t.Errorf("%s: we choose %d, they %d; our best are %v by %v: want a tie within %v", where, a, b, order[:2], gap, nearTie)
	}
}

// greedy continues all prompts together, each with its own cache.
func greedy(m model.Model, prompts [][]int32, tokens int) [][]int32 {
	out := make([][]int32, len(prompts))
	next := slices.Clone(prompts)
	caches := make([]device.Cache, len(prompts))
	for i, p := range prompts {
		caches[i] = m.NewCache(len(p) + tokens)
		defer caches[i].Free()
	}
	for range tokens {
		b := &model.Batch{}
		for i, ids := range next {
			b.Seqs = append(b.Seqs, device.Seq{Start: len(b.IDs), Len: len(ids), Cache: caches[i]})
			for k := range ids {
				b.Positions = append(b.Positions, int32(caches[i].Len()+k))
			}
			b.IDs = append(b.IDs, ids...)
			b.Rows = append(b.Rows, int32(len(b.IDs)-1))
		}
		for i, id := range best(m, m.Logits(b)) {
			out[i] = append(out[i], id)
			next[i] = []int32{id}
		}
	}
	return out
}

// best is the most probable token of each row.
func best(m model.Model, logits device.Mat) []int32 {
	row, ids := make([]float32, logits.Cols), make([]int32, logits.Rows)
	for i := range ids {
		m.Weights().Backend.Download(row, logits.Buf.Slice(i*logits.Stride, i*logits.Stride+logits.Cols))
		ids[i] = int32(slices.Index(row, slices.Max(row)))
	}
	return ids
}

var (
	openings = []string{
		"Dear Ms Quill,\n\nthank you for your message of last Tuesday about %s. We have", "Subject: %s\n\nHi all, please find attached",
		"The three most important things to know about %s are", "def report(items):\n    # prints %s, one a line\n    for item in items:",
		"Question: What do people mean by %s?\nAnswer: It means", "Once upon a time there was a small company that cared about %s. One day",
		"1. %s\n2. the budget of next year\n3.", "In the year 2001 the committee looked at %s and decided, after long debate, that",
		"<table><tr><td>%s</td><td>", "Sehr geehrte Damen und Herren, zu %s möchten wir Ihnen mitteilen, dass",
	}
	topics = []string{
		"the contract with Blue Harbor", "pipeline maintenance", "naïve Bayes filters", "the price of gas in Zürich", "lunch at 12:30",
		"safety in old buildings", "日本の会社", "a list of open invoices", "solar power", "the new phone system", "rainfall in May",
		"how bread is made", "x² + y² = 25", "the history of tea", "travel expenses", "moving to another office", "emoji 😀 in mail",
		"quarterly figures", "the weather on the coast", "dogs at work",
	}
)

// prompts are the first ids of invented texts: mostly groups of eight of equal length.
func prompts(tok *tokenizer.Tokenizer, n int) [][]int32 {
	var all [][]int32
	for i := range n {
		text := fmt.Sprintf(openings[i%len(openings)], topics[(i/len(openings)+i)%len(topics)])
		ids := tok.Encode(text)
		all = append(all, ids[:min(len(ids), 6+i/8%8)])
	}
	return all
}
