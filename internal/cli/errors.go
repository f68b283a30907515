package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"agentmill/internal/terminal"
)

// The exit codes.
const (
	codeOK          = 0
	codeFailed      = 1
	codeUsage       = 2
	codePartial     = 3
	codeGate        = 4
	codeStopped     = 5
	codeTryAgain    = 75
	codeInterrupted = 130
)

// An exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func coded(code int, format string, args []any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// Usagef is an error in the use of the command: exit code 2.
func Usagef(format string, args ...any) error { return coded(codeUsage, format, args) }

// Partialf says that the output is whole but some records or attempts failed,
// within the limits: exit code 3.
func Partialf(format string, args ...any) error { return coded(codePartial, format, args) }

// Gatef says that a gate was not met: exit code 4.
func Gatef(format string, args ...any) error { return coded(codeGate, format, args) }

// Stoppedf says that the command stopped by its own rule (a budget, an alarm, no
// signal): exit code 5.
func Stoppedf(format string, args ...any) error { return coded(codeStopped, format, args) }

// TryAgainf is a failure that may pass by itself (a server unreachable): exit code 75.
func TryAgainf(format string, args ...any) error { return coded(codeTryAgain, format, args) }

type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

// WithHint adds what the user could do, printed on a line of its own.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hintError{err, hint}
}

// Code is the exit code that err stands for.
func Code(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return codeOK
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, context.Canceled):
		return codeInterrupted
	}
	return codeFailed
}

// report prints err and returns the exit code. What an error repeats of a file
// may hold what a terminal would obey.
func report(ctx context.Context, name string, err error, stderr io.Writer) int {
	code := Code(err)
	switch code {
	case codeOK:
		return code
	case codeInterrupted:
		if ctx.Err() == nil { // not by a signal: somebody gave up inside
			code = codeFailed
			break
		}
		_, _ = fmt.Fprintf(stderr, "%s: interrupted\n", name)
		return code
	case codePartial:
		_, _ = fmt.Fprintf(stderr, "%s: partial: %s\n", name, terminal.Safe(err.Error()))
		return code
	}
	_, _ = fmt.Fprintf(stderr, "%s: error: %s\n", name, terminal.Safe(err.Error()))
	if h, ok := errors.AsType[*hintError](err); ok {
		_, _ = fmt.Fprintf(stderr, "%s: hint: %s\n", name, terminal.Safe(h.hint))
	}
	return code
}

// A pipeWriter remembers that the reader of standard output has gone.
type pipeWriter struct {
	w      io.Writer
	closed bool
}

func (p *pipeWriter) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.closed = true
	}
	return n, err
}
