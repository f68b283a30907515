package openai

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// A Retry says how long to try again what may pass by itself: no connection,
// status 429, a server's error.
type Retry struct {
	Tries   int           // at most; 0 is 5
	Wait    time.Duration // before the second try, doubled for each further one; 0 is .5 s
	MaxWait time.Duration // longest wait, also where the server asks for more; 0 is 60 s
	Timeout time.Duration // of one try; 0 is 5 min
}

func (r Retry) withDefaults() Retry {
	if r.Tries == 0 {
		r.Tries = 5
	}
	if r.Wait == 0 {
		r.Wait = time.Second / 2
	}
	if r.MaxWait == 0 {
		r.MaxWait = time.Minute
	}
	if r.Timeout == 0 {
		r.Timeout = 5 * time.Minute
	}
	return r
}

// A retrier is a transport that tries again. It keeps to the server's Retry-After.
type retrier struct {
	Retry
	next http.RoundTripper
}

// triesKey is where a context holds the count of tries.
type triesKey struct{}

// countTries makes requests under the context add their tries to n.
func countTries(ctx context.Context, n *int) context.Context {
	return context.WithValue(ctx, triesKey{}, n)
}

// RoundTrip implements http.RoundTripper.
func (t *retrier) RoundTrip(r *http.Request) (*http.Response, error) {
	wait := t.Wait
	for try := 1; ; try++ {
		if n, ok := r.Context().Value(triesKey{}).(*int); ok {
			*n = try
		}
		resp, err := t.once(r)
		if try == t.Tries || !passing(resp, err) || r.Context().Err() != nil {
			return resp, err
		}
		pause := min(wait, t.MaxWait)
		if resp != nil {
			if asked, ok := retryAfter(resp); ok {
				pause = asked
			}
			if pause > t.MaxWait {
				return resp, nil
			}
			io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) //nolint:errcheck // only to reuse the connection
			_ = resp.Body.Close()
		}
		if err := sleep(r.Context(), pause); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

// once sends a copy of r under the time limit of one try.
func (t *retrier) once(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), t.Timeout)
	try := r.Clone(ctx)
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			cancel()
			return nil, err
		}
		try.Body = body
	}
	resp, err := t.next.RoundTrip(try)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelBody{resp.Body, cancel}
	return resp, nil
}

// A cancelBody frees the time limit once the reply is read.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// passing reports whether trying again can help.
func passing(resp *http.Response, err error) bool {
	return err != nil || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= http.StatusInternalServerError
}

// retryAfter is what the server asks for, in seconds; dates are left to the
// client's own wait.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	seconds, err := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64)
	if err != nil || seconds < 0 {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
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
