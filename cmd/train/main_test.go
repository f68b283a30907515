package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "fill": fill, "killed": killed},
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

// killed starts a command again and again, each time killing it a little later
// with kill -9, until it ends by itself: killed COMMAND…
func killed(ts *testscript.TestScript, _ bool, args []string) {
	path := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, args[0]); path == "" && exec.Command("test", "-x", p).Run() == nil {
			path = p
		}
	}
	kills := 0
	for patience := 20 * time.Millisecond; ; patience += patience / 3 {
		cmd := exec.Command(path, args[1:]...)
		cmd.Dir = ts.Getenv("WORK")
		for _, name := range []string{"PATH", "HOME", "TMPDIR", "AGENTMILL_CLOCK"} {
			cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
		}
		var out strings.Builder
		cmd.Stderr = &out
		ts.Check(cmd.Start())
		timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if err == nil {
			ts.Logf("killed %d times", kills)
			return
		}
		if cmd.ProcessState.ExitCode() >= 0 { // it was not the signal
			ts.Fatalf("%v: %s", err, out.String())
		}
		kills++
	}
}
