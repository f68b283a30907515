package llm

import (
	"strings"
	"testing"
)

func TestPricesComplainInOneLine(t *testing.T) {
	_, err := ReadPrices("p.yaml", strings.NewReader("models: {m: {prompt: abc, completion: def}}\n"))
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "p.yaml: yaml: unmarshal errors: line 1: cannot unmarshal") {
		t.Errorf("error %q, want one line with file and place", err)
	}
}
