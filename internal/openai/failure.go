package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	openai "github.com/sashabaranov/go-openai"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/traj"
)

// boundary is where failures of this package happen.
const boundary = "provider"

// refused turns an error into what it means for the attempt: a conversation
// that is too long is the end of a turn, all else is a failure.
func (s *session) refused(err error) (agent.Reply, error) {
	if api, ok := errors.AsType[*openai.APIError](err); ok && fmt.Sprint(api.Code) == "context_length_exceeded" {
		return agent.Reply{Turn: chat.Turn{FinishReason: chat.FinishContext}}, nil
	}
	return agent.Reply{}, &agent.Error{Boundary: boundary, Kind: kind(err), Err: fmt.Errorf("chat completion with %s: %w", s.policy.model, err)}
}

// kind sorts errors by what could help.
func kind(err error) string {
	status := 0
	if api, ok := errors.AsType[*openai.APIError](err); ok {
		status = api.HTTPStatusCode
	} else if request, ok := errors.AsType[*openai.RequestError](err); ok {
		status = request.HTTPStatusCode
	}
	var network net.Error
	switch {
	case status == http.StatusTooManyRequests:
		return traj.KindRateLimit
	case status >= http.StatusInternalServerError:
		return traj.KindServer
	case status >= http.StatusBadRequest:
		return "refused"
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return traj.KindTimeout
	case errors.As(err, &network):
		return traj.KindUnreachable
	}
	return "protocol"
}
