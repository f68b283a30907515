package catalog

import (
	"cmp"
	"context"
	"errors"
	"runtime"

	"agentmill/internal/checkpoint"
	"agentmill/internal/clock"
	"agentmill/internal/model"
	"agentmill/internal/speed"
)

// MeasureSpeed opens a policy folder as it is for playing and measures it.
func MeasureSpeed(ctx context.Context, c LocalConfig, rounds int) (r *speed.Report, err error) {
	dtype, err := Precision(c.Precision)
	if err != nil {
		return nil, err
	}
	start := clock.Real().Now()
	p, err := checkpoint.Open(c.Dir, checkpoint.Options{Base: c.Base})
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	backend, err := Device(c.Device, c.Threads)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, backend.Close()) }()
	m, err := NewModel(p.Config, backend, p.Merged(), model.Options{DType: dtype})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	r = &speed.Report{
		Policy: c.Dir, Device: backend.Name(), Path: backend.Path(), Threads: cmp.Or(c.Threads, runtime.GOMAXPROCS(0)),
		Precision: c.Precision, LoadSeconds: clock.Since(clock.Real(), start),
	}
	return r, speed.Measure(ctx, r, m, dtype, rounds)
}
