package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/agent"
	"agentmill/internal/catalog"
	"agentmill/internal/cli"
	"agentmill/internal/seed"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// unset is the value of a number flag that was not given: one that nobody gives.
const unset = math.MinInt32

func (o *options) flags() []ufcli.Flag {
	flags := []ufcli.Flag{
		&ufcli.StringSliceFlag{Name: "in", Usage: "read questions from `FILE` (repeatable; - is standard input)", Destination: &o.in},
		&ufcli.StringFlag{Name: "out", Usage: "write trajectories to `FILE` (.jsonl, .jsonl.gz, .jsonl.zst, .parquet)", Destination: &o.cfg.Out},
		&ufcli.StringFlag{Name: "index", Usage: "the mailboxes: `FILE` that ingest --index wrote", Destination: &o.world.Index},
		&ufcli.StringFlag{Name: "env", Value: "email", Usage: "`NAME` of the environment to play in", Destination: &o.world.Name},
		&ufcli.StringFlag{Name: "policy", Usage: "expert, heuristic, replay:FILE or a policy `FOLDER`", Destination: &o.policy.Name},
		&ufcli.StringFlag{Name: "base", Usage: "`FOLDER` that replaces the base of an adapter", Destination: &o.policy.Local.Base},
		&ufcli.StringFlag{Name: "split", Usage: "play only questions of this `SPLIT`: train, val or test", Destination: &o.cfg.Split},
		&ufcli.BoolFlag{Name: "shuffle", Usage: "play the questions in an order drawn from --seed, so that the first few are of many mailboxes", Destination: &o.cfg.Shuffle},
		&ufcli.IntFlag{Name: "limit", Usage: "play `N` questions (0: all)", Destination: &o.cfg.Limit},
		&ufcli.IntFlag{Name: "offset", Usage: "pass over `N` questions; with --limit it goes on at the beginning after the end", Destination: &o.cfg.Offset},
		&ufcli.StringFlag{Name: "shard", Usage: "only part `I/N` of the questions that would be played", Destination: &o.shard},
		&ufcli.IntFlag{Name: "attempts", Value: 1, Usage: "`N` attempts at each question", Destination: &o.cfg.Attempts},
		&ufcli.IntFlag{Name: "concurrency", Value: 16, Usage: "play `N` attempts at a time", Destination: &o.cfg.Concurrency},
		&ufcli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed `N` of all choices", Destination: &o.seed},
		&ufcli.Float64Flag{Name: "temperature", Value: unset, DefaultText: "1; 0 with --ask or --prompt", Usage: "sample at temperature `T`; 0 is greedy", Destination: &o.temperature},
		&ufcli.Float64Flag{Name: "top-p", Value: 1, Usage: "sample from the likeliest tokens that have this `SHARE`", Destination: &o.topP},
		&ufcli.IntFlag{Name: "top-k", Usage: "sample from the `K` likeliest tokens (0: all)", Destination: &o.topK},
		&ufcli.Float64Flag{Name: "min-p", Usage: "sample from the tokens that have at least this `SHARE` of the likeliest one's probability (0: all)", Destination: &o.minP},
		&ufcli.StringSliceFlag{Name: "stop", Usage: "end a turn before this `TEXT` (repeatable)", Destination: &o.stop},
		&ufcli.StringFlag{Name: "constrain", Usage: "hold every turn to `WHAT`: tools (a call of one of the tools, as --tool-format writes it; other tokens are masked)", Destination: &o.constrain},
		&ufcli.IntFlag{Name: "context", Usage: "at most `N` tokens an attempt (0: what the model allows)", Destination: &o.policy.Local.Context},
		&ufcli.StringFlag{Name: "precision", Value: "w16", Usage: "compute with weights of this `TYPE`: f32, w16 (bfloat16), bf16 (bfloat16 multiplied in pairs, where the processor can) or w8 (8-bit whole numbers with a step for each output: half the memory of w16, answers differ)", Destination: &o.policy.Local.Precision},
		&ufcli.StringFlag{Name: "device", Value: "cpu", Usage: "`NAME` of the device that computes", Destination: &o.policy.Local.Device},
		&ufcli.StringFlag{Name: "max-memory", Usage: "play only if no more than this `SIZE` of memory is needed (8GB, 500MiB), else say what fits", Destination: &o.memory},
		&ufcli.StringFlag{Name: "speculate", Usage: "guess tokens ahead and run them at once: ngram (looks up what stood there before), or the `FOLDER` of a smaller policy of the same vocabulary; what is played stays the same", Destination: &o.policy.Local.Speculate},
		&ufcli.IntFlag{Name: "threads", Usage: "use `N` threads (0: one a processor)", Destination: &o.policy.Local.Threads},
		&ufcli.Float64Flag{Name: "max-failed", Value: .1, Usage: "tolerate this `SHARE` of failed attempts", Destination: &o.cfg.MaxFailed},
		&ufcli.Float64Flag{Name: "stragglers", Usage: "stop waiting once this `SHARE` of all attempts is done, as .9, and --straggler-group of each question's; those left are recorded as failed (0: wait for all). Which they are depends on how fast others were: the same command may give other rows", Destination: &o.cfg.Stragglers.All},
		&ufcli.Float64Flag{Name: "straggler-group", Value: .75, Usage: "the `SHARE` of each question's attempts that --stragglers waits for", Destination: &o.cfg.Stragglers.Group},
		&ufcli.StringFlag{Name: "journal", Usage: "keep what is played in `FILE` until the output is whole (default: beside --out)", Destination: &o.cfg.Journal},
		&ufcli.IntFlag{Name: "max-errors", Usage: "tolerate `N` bad records", Destination: &o.cfg.Questions.MaxErrors, Action: cli.NotNegative("max-errors")},
		&ufcli.StringFlag{Name: "rejects", Usage: "keep bad records in `FILE`", Destination: &o.cfg.Questions.Rejects},
		&ufcli.StringFlag{Name: "oracle", Usage: "begin each attempt with the expert's calls up to what it found (search) or read (read); the `HELP` is recorded, and such rows are not trained on", Destination: &o.oracle},
		&ufcli.BoolFlag{Name: "open-mail", Usage: "the expert's mails stand in the prompt: rows that teach reading", Destination: &o.openMail},
		&ufcli.StringFlag{Name: "prompt", Usage: "have the policy answer `TEXT`, outside of any environment; - reads standard input", Destination: &o.prompt},
		&ufcli.StringFlag{Name: "ask", Usage: "answer one `QUESTION` at the terminal", Destination: &o.ask},
		&ufcli.StringFlag{Name: "inbox", Usage: "the mailbox `ADDRESS` that --ask is about", Destination: &o.inbox},
	}
	return append(flags, o.remote.flags()...)
}

// check refuses contradictions and fills in what comes from the outside.
func (o *options) check(e *cli.Env) error {
	if err := o.checkPrompt(e); err != nil {
		return err
	}
	switch {
	case o.world.Index == "" && o.prompt == "":
		return cli.WithHint(cli.Usagef("--index is missing"), "ingest MAIL --index inbox.db writes one")
	case o.policy.Name == "" && !o.remote.llm.Wanted():
		return cli.Usagef("--policy is missing: want expert, heuristic, replay:FILE or a policy folder; or --base-url and --model")
	case o.policy.Name != "" && o.remote.llm.Wanted():
		return cli.Usagef("--policy %s and --base-url: want one of them", o.policy.Name)
	case (o.ask == "") != (o.inbox == ""):
		return cli.Usagef("--ask and --inbox: want both or neither")
	case o.ask != "" && len(e.Args)+len(o.in.Value()) > 0:
		return cli.Usagef("--ask plays no question file, but %q is given", append(o.in.Value(), e.Args...)[0])
	case o.ask != "" && o.policy.Name == "expert":
		return cli.Usagef("--ask: the expert knows the answers of question files only")
	case o.oracle != "" && o.oracle != string(agent.OracleSearch) && o.oracle != string(agent.OracleRead):
		return cli.Usagef("--oracle %q: want search or read", o.oracle)
	case o.oracle != "" && (o.ask != "" || o.policy.Name == "expert"):
		return cli.Usagef("--oracle is help by the expert, at questions of a file, for another policy")
	case o.openMail && o.policy.Name != "expert":
		return cli.Usagef("--open-mail is an exercise that --policy expert shows")
	case o.ask != "" && strings.TrimSpace(o.ask) == "":
		return cli.Usagef("--ask: the question is blank")
	case o.ask != "" && o.cfg.Out != "":
		return cli.Usagef("--ask and --out: want one of them; --ask writes no trajectories")
	case o.temperature != unset && o.temperature != 0 && o.temperature < leastTemperature:
		return cli.Usagef("--temperature %g: want 0 (greedy), or %g or more", o.temperature, leastTemperature)
	case o.topP <= 0 || o.topP > 1:
		return cli.Usagef("--top-p %g: want a share above 0, at most 1", o.topP)
	case o.topK < 0:
		return cli.Usagef("--top-k %d: want 0 or more", o.topK)
	case o.minP < 0 || o.minP >= 1:
		return cli.Usagef("--min-p %g: want 0 or more, below 1", o.minP)
	case slices.Contains(o.stop.Value(), ""):
		return cli.Usagef("--stop: an empty text would end every turn at once")
	case o.remote.llm.Wanted() && (o.minP > 0 || len(o.stop.Value()) > 0):
		return cli.Usagef("--min-p and --stop are for policy folders; servers are not asked for them")
	case o.constrain != "" && o.constrain != traj.ConstrainTools:
		return cli.Usagef("--constrain %q: want tools", o.constrain)
	case o.constrain != "" && (o.remote.llm.Wanted() || catalog.Unweighted(o.policy.Name)):
		return cli.Usagef("--constrain is for policy folders: nothing else shows its probabilities")
	case o.cfg.Stragglers.All != 0 && e.Clock.Fixed():
		return cli.Usagef("--stragglers with --clock fixed: who is left out depends on time, so rows could not be the same again; want one of them")
	case o.policy.Local.Context < 0:
		return cli.Usagef("--context %d: want 0 or more", o.policy.Local.Context)
	case o.policy.Local.Threads < 0 || o.policy.Local.Threads > catalog.MaxThreads:
		return cli.Usagef("--threads %d: want 0 to %d", o.policy.Local.Threads, catalog.MaxThreads)
	}
	var err error
	if o.memory != "" {
		if o.policy.Local.MaxMemory, err = cli.ParseSize(o.memory); err != nil {
			return cli.Usagef("--max-memory: %w", err)
		}
	}
	if o.cfg.Shard, err = seed.ParseShard(o.shard); err != nil {
		return cli.Usagef("--shard: %w", err)
	}
	if err := o.cfg.Check(); err != nil {
		return cli.Usagef("%w", err)
	}
	o.cfg.Questions.Paths, o.cfg.Questions.Stdin = append(o.in.Value(), e.Args...), e.Stdin
	o.cfg.Questions.Report = func(err error) { e.Log.Warn(err.Error()) }
	o.cfg.World = []string{o.world.Index}
	if o.policy.Local.Context > 0 {
		o.cfg.Mark = fmt.Sprint("context ", o.policy.Local.Context)
	}
	if help := o.help(); help != agent.NoHelp {
		o.cfg.Mark += " help " + string(help)
	}
	o.cfg.Stdout, o.cfg.Progress = e.Stdout, e.Progress
	return cli.Apart(append([]string{o.world.Index}, o.cfg.Questions.Paths...), cli.Output{Flag: "out", Path: o.cfg.Out},
		cli.Output{Flag: "journal", Path: o.cfg.JournalPath()}, cli.Output{Flag: "rejects", Path: o.cfg.Questions.Rejects})
}

// help is what of the expert's play an attempt begins with.
func (o *options) help() agent.Help {
	if o.openMail {
		return agent.OpenMail
	}
	return agent.Help(o.oracle)
}

// leastTemperature is where float32 log-probabilities still have values.
const leastTemperature = 1e-3

func (o *options) sampling() traj.Sampling {
	s := traj.Sampling{Temperature: o.temperature, TopP: o.topP, TopK: o.topK, MinP: o.minP, Stop: o.stop.Value(), Constrain: o.constrain}
	if s.Temperature == unset {
		if s.Temperature = 1; o.ask != "" || o.prompt != "" {
			s.Temperature = 0
		}
	}
	return s
}

// rules are the flags for the rules of the game; unset ones are filled in.
type rules struct{ traj.EnvOptions }

func (r *rules) flags() []ufcli.Flag {
	d := catalog.DefaultOptions()
	text := func(name, usage, value string, dst *string) ufcli.Flag {
		return &ufcli.StringFlag{Name: name, Usage: usage, DefaultText: "the policy folder's, else " + value, Destination: dst}
	}
	number := func(name, usage string, value int, dst *int) ufcli.Flag {
		return &ufcli.IntFlag{Name: name, Usage: usage, Value: unset, DefaultText: fmt.Sprintf("the policy folder's, else %d", value), Destination: dst}
	}
	return []ufcli.Flag{
		text("search", "`RULE` of a search: any (of its words, best first) or all (of them, newest first)", d.Search, &r.Search),
		number("max-turns", "at most `N` turns an attempt", d.MaxTurns, &r.MaxTurns),
		number("turn-tokens", "at most `N` tokens a turn", d.TurnTokens, &r.TurnTokens),
		number("max-hits", "at most `N` hits a search", d.MaxHits, &r.MaxHits),
		number("mail-words", "show `N` words of a mail (0: the whole mail)", d.MailWords, &r.MailWords),
		text("ids", "`KIND` of the ids of mails: short (numbers) or full (Message-IDs)", d.IDs, &r.IDs),
		text("on-bad-call", "`WHAT` a turn that is no call leads to: stop (the attempt ends) or tell (the policy is told)", d.OnBadCall, &r.OnBadCall),
		text("tool-format", "`FORMAT` of a call: "+strings.Join(toolformat.Names(), ", "), "its family's, else "+d.ToolFormat, &r.ToolFormat),
	}
}

// resolve fills in the rules that were not given: the policy's. Each given one that
// differs from those it was trained under is told to warn.
func (r *rules) resolve(trained traj.EnvOptions, ok bool, warn func(difference string)) traj.EnvOptions {
	if !ok {
		warn = func(string) {}
	}
	o := r.EnvOptions
	fill(&o.Search, "", trained.Search, "search", warn)
	fill(&o.MaxTurns, unset, trained.MaxTurns, "max-turns", warn)
	fill(&o.TurnTokens, unset, trained.TurnTokens, "turn-tokens", warn)
	fill(&o.MaxHits, unset, trained.MaxHits, "max-hits", warn)
	fill(&o.MailWords, unset, trained.MailWords, "mail-words", warn)
	fill(&o.IDs, "", trained.IDs, "ids", warn)
	fill(&o.OnBadCall, "", trained.OnBadCall, "on-bad-call", warn)
	fill(&o.ToolFormat, "", trained.ToolFormat, "tool-format", warn)
	return o
}

func fill[T comparable](rule *T, none, trained T, flag string, warn func(string)) {
	switch *rule {
	case none:
		*rule = trained
	case trained:
	default:
		warn(fmt.Sprintf("--%s is %v, was %v", flag, *rule, trained))
	}
}
