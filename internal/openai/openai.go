// Package openai is the client of chat-completions servers: OpenAI's own and
// those that speak its protocol.
//
// Most callers want New, or rather package catalog, which also puts a cache and
// a budget around it. Load goes to the server with the fewest requests under
// way; what may pass by itself is tried again until the deadline; what a server
// does not know of the protocol is left out the next time.
package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"agentmill/internal/clock"
	"agentmill/internal/llm"
	"agentmill/internal/seed"
	"agentmill/internal/traj"
)

// A Config names servers and a model that all of them have.
type Config struct {
	BaseURLs    []string // each up to and with the version, as http://host:8000/v1
	Model       string
	APIKey      string // never logged
	Effort      string // of models that reason, "" leaves it to the server
	Concurrency int    // requests at a time; 0 is 16
	RPM, TPM    int    // requests and tokens a minute; 0 is no limit
	Timeout     time.Duration
	Deadline    time.Duration
	Retry       Retry
	Warn        func(text string) // told of what a server does not know; may be nil
}

// A Retry says how long to try again what may pass by itself.
type Retry struct {
	Tries   int           // at most, those not counted that a rate limit refused; 0 is 8
	Wait    time.Duration // before the second try, doubled for each further one; 0 is .5 s
	MaxWait time.Duration // longest wait that doubling leads to; 0 is 30 s
}

// withDefaults fills in what is 0.
func (c Config) withDefaults() Config {
	orDefault(&c.Concurrency, 16)
	orDefault(&c.Timeout, 5*time.Minute)
	orDefault(&c.Deadline, 20*time.Minute)
	orDefault(&c.Retry.Tries, 8)
	orDefault(&c.Retry.Wait, time.Second/2)
	orDefault(&c.Retry.MaxWait, 30*time.Second)
	if c.Warn == nil {
		c.Warn = func(string) {}
	}
	return c
}

func orDefault[T comparable](x *T, value T) {
	if *x == *new(T) {
		*x = value
	}
}

// A Client is a model on one or more servers. It implements llm.Client.
type Client struct {
	cfg  Config
	pool *pool
	rpm  *bucket
	tpm  *bucket
	down atomic.Bool // a request used up all its tries and no server was there
}

// New makes a Client. It does not talk to the servers yet.
func New(cfg Config) (*Client, error) {
	if len(cfg.BaseURLs) == 0 || cfg.Model == "" {
		return nil, errors.New("a remote model needs both a base address and a name")
	}
	cfg = cfg.withDefaults()
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the default HTTP transport was replaced by another type")
	}
	transport = transport.Clone()
	transport.MaxIdleConnsPerHost = cfg.Concurrency
	clk := clock.Real() // of waiting, which no output depends on
	c := &Client{cfg: cfg, pool: newPool(cfg.Concurrency, 2*cfg.Retry.Wait, clk), rpm: newBucket(cfg.RPM, clk), tpm: newBucket(cfg.TPM, clk)}
	for _, url := range cfg.BaseURLs {
		c.pool.add(newEndpoint(&c.cfg, strings.TrimRight(url, "/"), transport))
	}
	return c, nil
}

// Model implements llm.Client.
func (c *Client) Model() string { return c.cfg.Model }

// Complete implements llm.Client.
func (c *Client) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	within, cancel := context.WithTimeout(ctx, c.cfg.Deadline)
	defer cancel()
	reply, err := c.complete(within, &r)
	if err == nil || !errors.Is(ctx.Err(), context.Canceled) && errors.As(err, new(*llm.Error)) {
		return reply, err // it says more than that time was up
	}
	return reply, fmt.Errorf("chat completion with %s: %w", c.cfg.Model, llm.Ended(within))
}

// complete tries until there is a reply, or no hope.
func (c *Client) complete(ctx context.Context, r *llm.Request) (llm.Reply, error) {
	jitter := seed.Stream(r.Seed, "jitter", r.Sample, r.Try)
	wait := c.cfg.Retry.Wait
	retries, counted := 0, 0
	for {
		reply, f, err := c.once(ctx, r)
		if err != nil {
			return llm.Reply{Retries: retries}, err
		}
		reply.Retries = retries
		if f == nil {
			c.down.Store(false)
			return reply, nil
		}
		if f.adapted {
			continue // without what the server does not know
		}
		if f.kind != traj.KindRateLimit {
			counted++
		}
		if !f.passing || counted >= c.tries() {
			c.down.Store(f.kind == traj.KindUnreachable)
			return reply, c.failed(f)
		}
		retries++
		pause := min(wait, c.cfg.Retry.MaxWait)
		wait = 2 * pause
		pause = pause/2 + time.Duration(jitter.Int64N(int64(pause)+1))
		if sleep(ctx, pause) != nil {
			return reply, c.failed(f)
		}
	}
}

// tries is how many a request has: one where nobody is there to answer.
func (c *Client) tries() int {
	if c.down.Load() {
		return 1
	}
	return c.cfg.Retry.Tries
}

// once waits for its turn and sends r to the idlest server.
func (c *Client) once(ctx context.Context, r *llm.Request) (llm.Reply, *fault, error) {
	guess := llm.EstimateTokens(r)
	if err := errors.Join(c.rpm.take(ctx, 1), c.tpm.take(ctx, float64(guess))); err != nil {
		return llm.Reply{}, nil, err
	}
	ep, f, err := c.pool.acquire(ctx)
	if f != nil || err != nil {
		return llm.Reply{}, f, err
	}
	reply, f := ep.try(ctx, r)
	c.pool.release(ep, f)
	if used := reply.Usage.PromptTokens + reply.Usage.CompletionTokens; used > 0 {
		c.tpm.give(float64(guess - used))
	}
	return reply, f, nil
}

// failed is what a fault means to the caller.
func (c *Client) failed(f *fault) error {
	text := f.err.Error()
	if c.cfg.APIKey != "" {
		text = strings.ReplaceAll(text, c.cfg.APIKey, "[key]") // some servers repeat it
	}
	return &llm.Error{Kind: f.kind, Status: f.status, Err: fmt.Errorf("chat completion with %s: %s", c.cfg.Model, text)}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
