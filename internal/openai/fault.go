package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"agentmill/internal/chat"
	"agentmill/internal/llm"
	"agentmill/internal/traj"
)

// A fault is a try that brought no reply.
type fault struct {
	kind    string
	status  int
	err     error
	passing bool          // trying again can help
	adapted bool          // something the server lacks was found; the next try is without it
	rest    time.Duration // the server wants to be left alone for so long
}

// errTooLong is a conversation that does not fit the model's context.
var errTooLong = errors.New("the conversation is too long for the model")

// tooLong is the reply to such a conversation: the end of the attempt, no failure.
func tooLong() llm.Reply { return llm.Reply{Finish: chat.FinishContext} }

// classify sorts what went wrong by what could help.
func (ep *endpoint) classify(ctx context.Context, err error, x *exchange, l lack) *fault {
	var network net.Error
	switch {
	case !x.sent:
		return &fault{kind: llm.KindRefused, err: err}
	case x.status != 0 && x.status != http.StatusOK && !x.cut:
		return ep.status(err, x, l)
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return &fault{kind: traj.KindTimeout, passing: true, err: fmt.Errorf("no whole reply in time (a try takes at most %s): %w", ep.cfg.Timeout, err)}
	case errors.Is(err, errCut):
		return &fault{kind: traj.KindServer, passing: true, err: err}
	case x.status == http.StatusOK:
		return &fault{kind: llm.KindProtocol, passing: true, err: err}
	}
	return &fault{kind: traj.KindUnreachable, passing: true, err: err}
}

// status sorts an answer that is no success.
func (ep *endpoint) status(err error, x *exchange, l lack) *fault {
	d := detailsOf(err, x)
	f := &fault{kind: llm.KindRefused, status: x.status, err: fmt.Errorf("status %d: %s", x.status, d.message)}
	switch {
	case d.tooLong():
		f.err = errTooLong
	case x.status == http.StatusTooManyRequests && d.code == "insufficient_quota":
		f.kind = llm.KindQuota
	case x.status == http.StatusTooManyRequests:
		f.kind, f.passing, f.rest = traj.KindRateLimit, true, retryAfter(x.header)
	case x.status == http.StatusRequestTimeout:
		f.kind, f.passing = traj.KindTimeout, true
	case x.status == http.StatusConflict, x.status >= http.StatusInternalServerError:
		f.kind, f.passing, f.rest = traj.KindServer, true, retryAfter(x.header)
	case x.status == http.StatusBadRequest, x.status == http.StatusUnprocessableEntity:
		f.adapted = ep.adapt(d, l)
	}
	return f
}

// details is what an error's body says.
type details struct{ message, code, param string }

func detailsOf(err error, x *exchange) details {
	if api, ok := errors.AsType[*openai.APIError](err); ok && api.Message != "" {
		d := details{message: api.Message, code: api.Type}
		if code, ok := api.Code.(string); ok && code != "" {
			d.code = code
		}
		if api.Param != nil {
			d.param = *api.Param
		}
		return d
	}
	var plain struct {
		Message string
		Detail  json.RawMessage
	}
	if json.Unmarshal(x.raw, &plain) == nil && plain.Message+string(plain.Detail) != "" {
		return details{message: plain.Message + string(plain.Detail)}
	}
	return details{message: fmt.Sprintf("%.300s", x.raw)}
}

// tooLongSays is how servers put it: OpenAI, vLLM, llama.cpp, SGLang, Anthropic,
// Gemini, Ollama.
var tooLongSays = []string{
	"maximum context length", "context window", "available context size", "model's context length", "prompt is too long",
	"input token count", "exceeds the context", "exceeds context", "context size",
}

func (d details) tooLong() bool {
	if d.code == "context_length_exceeded" || d.code == "exceed_context_size_error" {
		return true
	}
	text := strings.ToLower(d.message)
	for _, s := range tooLongSays {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// retryAfter is how long the server wants to be left alone: in milliseconds,
// seconds, or until a date.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 {
		return time.Duration(s * float64(time.Second))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}
