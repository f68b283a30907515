// Package cli is the frame that all commands share, a thin layer over
// urfave/cli: flags (from the command line, the environment, a YAML file), exit
// codes, signals, profiles, logging, the printing of errors.
//
// A command's main is cli.Main(command()). Tests call Execute. It alone in this
// project ends the process.
package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/clock"
	"agentmill/internal/progress"
	"agentmill/internal/terminal"
)

// A Command is one program. Flags carry Destinations: Run sees only their values.
type Command struct {
	Name        string
	Usage       string // one line: what it does
	ArgsUsage   string // such as "[FILE ...]"
	Description string // with examples that work when pasted
	Flags       []ufcli.Flag
	Run         func(ctx context.Context, env *Env) error
	// Commands are other things that the program does. The first word names one,
	// as in `ingest search`; it has its own flags and arguments. A file of such
	// a name is reached by a path: ./search.
	Commands []*Command
}

// descend returns the command that the first of args names, under its whole
// name, with what follows; c itself if it names none.
func (c *Command) descend(args []string) (*Command, []string) {
	for len(args) > 0 {
		i := slices.IndexFunc(c.Commands, func(sub *Command) bool { return sub.Name == args[0] })
		if i < 0 {
			break
		}
		sub := *c.Commands[i]
		sub.Name = c.Name + " " + sub.Name
		c, args = &sub, args[1:]
	}
	return c, args
}

// An Env is what a command gets from the outside.
type Env struct {
	Name           string
	Args           []string // what is no flag
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Log            *slog.Logger
	Clock          clock.Clock
	Progress       *progress.Reporter // never nil
	Getenv         func(string) string
}

// Notef prints the final one-line summary on standard error.
func (e *Env) Notef(format string, args ...any) {
	_, _ = fmt.Fprintf(e.Stderr, "%s: %s\n", e.Name, terminal.Safe(fmt.Sprintf(format, args...)))
}

// Main runs c with the process's arguments and streams and ends the process.
func Main(c *Command) {
	// Without this a write to a closed standard output ends the process at
	// once, with no deferred work done.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	code := Execute(ctx, c, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Execute runs c with args (without the program's name) and returns the exit code.
func Execute(ctx context.Context, c *Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c, args = c.descend(args)
	out := &pipeWriter{w: stdout}
	err := execute(ctx, c, args, &Env{
		Name: c.Name, Stdin: stdin, Stdout: out, Stderr: stderr, Getenv: os.Getenv,
	})
	if out.closed {
		return codeOK // the reader has seen enough, as in `… | head`
	}
	return report(ctx, c.Name, err, stderr)
}

func execute(ctx context.Context, c *Command, args []string, env *Env) error {
	var sh shared
	flags := append(slices.Clip(c.Flags), sh.flags()...)
	if !completing(args) {
		var err error
		if args, err = resolve(flags, args, env.Getenv); err != nil {
			return err
		}
	}
	app := &ufcli.App{
		Name: c.Name, HelpName: c.Name, Usage: c.Usage, ArgsUsage: c.ArgsUsage,
		UsageText:   strings.TrimSpace(fmt.Sprintf("%s [flags] %s", c.Name, c.ArgsUsage)),
		Description: strings.TrimSpace(c.Description) + "\n\n" + c.commandsHelp() + commonHelp,
		Flags:       flags,
		Reader:      env.Stdin, Writer: env.Stdout, ErrWriter: env.Stderr,
		HideHelpCommand: true, HideVersion: true, EnableBashCompletion: true,
		DisableSliceFlagSeparator: true,
		CustomAppHelpTemplate:     helpTemplate,
		OnUsageError:              func(_ *ufcli.Context, err error, _ bool) error { return usageError(flags, err) },
		ExitErrHandler:            func(*ufcli.Context, error) {},
		BashComplete:              c.complete,
	}
	app.Action = func(uc *ufcli.Context) error {
		if sh.version {
			_, err := fmt.Fprintln(env.Stdout, c.Name, Version())
			return err
		}
		env.Args = uc.Args().Slice()
		return sh.run(ctx, c, env)
	}
	return app.RunContext(ctx, append([]string{c.Name}, args...))
}

// completing says that the shell asks for possible next words.
func completing(args []string) bool {
	return len(args) > 0 && args[len(args)-1] == "--generate-bash-completion"
}

// complete prints what may follow: subcommands and flags.
func (c *Command) complete(uc *ufcli.Context) {
	for _, sub := range c.Commands {
		_, _ = fmt.Fprintln(uc.App.Writer, sub.Name)
	}
	ufcli.DefaultAppComplete(uc)
}

// commandsHelp is the part of --help that lists subcommands, if there are any.
func (c *Command) commandsHelp() string {
	if len(c.Commands) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("commands (each has a --help of its own):\n")
	for _, sub := range c.Commands {
		fmt.Fprintf(&text, "  %-40s %s\n", strings.TrimSpace(c.Name+" "+sub.Name+" "+sub.ArgsUsage), sub.Usage)
	}
	return text.String() + "\n"
}

const commonHelp = `Every flag can also be set by the environment variable AGENTMILL_<FLAG> (--max-errors by
AGENTMILL_MAX_ERRORS) or in a YAML file (--config); the command line wins over the environment,
that over the file. Flags may follow arguments.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 partial (output whole, some records failed),
5 stopped by its own rule, 75 try again later, 130 interrupted.`

const helpTemplate = `{{.Name}} - {{.Usage}}

usage: {{.UsageText}}

{{.Description}}

flags:
{{range .VisibleFlags}}   {{.}}
{{end}}`

// shared holds the flags that every command has.
type shared struct {
	config              string
	logFormat, logLevel string
	progress, clock     string
	cpu, mem, trace     string
	version             bool
}

func (s *shared) flags() []ufcli.Flag {
	return []ufcli.Flag{
		&ufcli.StringFlag{Name: "config", Usage: "read flags from the YAML `FILE`", Destination: &s.config},
		&ufcli.StringFlag{Name: "log-format", Value: "text", Usage: "write log lines in this `FORMAT`: text or json", Destination: &s.logFormat},
		&ufcli.StringFlag{Name: "log-level", Value: "info", Usage: "log from this `LEVEL` on: debug, info, warn or error", Destination: &s.logLevel},
		&ufcli.StringFlag{Name: "progress", Value: "auto", Usage: "`WHEN` to draw a progress bar: auto (on a terminal; log lines elsewhere), always or never", Destination: &s.progress},
		&ufcli.StringFlag{Name: "clock", Value: "real", Usage: "`WHICH` clock: real, or fixed (measured fields are written as 0)", Destination: &s.clock},
		&ufcli.StringFlag{Name: "cpuprofile", Usage: "write a CPU profile to `FILE`", Destination: &s.cpu},
		&ufcli.StringFlag{Name: "memprofile", Usage: "write a heap profile to `FILE` at the end", Destination: &s.mem},
		&ufcli.StringFlag{Name: "trace", Usage: "write an execution trace to `FILE`", Destination: &s.trace},
		&ufcli.BoolFlag{Name: "version", Usage: "print the version", Destination: &s.version},
	}
}

// run fills the rest of env and calls the command within the profiles.
func (s *shared) run(ctx context.Context, c *Command, env *Env) (err error) {
	if err := s.equip(env); err != nil {
		return err
	}
	stop, err := startProfiles(s.cpu, s.mem, s.trace)
	if err != nil {
		return err
	}
	defer func() {
		if e := stop(); err == nil {
			err = e
		}
	}()
	return c.Run(ctx, env)
}

func (s *shared) equip(env *Env) error {
	switch s.clock {
	case "real":
		env.Clock = clock.Real()
	case "fixed":
		env.Clock = clock.FixedAt(time.Unix(0, 0).UTC())
	default:
		return Usagef("--clock %q: want real or fixed", s.clock)
	}
	switch progress.Mode(s.progress) {
	case progress.Auto, progress.Always, progress.Never:
	default:
		return Usagef("--progress %q: want auto, always or never", s.progress)
	}
	env.Progress = progress.New(env.Stderr, nil, progress.Mode(s.progress), isTerminal(env.Stderr))
	env.Stderr = env.Progress
	log, err := newLog(env.Stderr, s.logFormat, s.logLevel)
	if err != nil {
		return err
	}
	env.Log = log
	env.Progress.SetLog(log)
	return nil
}

func newLog(w io.Writer, format, level string) (*slog.Logger, error) {
	var lv slog.Level
	if lv.UnmarshalText([]byte(level)) != nil {
		return nil, Usagef("--log-level %q: want debug, info, warn or error", level)
	}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: lv})), nil
	case "text":
		short := func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				a.Value = slog.StringValue(a.Value.Time().Format(time.TimeOnly))
			}
			return a
		}
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: lv, ReplaceAttr: short})), nil
	}
	return nil, Usagef("--log-format %q: want text or json", format)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Version is module version, revision and whether the tree was dirty, as the
// build recorded them.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	parts := []string{info.Main.Version}
	if rev := set["vcs.revision"]; rev != "" {
		parts = append(parts, rev[:min(12, len(rev))])
	}
	if set["vcs.modified"] == "true" {
		parts = append(parts, "dirty")
	}
	return strings.Join(append(parts, info.GoVersion, set["GOOS"]+"/"+set["GOARCH"]), " ")
}
