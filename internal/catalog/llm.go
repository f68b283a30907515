package catalog

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	ufcli "github.com/urfave/cli/v2"

	"agentmill/internal/cli"
	"agentmill/internal/journal"
	"agentmill/internal/llm"
	"agentmill/internal/openai"
)

// An LLM is the flags that name a model behind a server, the same in all
// commands that use one: Flags, then Open, then Exit for what Run returned.
type LLM struct {
	BaseURLs    ufcli.StringSlice
	Model       string
	APIKeyEnv   string
	Effort      string
	Concurrency int
	RPM, TPM    int
	Timeout     time.Duration // of one try
	Deadline    time.Duration // of a record with all its requests and tries
	CacheDir    string
	CacheOnly   bool
	PricesFile  string
	Budget      float64
	MaxFailed   float64 // share of what is asked that may have no answer

	// Out is the file that the command writes. Without a cache replies are kept
	// beside it until Remote.Close, so that a run that is stopped has paid nothing
	// in vain.
	Out string
}

// Flags are the flags but those in without, which the command has for itself.
func (l *LLM) Flags(without ...string) []ufcli.Flag {
	all := []ufcli.Flag{
		&ufcli.StringSliceFlag{Name: "base-url", Usage: "ask the OpenAI-compatible server at `URL`, as http://localhost:8000/v1 (repeatable: load is spread)", Destination: &l.BaseURLs},
		&ufcli.StringFlag{Name: "model", Usage: "`NAME` of the model on the server", Destination: &l.Model},
		&ufcli.StringFlag{Name: "api-key-env", Value: "OPENAI_API_KEY", Usage: "environment variable `NAME` that holds the server's key", Destination: &l.APIKeyEnv},
		&ufcli.StringFlag{Name: "effort", Usage: "how much a reasoning model thinks: minimal, low, medium, high … (default: the server's)", Destination: &l.Effort},
		&ufcli.IntFlag{Name: "concurrency", Value: 16, Usage: "at most `N` requests at a time", Destination: &l.Concurrency},
		&ufcli.IntFlag{Name: "rpm", Usage: "at most `N` requests a minute (0: no limit)", Destination: &l.RPM, Action: cli.NotNegative("rpm")},
		&ufcli.IntFlag{Name: "tpm", Usage: "at most about `N` tokens a minute (0: no limit)", Destination: &l.TPM, Action: cli.NotNegative("tpm")},
		&ufcli.DurationFlag{Name: "timeout", Value: 5 * time.Minute, Usage: "a request is given up, and tried again, after `TIME`", Destination: &l.Timeout},
		&ufcli.DurationFlag{Name: "deadline", Value: 20 * time.Minute, Usage: "a record fails when its requests have taken `TIME`, all tries included", Destination: &l.Deadline},
		&ufcli.Float64Flag{Name: "max-failed", Value: 0.1, Usage: "tolerate this `SHARE` of questions to the model that get no answer", Destination: &l.MaxFailed},
		&ufcli.StringFlag{Name: "cache", Usage: "keep replies in the folder `DIR`: the same request is paid once, and works offline", Destination: &l.CacheDir},
		&ufcli.BoolFlag{Name: "cache-only", Usage: "ask no server: every reply is in --cache", Destination: &l.CacheOnly},
		&ufcli.StringFlag{Name: "prices", Usage: "reckon dollars by the price table `FILE` (YAML)", Destination: &l.PricesFile},
		&ufcli.Float64Flag{Name: "budget", Usage: "stop before more than `USD` are spent (exit code 5; the same command goes on)", Destination: &l.Budget, Action: cli.Positive("budget")},
	}
	return slices.DeleteFunc(all, func(f ufcli.Flag) bool { return slices.Contains(without, f.Names()[0]) })
}

// Wanted reports whether a server is named, or the cache in its place.
func (l *LLM) Wanted() bool { return len(l.BaseURLs.Value()) > 0 || l.Model != "" || l.CacheOnly }

// check refuses contradictions.
func (l *LLM) check() error {
	urls := l.BaseURLs.Value()
	switch {
	case l.Model == "":
		return cli.Usagef("--base-url: --model is missing")
	case len(urls) == 0 && !l.CacheOnly:
		return cli.Usagef("--model %s: --base-url is missing", l.Model)
	case l.CacheOnly && l.CacheDir == "":
		return cli.Usagef("--cache-only: --cache is missing")
	case l.Concurrency < 1:
		return cli.Usagef("--concurrency %d: want 1 or more", l.Concurrency)
	case l.MaxFailed < 0 || l.MaxFailed > 1:
		return cli.Usagef("--max-failed %g: want a share from 0 to 1", l.MaxFailed)
	case l.Timeout <= 0:
		return cli.Usagef("--timeout %s: want more than 0", l.Timeout)
	case l.Deadline <= 0:
		return cli.Usagef("--deadline %s: want more than 0", l.Deadline)
	case l.Budget > 0 && l.PricesFile == "":
		return cli.Usagef("--budget: --prices is missing")
	}
	for _, text := range urls {
		if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return cli.Usagef("--base-url %q: want an address such as http://localhost:8000/v1", text)
		}
	}
	return nil
}

// A Remote is a model that is asked through a cache and a meter.
type Remote struct {
	llm.Client
	Meter *llm.Meter
	kept  string // a cache that is there for this run only
}

// Tick is told how far a run is, and logs once what the whole will cost.
func (r *Remote) Tick(e *cli.Env) func(llm.Tally) {
	return func(t llm.Tally) {
		if text := r.Meter.Forecast(t); text != "" {
			e.Log.Info(text)
		}
	}
}

// Close tells what was asked, and where the run that ended with err is whole,
// drops what was kept in case of a stop. A nil Remote has asked nothing.
func (r *Remote) Close(e *cli.Env, err error) error {
	if r == nil {
		return err
	}
	e.Notef("%s: %s", r.Model(), r.Meter.Stats())
	if err != nil {
		return err
	}
	return r.done()
}

// done drops the replies that were kept for this run only: its output is whole.
func (r *Remote) done() error {
	if r.kept == "" {
		return nil
	}
	if err := os.RemoveAll(r.kept); err != nil {
		return fmt.Errorf("remove kept replies: %w", err)
	}
	return nil
}

// Open makes the client that the flags describe. It does not talk to a server yet.
func (l *LLM) Open(e *cli.Env) (*Remote, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	price, err := l.price()
	if err != nil {
		return nil, err
	}
	meter := llm.NewMeter(price, l.Budget)
	urls := l.BaseURLs.Value()
	if l.CacheOnly {
		urls = []string{"http://cache.invalid"} // never asked
	}
	client, err := openai.New(openai.Config{
		BaseURLs: urls, Model: l.Model, APIKey: e.Getenv(l.APIKeyEnv), Effort: l.Effort, Concurrency: l.Concurrency,
		RPM: l.RPM, TPM: l.TPM, Timeout: l.Timeout, Deadline: l.Deadline, Warn: func(text string) { e.Log.Warn(text) },
	})
	if err != nil {
		return nil, err
	}
	r := &Remote{Client: llm.Metered(client, meter), Meter: meter}
	dir := l.CacheDir
	if beside := journal.Beside(l.Out); dir == "" && beside != "" {
		r.kept = strings.TrimSuffix(beside, ".journal") + ".replies"
		dir = r.kept
	}
	if dir != "" {
		cache, err := llm.OpenCache(dir, l.CacheOnly)
		if err != nil {
			return nil, err
		}
		r.Client = llm.Cached(r.Client, cache, meter, l.Effort)
	}
	return r, nil
}

// price is the model's in --prices; with a budget there must be one.
func (l *LLM) price() (llm.Price, error) {
	if l.PricesFile == "" {
		return llm.Price{}, nil
	}
	f, err := os.Open(l.PricesFile)
	if err != nil {
		return llm.Price{}, fmt.Errorf("read prices: %w", err)
	}
	defer func() { _ = f.Close() }()
	table, err := llm.ReadPrices(l.PricesFile, f)
	if err != nil {
		return llm.Price{}, err
	}
	price, ok := table.Models[l.Model]
	if !ok {
		return price, cli.Usagef("--prices: %s has no price of model %q", l.PricesFile, l.Model)
	}
	return price, nil
}

// Exit is what err, as a stage returned it, means to the caller of a command.
func (*LLM) Exit(err error) error {
	switch {
	case errors.Is(err, llm.ErrBudget):
		return cli.WithHint(cli.Stoppedf("%w", err), "what is done is kept: the same command goes on, and may spend as much again")
	case llm.Passing(err):
		return cli.TryAgainf("%w", err)
	}
	return err
}
