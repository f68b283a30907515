package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	ufcli "github.com/urfave/cli/v2"
)

// A probe is a command that shows what reached it.
type probe struct {
	out    string
	gate   float64
	n      int
	strict bool
	in     ufcli.StringSlice
	err    error
}

func (p *probe) command() *Command {
	return &Command{
		Name: "probe", Usage: "show its flags", ArgsUsage: "[FILE ...]", Description: "Examples:\n\n   probe a.jsonl",
		Flags: []ufcli.Flag{
			&ufcli.StringFlag{Name: "out", Aliases: []string{"o"}, Value: "-", Usage: "write to `FILE`", Destination: &p.out},
			&ufcli.Float64Flag{Name: "gate", Destination: &p.gate},
			&ufcli.IntFlag{Name: "max-errors", Value: 3, Destination: &p.n, Action: NotNegative("max-errors")},
			&ufcli.BoolFlag{Name: "strict", Destination: &p.strict},
			&ufcli.StringSliceFlag{Name: "in", Destination: &p.in},
		},
		Run: func(_ context.Context, env *Env) error {
			fmt.Fprintf(env.Stdout, "out=%s gate=%v n=%d strict=%v in=%q args=%q", p.out, p.gate, p.n, p.strict, p.in.Value(), env.Args)
			return p.err
		},
	}
}

func run(t *testing.T, p *probe, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, talk bytes.Buffer
	code = Execute(t.Context(), p.command(), args, strings.NewReader(""), &out, &talk)
	return code, out.String(), talk.String()
}

func TestFlags(t *testing.T) {
	config := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(config, []byte("gate: 0.5\nmax-errors: 7\nstrict: true\nin: [a, 'b,c']\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"defaults", nil, nil, `out=- gate=0 n=3 strict=false in=[] args=[]`},
		{"flags follow arguments", nil, []string{"a.jsonl", "--gate", ".9", "b.jsonl", "--strict"}, `out=- gate=0.9 n=3 strict=true in=[] args=["a.jsonl" "b.jsonl"]`},
		{"equals sign", nil, []string{"a", "--gate=.9", "--strict=false"}, `out=- gate=0.9 n=3 strict=false in=[] args=["a"]`},
		{"one dash", nil, []string{"-gate", "1", "-o", "x"}, `out=x gate=1 n=3 strict=false in=[] args=[]`},
		{"negative value", nil, []string{"--gate", "-1"}, `out=- gate=-1 n=3 strict=false in=[] args=[]`},
		{"no comma splitting", nil, []string{"--in", "a,b", "--in", "c"}, `out=- gate=0 n=3 strict=false in=["a,b" "c"] args=[]`},
		{"dash is an argument and a value", nil, []string{"-", "--out", "-"}, `out=- gate=0 n=3 strict=false in=[] args=["-"]`},
		{"two dashes end flags", nil, []string{"--gate", "1", "--", "--strict", "x"}, `out=- gate=1 n=3 strict=false in=[] args=["--strict" "x"]`},
		{"environment", map[string]string{"AGENTMILL_MAX_ERRORS": "5", "AGENTMILL_IN": "a,b\nc", "AGENTMILL_STRICT": "true"}, nil, `out=- gate=0 n=5 strict=true in=["a,b" "c"] args=[]`},
		{"config file", nil, []string{"--config", config}, `out=- gate=0.5 n=7 strict=true in=["a" "b,c"] args=[]`},
		{"flag over environment over file", map[string]string{"AGENTMILL_MAX_ERRORS": "5", "AGENTMILL_GATE": "2"}, []string{"x", "--config", config, "--gate", "3"}, `out=- gate=3 n=5 strict=true in=["a" "b,c"] args=["x"]`},
		{"last one wins", nil, []string{"--gate", "1", "--gate", "2"}, `out=- gate=2 n=3 strict=false in=[] args=[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			code, out, talk := run(t, &probe{}, tt.args...)
			if code != 0 || out != tt.want {
				t.Errorf("code %d\ngot  %s\nwant %s\n%s", code, out, tt.want, talk)
			}
		})
	}
}

func TestWrongUsage(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "c.yaml")
	numbers, twice := filepath.Join(dir, "numbers.yaml"), filepath.Join(dir, "twice.yaml")
	for path, text := range map[string]string{config: "gate: 1\ngaet: 2\n", numbers: "gate: 1\nmax-errors: many\n", twice: "gate: 1\nout: x\ngate: 2\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown first", []string{"--gaet", "1", "a"}, "probe: error: unknown flag --gaet\nprobe: hint: did you mean --gate? --help lists all flags\n"},
		{"unknown after an argument", []string{"a", "--frobnicate=1"}, "probe: error: unknown flag --frobnicate\nprobe: hint: --help lists all flags; write -- before a file name that begins with -\n"},
		{"value missing at the end", []string{"a", "--gate"}, "probe: error: --gate needs a value\n"},
		{"flag in place of a value", []string{"--out", "--gate", "1"}, "probe: error: --out needs a value, but --gate follows; write --out=--gate if that is the value\n"},
		{"not a number", []string{"--gate", "high"}, "probe: error: --gate \"high\": want a number\n"},
		{"not a whole number", []string{"--max-errors", "1.5"}, "probe: error: --max-errors \"1.5\": want a whole number\n"},
		{"not a truth value", []string{"--strict=maybe"}, "probe: error: --strict \"maybe\": want true or false\n"},
		{"no finite number", []string{"--gate", "nan"}, "probe: error: --gate \"nan\": want a finite number\n"},
		{"negative count", []string{"--in", "x", "--max-errors", "-1"}, "probe: error: --max-errors -1: want 0 or more\n"},
		{"bad value in config", []string{"--config", numbers}, "probe: error: " + numbers + ":2: --max-errors \"many\": want a whole number\n"},
		{"twice in config", []string{"--config", twice}, "probe: error: " + twice + ":3: gate: stands already in line 1\n"},
		{"shared flag", []string{"--clock", "stopped"}, "probe: error: --clock \"stopped\": want real or fixed\n"},
		{"log level", []string{"--log-level", "loud"}, "probe: error: --log-level \"loud\": want debug, info, warn or error\n"},
		{"unknown in config", []string{"--config", config}, "probe: error: " + config + ":2: gaet: no such flag\n"},
		{"no config", []string{"--config", filepath.Join(dir, "no")}, "probe: error: --config: open " + filepath.Join(dir, "no") + ": no such file or directory\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, talk := run(t, &probe{}, tt.args...)
			if code != 2 || out != "" {
				t.Errorf("code %d, stdout %q, want code 2 and no output", code, out)
			}
			if diff := cmp.Diff(tt.want, talk); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadVariable(t *testing.T) {
	t.Setenv("AGENTMILL_MAX_ERRORS", "many")
	code, _, talk := run(t, &probe{})
	if want := "probe: error: AGENTMILL_MAX_ERRORS: --max-errors \"many\": want a whole number\n"; code != 2 || talk != want {
		t.Errorf("code %d, stderr %q, want %q", code, talk, want)
	}
}

func TestApart(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", "link"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		inputs  []string
		outputs []Output
		want    string
	}{
		{"apart", []string{"a", "-"}, []Output{{"out", "b"}, {"rejects", "c"}, {"splits", ""}, {"journal", ""}, {"drops", "-"}}, ""},
		{"input", []string{"x", "a"}, []Output{{"out", "./a"}}, "--out ./a: is read as well; name another file"},
		{"by another name", []string{"link"}, []Output{{"out", "a"}}, "--out a: is read as well; name another file"},
		{"each other", nil, []Output{{"out", "b"}, {"rejects", "./b"}}, "--out and --rejects ./b: want two files"},
		{"devices", []string{"/dev/null"}, []Output{{"out", "/dev/null"}, {"rejects", "/dev/null"}}, ""},
	} {
		got := ""
		if err := Apart(tt.inputs, tt.outputs...); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRequiredFlag(t *testing.T) {
	c := (&probe{}).command()
	c.Flags = append(c.Flags, &ufcli.StringFlag{Name: "policy", Required: true})
	var out, talk bytes.Buffer
	if code := Execute(t.Context(), c, nil, nil, &out, &talk); code != 2 || talk.String() != "probe: error: --policy is missing\n" {
		t.Errorf("code %d, stderr %q", code, talk.String())
	}
}

func TestExitCodes(t *testing.T) {
	plain := errors.New("read x: broken")
	for _, tt := range []struct {
		name string
		err  error
		code int
		talk string
	}{
		{"done", nil, 0, ""},
		{"failed", plain, 1, "probe: error: read x: broken\n"},
		{"usage", Usagef("--k: %w", plain), 2, "probe: error: --k: read x: broken\n"},
		{"partial", Partialf("3 of %d failed", 9), 3, "probe: partial: 3 of 9 failed\n"},
		{"gate", Gatef("accuracy .5 < .9"), 4, "probe: error: accuracy .5 < .9\n"},
		{"stopped", Stoppedf("no signal"), 5, "probe: error: no signal\n"},
		{"try again", fmt.Errorf("step: %w", TryAgainf("server down")), 75, "probe: error: step: server down\n"},
		{"escapes of a terminal", fmt.Errorf("read a\x1b[2Jb: %w", plain), 1, "probe: error: read a\\x1b[2Jb: read x: broken\n"},
		{"hint", WithHint(plain, "mend it"), 1, "probe: error: read x: broken\nprobe: hint: mend it\n"},
		{"cancelled inside", context.Canceled, 1, "probe: error: context canceled\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, _, talk := run(t, &probe{err: tt.err})
			if code != tt.code || talk != tt.talk {
				t.Errorf("got %d %q, want %d %q", code, talk, tt.code, tt.talk)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, talk bytes.Buffer
	p := &probe{err: fmt.Errorf("read: %w", context.Canceled)}
	if code := Execute(ctx, p.command(), nil, nil, &out, &talk); code != 130 || talk.String() != "probe: interrupted\n" {
		t.Errorf("code %d, stderr %q, want 130", code, talk.String())
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Err: syscall.EPIPE}
}

func TestClosedPipeIsFine(t *testing.T) {
	var talk bytes.Buffer
	p := &probe{err: errors.New("write: broken pipe")}
	if code := Execute(t.Context(), p.command(), nil, nil, closedPipe{}, &talk); code != 0 || talk.Len() > 0 {
		t.Errorf("code %d, stderr %q, want silence and 0", code, talk.String())
	}
}

func TestHelpAndVersion(t *testing.T) {
	code, out, _ := run(t, &probe{}, "a.jsonl", "--help")
	for _, want := range []string{"probe - show its flags", "usage: probe [flags] [FILE ...]", "probe a.jsonl", "--max-errors value", "AGENTMILL_<FLAG>", "130 interrupted", "--clock"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("--help (code %d) lacks %q:\n%s", code, want, out)
		}
	}
	code, out, _ = run(t, &probe{}, "--version")
	if code != 0 || !strings.HasPrefix(out, "probe ") || strings.Contains(out, "out=") {
		t.Errorf("--version: code %d, %q", code, out)
	}
}

// family is a probe with the subcommand `probe ask`.
func family(main, ask *probe) *Command {
	c, sub := main.command(), ask.command()
	sub.Name, sub.Usage, sub.ArgsUsage = "ask", "ask it", "WORD ..."
	sub.Flags = append(sub.Flags, &ufcli.StringFlag{Name: "inbox"})
	c.Commands = []*Command{sub}
	return c
}

func TestSubcommand(t *testing.T) {
	t.Setenv("AGENTMILL_MAX_ERRORS", "5")
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // standard output, then standard error
	}{
		{"named first", []string{"ask", "a", "--gate", "2", "--inbox", "x"}, 0, `out=- gate=2 n=5 strict=false in=[] args=["a"]`},
		{"not first is an argument", []string{"a", "ask"}, 0, `out=- gate=0 n=5 strict=false in=[] args=["a" "ask"]`},
		{"a path is an argument", []string{"./ask"}, 0, `out=- gate=0 n=5 strict=false in=[] args=["./ask"]`},
		{"its flags are not the program's", []string{"--inbox", "x"}, 2, "probe: error: unknown flag --inbox\nprobe: hint: --help lists all flags; write -- before a file name that begins with -\n"},
		{"errors bear its name", []string{"ask", "--gate", "x"}, 2, "probe ask: error: --gate \"x\": want a number\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, talk bytes.Buffer
			code := Execute(t.Context(), family(&probe{}, &probe{}), tt.args, strings.NewReader(""), &out, &talk)
			if got := out.String() + talk.String(); code != tt.code || got != tt.want {
				t.Errorf("code %d, want %d\ngot  %s\nwant %s", code, tt.code, got, tt.want)
			}
		})
	}
}

func TestSubcommandHelp(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--help", "probe ask WORD ..."},
		{"ask --help", "usage: probe ask [flags] WORD ..."},
		{"--generate-bash-completion", "ask\n"},
	} {
		var out bytes.Buffer
		code := Execute(t.Context(), family(&probe{}, &probe{}), strings.Fields(tt.args), strings.NewReader(""), &out, &out)
		if code != 0 || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: code %d, lacks %q:\n%s", tt.args, code, tt.want, out.String())
		}
	}
}

func TestProfiles(t *testing.T) {
	dir := t.TempDir()
	names := []string{"cpuprofile", "memprofile", "trace"}
	var args []string
	for _, n := range names {
		args = append(args, "--"+n, filepath.Join(dir, n))
	}
	if code, _, talk := run(t, &probe{err: errors.New("x")}, args...); code != 1 {
		t.Fatalf("code %d: %s", code, talk)
	}
	for _, n := range names {
		if info, err := os.Stat(filepath.Join(dir, n)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", n, err)
		}
	}
}

func TestNotef(t *testing.T) {
	var talk bytes.Buffer
	(&Env{Name: "probe", Stderr: &talk}).Notef("read %d, kept %d", 3, 2)
	if talk.String() != "probe: read 3, kept 2\n" {
		t.Errorf("got %q", talk.String())
	}
}
