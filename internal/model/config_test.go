package model_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/device"
	"agentmill/internal/model"
	"agentmill/internal/numtest"
)

const smallest = `"model_type":"llama","vocab_size":8,"hidden_size":4,"intermediate_size":6,"num_hidden_layers":1,"num_attention_heads":2,"max_position_embeddings":16`

func TestParseConfig(t *testing.T) {
	for _, tt := range []struct {
		name, json string
		theta      float64
		kv         int
	}{
		{"left out: every head has its own key, theta 10000", `{` + smallest + `}`, 10000, 2},
		{"older files: theta beside the sizes", `{` + smallest + `,"rope_theta":5e5,"num_key_value_heads":1,"rope_scaling":null}`, 5e5, 1},
		{"newer files: theta in rope_parameters", `{` + smallest + `,"rope_parameters":{"rope_theta":1e6,"rope_type":"default"}}`, 1e6, 2},
	} {
		c, err := model.ParseConfig([]byte(tt.json))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if c.RopeTheta != tt.theta || c.NumKeyValueHeads != tt.kv || c.HeadDim != 2 {
			t.Errorf("%s: theta %v, key heads %d, head size %d: want %v, %d, 2", tt.name, c.RopeTheta, c.NumKeyValueHeads, c.HeadDim, tt.theta, tt.kv)
		}
	}
}

// TestRopeScaling reads what Llama 3.2 publishes, in the older and the newer way,
// and checks the first, a middle and the last frequency, by hand.
func TestRopeScaling(t *testing.T) {
	const size = `"model_type":"llama","vocab_size":8,"hidden_size":128,"intermediate_size":6,"num_hidden_layers":1,"num_attention_heads":2,"max_position_embeddings":131072`
	const scaling = `"factor":32,"high_freq_factor":4,"low_freq_factor":1,"original_max_position_embeddings":8192,"rope_type":"llama3"`
	for _, text := range []string{
		`{` + size + `,"rope_theta":5e5,"rope_scaling":{` + scaling + `}}`,
		`{` + size + `,"rope_parameters":{"rope_theta":5e5,` + scaling + `}}`,
	} {
		c, err := model.ParseConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		freq := c.RopeFreq()
		plain := func(i int) float64 { return math.Pow(5e5, -float64(i)/32) }
		turns := 8192 * plain(16) / (2 * math.Pi) // 1.84: between 1 and 4
		mix := (turns - 1) / 3
		want := []float64{1, plain(16) * (mix + (1-mix)/32), plain(31) / 32}
		numtest.Close(t, "frequencies", []float64{freq[0], freq[16], freq[31]}, want, numtest.Tol{Rel: 1e-12})
	}
	c, err := model.ParseConfig([]byte(`{` + smallest + `,"rope_theta":16,"rope_scaling":{"type":"linear","factor":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	numtest.Close(t, "linear", c.RopeFreq(), []float64{0.5}, numtest.Tol{})
}

// FuzzParseConfig: whatever it accepts has frequencies for every pair, all finite.
func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{` + smallest + `}`))
	f.Add([]byte(`{` + smallest + `,"rope_scaling":{"type":"linear","factor":2}}`))
	f.Add([]byte(`{` + smallest + `,"rope_parameters":{"rope_theta":5e5,"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":8}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := model.ParseConfig(data)
		if err != nil || c.HeadDim > 1<<12 {
			return
		}
		for i, v := range c.RopeFreq() {
			if !(v >= 0) || math.IsInf(v, 0) {
				t.Errorf("frequency %d is %v", i, v)
			}
		}
	})
}

func TestParseConfigRefuses(t *testing.T) {
	for _, tt := range []struct{ name, json, want string }{
		{"not JSON", `{`, "read config.json"},
		{"a size is missing", `{"vocab_size":8}`, "hidden_size is 0: want at least 1"},
		{"heads do not divide", `{` + smallest + `,"num_key_value_heads":3}`, "want a multiple"},
		{"odd head", `{` + smallest + `,"head_dim":3}`, "head_dim is 3: want an even number"},
		{"another activation", `{` + smallest + `,"hidden_act":"gelu"}`, `hidden_act is "gelu": want "silu"`},
		{"another scaling", `{` + smallest + `,"rope_scaling":{"rope_type":"yarn"}}`, `rope_scaling: rope_type is "yarn": want "default", "linear" or "llama3"`},
		{"another scaling, by its older name", `{` + smallest + `,"rope_scaling":{"type":"dynamic","factor":2}}`, `rope_type is "dynamic"`},
		{"scaling without numbers, newer files", `{` + smallest + `,"rope_parameters":{"rope_theta":1,"rope_type":"llama3"}}`, "rope_scaling: factor is 0, low_freq_factor 0"},
		{"scaling by nothing", `{` + smallest + `,"rope_scaling":{"type":"linear"}}`, "rope_scaling: factor is 0"},
		{"scaling that is no object", `{` + smallest + `,"rope_scaling":7}`, "rope_scaling"},
		{"quantised weights", `{` + smallest + `,"quantization_config":{"quant_method":"gptq"}}`, `quantization_config is of method "gptq": want weights in f32`},
		{"a window", `{` + smallest + `,"use_sliding_window":true,"sliding_window":8}`, "use_sliding_window is true with 8 of 16 positions"},
		{"layers of other kinds", `{` + smallest + `,"layer_types":["full_attention","sliding_attention"]}`, `layer 1 is "sliding_attention"`},
		{"half rotated heads", `{` + smallest + `,"partial_rotary_factor":0.5}`, "partial_rotary_factor is 0.5: want 1"},
	} {
		_, err := model.ParseConfig([]byte(tt.json))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

func TestPack(t *testing.T) {
	got, err := model.Pack([]model.Sample{
		{IDs: []int32{1, 2, 3, 4}, Trained: []bool{false, true, true, false}},
		{IDs: []int32{5, 6}, Trained: []bool{false, false}},
		{IDs: []int32{7, 8, 9}, Trained: []bool{false, false, true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Batch{
		IDs: []int32{1, 2, 7, 8}, Positions: []int32{0, 1, 0, 1},
		Seqs: []device.Seq{{Start: 0, Len: 2}, {Start: 2, Len: 2}},
		Rows: []int32{0, 1, 3}, Targets: []int32{2, 3, 9},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
}

// TestPackShared: a sample goes on from the rows of the one it begins like for
// longest, also from within what that one shares; one that adds nothing has no
// sequence.
func TestPackShared(t *testing.T) {
	all := func(ids ...int32) model.Sample {
		s := model.Sample{IDs: ids, Trained: make([]bool, len(ids))}
		s.Trained[len(ids)-1] = true
		return s
	}
	got, err := model.PackShared([]model.Sample{all(1, 2, 3, 9), all(1, 2, 4, 5, 9), all(1, 2, 4, 6, 9), all(1, 2, 8), all(7, 9), all(1, 2, 3, 5, 9)})
	if err != nil {
		t.Fatal(err)
	}
	begin := device.Span{Start: 0, Len: 2}
	want := &model.Batch{
		IDs: []int32{1, 2, 3, 4, 5, 6, 7, 5}, Positions: []int32{0, 1, 2, 2, 3, 3, 0, 3},
		Seqs: []device.Seq{
			{Start: 0, Len: 3},
			{Start: 3, Len: 2, Prefix: []device.Span{begin}},
			{Start: 5, Len: 1, Prefix: []device.Span{begin, {Start: 3, Len: 1}}},
			{Start: 6, Len: 1},
			{Start: 7, Len: 1, Prefix: []device.Span{{Start: 0, Len: 3}}},
		},
		Rows: []int32{2, 4, 5, 1, 6, 7}, Targets: []int32{9, 9, 9, 8, 9, 9},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
}

func TestPackRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sample model.Sample
		want   string
	}{
		{"marks are missing", model.Sample{IDs: []int32{1, 2}, Trained: []bool{false}}, "2 tokens and 1 marks"},
		{"nothing predicts the first token", model.Sample{IDs: []int32{1}, Trained: []bool{true}}, "first token is marked"},
	} {
		_, err := model.Pack([]model.Sample{tt.sample})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

func TestBatchCheck(t *testing.T) {
	cfg := model.Config{VocabSize: 5, MaxPositionEmbeddings: 2}
	for _, tt := range []struct {
		name string
		ids  []int32
		want string
	}{
		{"outside the vocabulary", []int32{1, 5, 1}, "token 5 at position 1: want 0 to 4"},
		{"negative", []int32{-1, 1, 1}, "token -1 at position 0"},
		{"too long", []int32{1, 1, 1, 1}, "has 3 tokens: want at most 2"},
	} {
		trained := make([]bool, len(tt.ids))
		trained[len(trained)-1] = true
		b, err := model.Pack([]model.Sample{{IDs: tt.ids, Trained: trained}})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Check(cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want one with %q", tt.name, err, tt.want)
		}
	}
}
