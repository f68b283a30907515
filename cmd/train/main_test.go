package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentmill/internal/checkpoint/tinypolicy"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"train": main})
}

func TestScripts(t *testing.T) {
	parent := t.TempDir()
	m, err := tinypolicy.Write(parent, 1)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PARENT", parent)
			env.Setenv("HASH", m.Hash)
			env.Setenv("AGENTMILL_CLOCK", "fixed")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "fill": fill},
	})
}

// status runs a command that must end with an exact exit code: status CODE COMMAND…
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var exit *exec.ExitError
	got := 0
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}

// fill puts the environment's variables into a file: fill FILE
func fill(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(path, []byte(text), 0o644))
}
