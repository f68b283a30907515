package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
)

// startProfiles starts the profiles whose files are named. stop ends them, on
// every path out of the command.
func startProfiles(cpu, mem, tracing string) (stop func() error, err error) {
	var ends []func() error
	stop = func() error {
		var errs []error
		for _, end := range ends {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}
	for _, p := range []struct {
		path  string
		start func(io.Writer) error
		end   func(io.Writer) error
	}{
		{cpu, pprof.StartCPUProfile, func(io.Writer) error { pprof.StopCPUProfile(); return nil }},
		{tracing, trace.Start, func(io.Writer) error { trace.Stop(); return nil }},
		{mem, func(io.Writer) error { return nil }, writeHeap},
	} {
		if p.path == "" {
			continue
		}
		f, err := os.Create(p.path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start profile: %w", err), stop())
		}
		if err := p.start(f); err != nil {
			return nil, errors.Join(fmt.Errorf("start profile %s: %w", p.path, err), f.Close(), stop())
		}
		ends = append(ends, func() error { return errors.Join(p.end(f), f.Close()) })
	}
	return stop, nil
}

func writeHeap(w io.Writer) error {
	runtime.GC()
	return pprof.WriteHeapProfile(w)
}
