package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentmill/internal/checkpoint/tinypolicy"
	"agentmill/internal/dataset"
	"agentmill/internal/env/email/emailtest"
	"agentmill/internal/question"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rollout": main})
}

// TestScripts runs the scripts with INDEX and QUESTIONS of a small made-up office.
func TestScripts(t *testing.T) {
	index, questions := emailtest.Index(t), filepath.Join(t.TempDir(), "questions.jsonl")
	w, err := dataset.Create[question.Question](questions, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range emailtest.Questions() {
		if err := w.Write(&q); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy")
	if _, err := tinypolicy.Write(policy, 1); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("INDEX", index)
			e.Setenv("QUESTIONS", questions)
			e.Setenv("POLICY", policy)
			return nil
		},
	})
}
