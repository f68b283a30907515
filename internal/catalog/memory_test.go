package catalog

import (
	"strings"
	"testing"

	"agentmill/internal/device"
	"agentmill/internal/model"
)

// TestCheckMemory: SmolLM2-135M takes .27 GB of weights in 16 bits, .11 of
// embeddings, and 46 KB a token.
func TestCheckMemory(t *testing.T) {
	smol := model.Config{
		VocabSize: 49152, HiddenSize: 576, IntermediateSize: 1536, NumHiddenLayers: 30,
		NumAttentionHeads: 9, NumKeyValueHeads: 3, HeadDim: 64, MaxPositionEmbeddings: 8192,
	}
	for _, tt := range []struct {
		most              int64
		context, sessions int
		want              string
	}{
		{0, 0, 1000, ""},
		{8e9, 0, 16, ""},
		{4e9, 0, 16, "4.00 GB of memory: the weights take 0.51 GB and an attempt of 8192 tokens up to 0.38 GB: 9 at a time fit, not 16"},
		{4e9, 2048, 16, ""},
		{4e9, 100000, 16, "an attempt of 8192 tokens up to"},
		{6e8, 0, 1, "an attempt of 1884 tokens fits, not one of 8192 (--context)"},
		{5e8, 0, 1, "0.50 GB of memory: the weights alone take 0.51 GB"},
	} {
		err := checkMemory(LocalConfig{MaxMemory: tt.most, Context: tt.context, Sessions: tt.sessions}, smol, device.BF16)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d bytes, %d tokens, %d sessions: got %v, want %q", tt.most, tt.context, tt.sessions, err, tt.want)
		}
	}
}
