package main

import (
	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/catalog"
	"agentmill/internal/cli"
	"agentmill/internal/judge"
	"agentmill/internal/match"
	"agentmill/internal/reward"
)

// options are the flags as they are typed.
type options struct {
	in, without, second, validation      ufcli.StringSlice
	judge, match, sources, reward, shard string
	prompt, groupPrompt, calibrate       string
	support, supportPrompt               string
	votes, again                         int
	relative, monitor, json              bool
	llm                                  catalog.LLM
	remote                               *catalog.Remote // opened when needed
}

func (o *options) flags(cfg *judge.Config) []ufcli.Flag {
	return []ufcli.Flag{
		&ufcli.StringSliceFlag{Name: "in", Usage: "read trajectories from `FILE` (repeatable; - is standard input)", Destination: &o.in},
		&ufcli.StringFlag{Name: "out", Usage: "write scored rows to `FILE` (.jsonl, .jsonl.gz, .jsonl.zst, .parquet)", Destination: &cfg.Out},
		&ufcli.StringFlag{Name: "judge", Value: "match", Usage: "`NAME` of who judges: match (no model), or llm (--base-url, --model)", Destination: &o.judge},
		&ufcli.StringFlag{Name: "match", Value: string(match.Values), Usage: "`RULE` of the match judge: values, or containment (the plain rule of the first trials)", Destination: &o.match},
		&ufcli.StringFlag{Name: "judge-prompt", Value: judge.VerdictPrompt, Usage: "what the llm judge is told: a prompt that is built in, or a `FILE`", Destination: &o.prompt},
		&ufcli.IntFlag{Name: "votes", Value: 1, Usage: "ask the llm judge `N` times a row; most votes decide, a tie takes one more", Destination: &o.votes, Action: cli.NotNegative("votes")},
		&ufcli.StringFlag{Name: "reward", Value: reward.Default, Usage: "a reward that is built in, or a YAML `FILE`", Destination: &o.reward},
		&ufcli.StringSliceFlag{Name: "without", Usage: "switch the extra `NAME` of the reward off (repeatable): " + extraNames(), Destination: &o.without},
		&ufcli.BoolFlag{Name: "relative", Usage: "let the model compare the attempts of each group; its scores are the rewards", Destination: &o.relative},
		&ufcli.StringFlag{Name: "relative-prompt", Value: judge.GroupPrompt, Usage: "what it is told then: a prompt that is built in, or a `FILE`", Destination: &o.groupPrompt},
		&ufcli.StringFlag{Name: "support", Value: "match", Usage: "`NAME` of who says whether an answer stands in the mails (term supported): match (numbers, dates, names) or llm", Destination: &o.support},
		&ufcli.StringFlag{Name: "support-prompt", Value: judge.SupportPrompt, Usage: "what the llm is told then: a prompt that is built in, or a `FILE`", Destination: &o.supportPrompt},
		&ufcli.StringFlag{Name: "sources", Value: string(judge.Covered), Usage: "`RULE` of right sources: covered (every gold mail and nothing else) or first (the first gold mail is cited)", Destination: &o.sources},
		&ufcli.StringFlag{Name: "shard", Usage: "only part `I/N` of the groups", Destination: &o.shard},
		&ufcli.StringFlag{Name: "journal", Usage: "keep what is judged in `FILE` until the output is whole (default: beside --out)", Destination: &cfg.Journal},
		&ufcli.IntFlag{Name: "max-errors", Usage: "tolerate `N` bad records", Destination: &cfg.In.MaxErrors, Action: cli.NotNegative("max-errors")},
		&ufcli.StringFlag{Name: "rejects", Usage: "keep bad records in `FILE`", Destination: &cfg.In.Rejects},
		&ufcli.StringFlag{Name: "calibrate", Usage: "compare the judge with people: `FILE` of answers and what people said of them", Destination: &o.calibrate},
		&ufcli.IntFlag{Name: "again", Value: 1, Usage: "with --calibrate: judge each row `K` times, and say how often it says the same", Destination: &o.again, Action: cli.NotNegative("again")},
		&ufcli.BoolFlag{Name: "monitor", Usage: "look for signs of hacking in scored files, given in order of time; exit code 5 where there are any", Destination: &o.monitor},
		&ufcli.StringSliceFlag{Name: "second", Usage: "with --monitor: the same steps as another judge scored them, `FILE` by file", Destination: &o.second},
		&ufcli.StringSliceFlag{Name: "validation", Usage: "with --monitor: scored play on other questions, `FILE` by file", Destination: &o.validation},
		&ufcli.BoolFlag{Name: "json", Usage: "with --calibrate or --monitor: JSON instead of a table", Destination: &o.json},
	}
}
