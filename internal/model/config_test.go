package model_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentmill/internal/device"
	"agentmill/internal/model"
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

func TestParseConfigRefuses(t *testing.T) {
	for _, tt := range []struct{ name, json, want string }{
		{"not JSON", `{`, "read config.json"},
		{"a size is missing", `{"vocab_size":8}`, "hidden_size is 0: want at least 1"},
		{"heads do not divide", `{` + smallest + `,"num_key_value_heads":3}`, "want a multiple"},
		{"odd head", `{` + smallest + `,"head_dim":3}`, "head_dim is 3: want an even number"},
		{"another activation", `{` + smallest + `,"hidden_act":"gelu"}`, `hidden_act is "gelu": want "silu"`},
		{"scaled rotation", `{` + smallest + `,"rope_scaling":{"rope_type":"yarn"}}`, "rope_scaling is"},
		{"scaled rotation, newer files", `{` + smallest + `,"rope_parameters":{"rope_theta":1,"rope_type":"llama3"}}`, `rope_type is "llama3"`},
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
