package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
)

// An exchange carries, under exchangeKey in a request's context, what the
// protocol's library has no field for.
type exchange struct {
	extra map[string]any // more fields of the request

	sent   bool
	status int
	header http.Header
	raw    []byte // the body of the answer
	cut    bool   // the body ended early
}

type exchangeKey struct{}

// maxReply bounds an answer's body.
const maxReply = 64 << 20

// What a wire fails with; test with errors.Is.
var (
	errCut     = errors.New("the answer's body is cut")
	errNotJSON = errors.New("the answer is not JSON")
)

// A wire sends requests and reads answers whole, so that a cut one is noticed.
type wire struct{ client *http.Client }

// Do implements the library's HTTPDoer.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		x = &exchange{}
	}
	if err := splice(r, x.extra); err != nil {
		return nil, err
	}
	x.sent = true
	resp, err := w.client.Do(r) //nolint:gosec // the user names the server
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	x.status, x.header = resp.StatusCode, resp.Header
	x.raw, err = io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		x.cut = true
		return nil, fmt.Errorf("%w: %w", errCut, err)
	}
	if resp.StatusCode == http.StatusOK && !json.Valid(x.raw) {
		return nil, fmt.Errorf("%w: it begins with %.60q", errNotJSON, x.raw)
	}
	resp.Body = io.NopCloser(bytes.NewReader(x.raw))
	return resp, nil
}

// splice adds fields to the JSON body of r.
func splice(r *http.Request, extra map[string]any) error {
	if len(extra) == 0 {
		return nil
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("read the request's body: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("read the request's body: %w", err)
	}
	whole := map[string]any{}
	for name, value := range fields {
		whole[name] = value
	}
	maps.Copy(whole, extra)
	if data, err = json.Marshal(whole); err != nil {
		return fmt.Errorf("write the request's body: %w", err)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return nil
}
