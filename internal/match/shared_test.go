package match

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgreesWithPeople compares the rule with human judgements of answers to
// open questions (NQ301 of Kamalloo et al. 2023, EVOUNA of Wang et al. 2023), on
// the half of the questions that the rules were not tuned on.
func TestAgreesWithPeople(t *testing.T) {
	dir := os.Getenv("AGENTMILL_SHARED")
	if dir == "" {
		t.Skip("AGENTMILL_SHARED does not name a folder with judge/*.jsonl.gz")
	}
	for _, tt := range []struct {
		file string
		want float64
	}{
		{"nq301", .81},
		{"evouna_nq", .88},
		{"evouna_tq", .94},
		{"efficientqa", .89},
	} {
		t.Run(tt.file, func(t *testing.T) {
			rows := readHuman(t, filepath.Join(dir, "judge", tt.file+".jsonl.gz"))
			agree, tooKind, tooStrict := 0, 0, 0
			n := 0
			for _, r := range rows {
				if tuned(r.Question) {
					continue
				}
				n++
				got := Values.Judge(Gold{Question: r.Question, Answers: r.Golds, Answerable: true}, r.Candidate)
				switch {
				case got.Correct == *r.Human:
					agree++
				case got.Correct:
					tooKind++
				default:
					tooStrict++
				}
			}
			share := float64(agree) / float64(n)
			t.Logf("%d rows, agreement %.3f, too kind %d, too strict %d", n, share, tooKind, tooStrict)
			if share < tt.want {
				t.Errorf("agreement %.3f, want at least %.2f", share, tt.want)
			}
		})
	}
}

// tuned says whether the rules were made looking at a question: half of them, by
// hash.
func tuned(question string) bool { return sha256.Sum256([]byte(strings.ToLower(question)))[0]&1 == 0 }

type human struct {
	Question  string   `json:"question"`
	Golds     []string `json:"gold_answers"`
	Candidate string   `json:"candidate"`
	Human     *bool    `json:"human_correct"`
	Improper  bool     `json:"question_flagged_improper"`
}

func readHuman(t *testing.T, path string) []human {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var rows []human
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r human
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Human != nil && !r.Improper {
			rows = append(rows, r)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}
