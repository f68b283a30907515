package judge

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentmill/internal/llm"
	"agentmill/internal/reward"
	"agentmill/internal/traj"
)

// costs are the costs of judging that rows tell of.
func costs(t *testing.T, rows []traj.Scored) (sum llm.Cost, of int) {
	t.Helper()
	for _, r := range rows {
		raw, ok := r.Extra["judge_cost"]
		if !ok {
			continue
		}
		var c llm.Cost
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		sum.Add(c)
		of++
	}
	return sum, of
}

// What the server was paid stands in the rows, whoever asked it, and what is told
// on the way is of whole rows alone.
func TestRowsSayWhatJudgingCost(t *testing.T) {
	price := llm.Price{Prompt: 1e6 / 9, Completion: 1e6 / 3} // $1 for the 9 tokens of a prompt, $1 for the 3 of a reply
	in := attempts(t, "g", ".1", ".9", ".4") + attempts(t, "h", ".3", ".6")
	for _, tt := range []struct {
		name     string
		relative bool
		requests int
		rows     int // that have a cost
	}{
		{"a model judges", false, 5, 5},
		{"and compares", true, 7, 5},
	} {
		s := serve(t, func(n int, r said) (string, string) {
			if strings.Contains(r.User, "attempt 1: ") {
				return byText(n, r)
			}
			return verdictOf(voteRight), "stop"
		})
		meter := llm.NewMeter(price, 0)
		client := llm.Metered(s.client(t), meter)
		j := s.judge(t, 1)
		j.Client = client
		set, err := reward.Builtin("binary")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "in.jsonl")
		if err := os.WriteFile(file, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		var far []llm.Tally
		cfg := Config{Judge: j, Reward: set, Sources: Covered, Concurrency: 4, Tick: func(now llm.Tally) { far = append(far, now) }}
		if tt.relative {
			p, err := LoadPrompt(GroupPrompt, "question", "attempts")
			if err != nil {
				t.Fatal(err)
			}
			cfg.Group = &Relative{Client: client, Prompt: p}
		}
		rows := runFile(t, cfg, file)
		sum, of := costs(t, rows)
		want := llm.Cost{PromptTokens: 9 * tt.requests, CompletionTokens: 3 * tt.requests, USD: 2 * float64(tt.requests)}
		if sum.USD = math.Round(sum.USD*1e6) / 1e6; sum != want || of != tt.rows {
			t.Errorf("%s: %d rows say %+v, want %d and %+v", tt.name, of, sum, tt.rows, want)
		}
		last := far[len(far)-1]
		if last.USD = math.Round(last.USD*1e6) / 1e6; last != (llm.Tally{Done: 5, Total: 5, USD: want.USD}) {
			t.Errorf("%s: told of %+v in the end", tt.name, last)
		}
		if !tt.relative && math.Abs(far[0].USD-2) > 1e-6 {
			t.Errorf("%s: the first row is told to cost %g, want 2: what is under way is not its", tt.name, far[0].USD)
		}
	}
}
