package openai

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"agentmill/internal/llm"
)

// An endpoint is one server.
type endpoint struct {
	cfg    *Config
	url    string
	client *openai.Client

	// of the pool, under its lock
	busy, served int
	window       float64   // requests at a time
	narrowed     time.Time // when it was last made smaller
	failed       int       // requests in a row
	others       bool      // there are other servers
	rest         time.Time // nothing is sent before

	mu      sync.Mutex
	lacking lack
}

func newEndpoint(cfg *Config, url string, transport http.RoundTripper) *endpoint {
	c := openai.DefaultConfig(cfg.APIKey)
	c.BaseURL = url
	c.HTTPClient = &wire{&http.Client{Transport: transport}}
	return &endpoint{cfg: cfg, url: url, client: openai.NewClientWithConfig(c), lacking: lack{}}
}

// try sends r once.
func (ep *endpoint) try(ctx context.Context, r *llm.Request) (llm.Reply, *fault) {
	within, cancel := context.WithTimeout(ctx, ep.cfg.Timeout)
	defer cancel()
	l := ep.lacks()
	body, extra := ep.encode(r, l)
	x := &exchange{extra: extra}
	resp, err := ep.client.CreateChatCompletion(context.WithValue(within, exchangeKey{}, x), body)
	if err == nil {
		return decode(&resp, x.raw, r)
	}
	f := ep.classify(within, err, x, l)
	if errors.Is(f.err, errTooLong) {
		return tooLong(), nil
	}
	return llm.Reply{}, f
}
