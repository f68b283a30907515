package main

import (
	"strings"
	"time"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/cli"
	"agentmill/internal/train"
)

func flags(c *train.Config, o *options) []ufcli.Flag {
	return []ufcli.Flag{
		&ufcli.StringFlag{Name: "method", Value: "grpo", Usage: "`NAME` of the method: grpo, sft or distill", Destination: &c.Method},
		&ufcli.StringFlag{Name: "teacher", Usage: "distill: `FOLDER` of the policy to learn from, of the same vocabulary", Destination: &c.RL.Teacher},
		&ufcli.StringFlag{Name: "filter", Usage: "sft: train on the rows for which `CONDITION` holds, such as 'correct && turns <= 4', or on all", DefaultText: "correct", Destination: &c.Filter},
		&ufcli.StringFlag{Name: "cut", Value: "mask", Usage: "`WHAT` to do with rows that ran into a token limit: mask or train", Destination: &c.Cut},
		&ufcli.Float64Flag{Name: "lr", Usage: "learning `RATE`", DefaultText: "sft 2e-4; else 2e-5, with adapters 2e-4", Destination: &c.LR, Action: cli.Positive("lr")},
		&ufcli.StringFlag{Name: "schedule", Usage: "`NAME` of the schedule: constant, linear or cosine (both decay to a tenth)", DefaultText: "sft linear, else constant", Destination: &c.Schedule},
		&ufcli.IntFlag{Name: "warmup", Value: -1, Usage: "let the rate rise over `N` steps", DefaultText: "sft 5, else 0", Destination: &c.Warmup},
		&ufcli.IntFlag{Name: "epochs", Value: 1, Usage: "make `N` passes over the rows", Destination: &c.Epochs},
		&ufcli.IntFlag{Name: "batch", Usage: "make one update of `N` rows", DefaultText: "sft 8, else all", Destination: &c.Batch},
		&ufcli.IntFlag{Name: "tokens-per-batch", Value: 2048, Usage: "compute at most `N` tokens at once; an update adds up as many passes as it needs", Destination: &c.TokensPerBatch},
		&ufcli.IntFlag{Name: "max-steps", Usage: "stop after `N` updates (0: no limit)", Destination: &c.MaxSteps},
		&ufcli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed `N` of order and new adapters", Destination: &c.Seed},
		&ufcli.Float64Flag{Name: "weight-decay", Usage: "decay the matrices' weights by `RATE`", Destination: &c.Optimizer.WeightDecay},
		&ufcli.Float64Flag{Name: "clip-norm", Value: 1, Usage: "clip the gradient to norm `X` (0: not)", Destination: &c.Optimizer.ClipNorm},
		&ufcli.IntFlag{Name: "lora-rank", Usage: "train adapters of rank `R` (0: all weights)", Destination: &c.LoRARank},
		&ufcli.Float64Flag{Name: "lora-alpha", Usage: "scale adapters by `A`/R (0: A is twice the rank)", Destination: &c.LoRAAlpha},
		&ufcli.StringSliceFlag{Name: "lora-target", Usage: "put adapters on the matrices called `NAME` alone, as q_proj (repeatable)", DefaultText: "all seven", Destination: &o.targets},
		&ufcli.Float64Flag{Name: "lora-dropout", Usage: "drop this `SHARE` of the adapters' inputs in training", Destination: &c.LoRADropout},
		&ufcli.BoolFlag{Name: "rslora", Usage: "scale adapters by A/√R", Destination: &c.RSLoRA},
		&ufcli.IntFlag{Name: "max-staleness", Usage: "accept rows of policies up to `K` steps older", Destination: &c.MaxStaleness},
		&ufcli.BoolFlag{Name: "require-signal", Usage: "write nothing and end with status 5 when there is nothing to learn", Destination: &c.RequireSignal},
	}
}

// rlFlags are the options of a policy gradient. Each is one choice; those that
// undo each other are refused.
func rlFlags(r *train.RL, o *options) []ufcli.Flag {
	return []ufcli.Flag{
		&ufcli.StringFlag{Name: "advantage", Value: "rloo", Usage: "how rewards become advantages, by `NAME`: rloo, grpo, grpo-sample, drgrpo, maxrl, reinforce++, salt or gigpo", Destination: &r.Advantage},
		&ufcli.StringFlag{Name: "advantage-base", Usage: "salt, gigpo: the advantage of whole attempts, by `NAME`", DefaultText: "rloo", Destination: &r.Base},
		&ufcli.IntFlag{Name: "salt-history", Value: r.Steps.History, Usage: "salt: a state is what is seen and the last `N` turns (-1: all)", Destination: &r.Steps.History},
		&ufcli.StringFlag{Name: "salt-votes", Value: "rollout", Usage: "salt: an attempt that makes a step twice votes once a `WHAT`: rollout or visit", Destination: &o.votes},
		&ufcli.BoolFlag{Name: "salt-renorm", Usage: "salt: z-score over a group's turns after merging", Destination: &r.Steps.Renorm},
		&ufcli.Float64Flag{Name: "similarity", Value: r.Steps.Similarity, Usage: "salt, gigpo: texts are the same from this `SHARE` of common words on", Destination: &r.Steps.Similarity},
		&ufcli.Float64Flag{Name: "gigpo-omega", Value: r.Steps.Omega, Usage: "gigpo: weight `W` of the step's share", Destination: &r.Steps.Omega},
		&ufcli.Float64Flag{Name: "gigpo-gamma", Value: r.Steps.Gamma, Usage: "gigpo: discount `G` a turn", Destination: &r.Steps.Gamma},
		&ufcli.BoolFlag{Name: "gigpo-std", Usage: "gigpo: divide by the deviation among a state's steps", Destination: &r.Steps.Std},
		&ufcli.BoolFlag{Name: "per-term", Usage: "take advantages of each term of the reward by itself, then add up (GDPO)", Destination: &r.PerTerm},
		&ufcli.StringSliceFlag{Name: "term-weight", Usage: "per term: `NAME=WEIGHT` of a term (repeatable; others 1)", Destination: &o.terms},
		&ufcli.StringFlag{Name: "loss", Usage: "`NAME` of the loss: reinforce, clip, dual-clip, cispo or gspo", DefaultText: "reinforce", Destination: &r.Loss.Kind},
		&ufcli.Float64Flag{Name: "clip-low", Value: -1, Usage: "hold the ratio above 1-`E`", DefaultText: "clip, dual-clip .2, cispo 1, gspo 3e-4", Destination: &r.Loss.Low},
		&ufcli.Float64Flag{Name: "clip-high", Value: -1, Usage: "hold the ratio below 1+`E`", DefaultText: "clip, dual-clip .2, cispo 4, gspo 4e-4", Destination: &r.Loss.High},
		&ufcli.Float64Flag{Name: "dual-clip", Value: -1, Usage: "dual-clip: a bad token costs at most `C` times its advantage", DefaultText: "3", Destination: &r.Loss.Dual},
		&ufcli.StringFlag{Name: "ratio", Usage: "take the ratio per `SPAN`: token, turn or sequence", DefaultText: "token, gspo sequence", Destination: &r.Loss.Ratio},
		&ufcli.StringFlag{Name: "aggregate", Usage: "`WHAT` weighs the same: token, sequence, or constant (1/limit a token)", DefaultText: "token, gspo sequence", Destination: &r.Aggregate},
		&ufcli.IntFlag{Name: "aggregate-limit", Usage: "constant: `N` tokens, the limit of an attempt", Destination: &r.Limit},
		&ufcli.StringFlag{Name: "kl", Usage: "keep near a reference by the term k1, k2 or k3 in the loss, or by a shift of the advantage: `KIND`", Destination: &r.Loss.KL},
		&ufcli.Float64Flag{Name: "kl-coef", Usage: "weight `B` of --kl", Destination: &r.Loss.KLCoef},
		&ufcli.StringFlag{Name: "reference", Usage: "`FOLDER` of the policy that --kl is measured to", DefaultText: "the base under the adapter", Destination: &r.Reference},
		&ufcli.StringFlag{Name: "old", Usage: "log-probabilities before the update are the `WHOSE`: trainer or engine", DefaultText: "trainer", Destination: &r.Old},
		&ufcli.StringFlag{Name: "importance", Usage: "correct for the engine's numbers by `KIND`: truncate, mask or none", DefaultText: "grpo truncate, unless --old engine; else none", Destination: &r.Importance.Kind},
		&ufcli.StringFlag{Name: "importance-level", Usage: "weigh by `SPAN`: token, sequence or geometric", DefaultText: "token", Destination: &r.Importance.Level},
		&ufcli.Float64Flag{Name: "importance-low", Value: -1, Usage: "mask: weights below `X`", DefaultText: "token .5, sequence 0, geometric .99", Destination: &r.Importance.Low},
		&ufcli.Float64Flag{Name: "importance-high", Value: -1, Usage: "truncate, or mask, weights above `X`", DefaultText: "truncate 2; mask by token 2, sequence 3, geometric 1.01", Destination: &r.Importance.High},
		&ufcli.IntFlag{Name: "overlong-limit", Usage: "punish attempts as they come near `N` sampled tokens (0: not)", Destination: &r.Overlong.Limit},
		&ufcli.IntFlag{Name: "overlong-cache", Usage: "the last `N` tokens before the limit cost more and more", Destination: &r.Overlong.Cache},
		&ufcli.Float64Flag{Name: "overlong-factor", Value: r.Overlong.Factor, Usage: "the limit costs `X`", Destination: &r.Overlong.Factor},
	}
}

// apply takes over the flags that are not one field.
func (o *options) apply(c *train.Config) error {
	c.RL.TermWeights, c.LoRATargets = o.terms.Value(), o.targets.Value()
	switch o.votes {
	case "rollout":
	case "visit":
		c.RL.Steps.PerVisit = true
	default:
		return cli.Usagef("--salt-votes %q: want rollout or visit", o.votes)
	}
	return nil
}

func ioFlags(c *train.Config, o *options) []ufcli.Flag {
	return []ufcli.Flag{
		&ufcli.StringSliceFlag{Name: "in", Usage: "read rows from `FILE` (as an argument; repeatable)", Destination: &o.in},
		&ufcli.StringFlag{Name: "policy", Usage: "`FOLDER` of the parent", Destination: &c.Policy},
		&ufcli.StringFlag{Name: "base", Usage: "`FOLDER` that replaces the base of an adapter", Destination: &c.Base},
		&ufcli.StringFlag{Name: "out", Usage: "`FOLDER` of the child", Destination: &c.Out},
		&ufcli.IntFlag{Name: "max-errors", Usage: "tolerate `N` bad records", Destination: &c.Source.MaxErrors, Action: cli.NotNegative("max-errors")},
		&ufcli.StringFlag{Name: "rejects", Usage: "keep bad records in `FILE`", Destination: &c.Source.Rejects},
		&ufcli.StringFlag{Name: "device", Value: "cpu", Usage: "`NAME` of the device that computes", Destination: &o.device},
		&ufcli.IntFlag{Name: "threads", Usage: "use `N` threads (0: one a processor)", Destination: &o.threads},
		&ufcli.DurationFlag{Name: "save-every", Value: 5 * time.Minute, Usage: "keep the state of an unfinished run every `TIME`", Destination: &c.SaveEvery},
		&ufcli.IntFlag{Name: "save-steps", Usage: "keep it every `N` steps too (0: by time alone)", Destination: &c.SaveSteps},
		&ufcli.StringFlag{Name: "stop-on-alarm", Usage: "train nothing and end with status 5 if `FILE`, written by judge --monitor --json, holds an alarm", Destination: &o.alarms},
		&ufcli.BoolFlag{Name: "dry-run", Usage: "train nothing: print rewards, every kind of advantage, tokens, time and memory (no --out)", Destination: &o.dryRun},
		&ufcli.BoolFlag{Name: "check", Usage: "train nothing: compare rows with tokenizer and template, and the engine's numbers with the trainer's; status 1 where they drift (no --out)", Destination: &o.check},
		&ufcli.Float64Flag{Name: "max-drift", Value: 0.05, Usage: "check: engine and trainer may differ by `X` in the mean", Destination: &o.drift, Action: cli.Positive("max-drift")},
		&ufcli.IntFlag{Name: "keep-checkpoints", Usage: "keep the last `N` policies of a run in OUT.steps, one each --save-steps", Destination: &c.KeepCheckpoints},
		&ufcli.StringFlag{Name: "keep-best", Usage: "keep the best of them too, by the mean of `METRIC` since the one before: " + strings.Join(train.BestMetrics(), ", "), Destination: &c.KeepBest},
		&ufcli.StringFlag{Name: "tensorboard", Usage: "write an event file into `DIR` too, one a run of train, for tensorboard --logdir", Destination: &c.TensorBoard},
		&ufcli.StringFlag{Name: "export", Usage: "train nothing: write --policy to --out as `WHAT`: merged (no adapter, bf16) or gguf (a folder with model.gguf), and compare both", Destination: &o.export},
		&ufcli.StringFlag{Name: "rate", Usage: "only print the tokens a second at which the policy in `FOLDER` was trained", Destination: &o.rate},
	}
}
