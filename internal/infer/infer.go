// Package infer plays a model in-process: an Engine is an agent.Policy whose
// concurrent sessions share one model by continuous batching.
//
// One goroutine owns the model. Each of its steps takes, from every session
// that has a turn to play, the tokens that the model has not seen yet (a chunk
// of the prompt, or the one token sampled last), runs them as one ragged batch,
// and samples a token for those that are up to date. A session keeps its keys
// and values from turn to turn, so that only new tokens are run.
//
// I1: a session's tokens depend on its prompt, its seed and what it observed
// alone, never on what else is in the batch: rows are independent (D2 of package
// device) and each sampled token takes one number from the session's own stream.
// I2: what was sampled is kept as sampled. Observed messages are encoded once,
// when they arrive, and appended; nothing is encoded again, unless the model's
// template rewrites what was: then the attempt goes on as a new part, whose
// prompt is the rewritten conversation.
package infer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentmill/internal/agent"
	"agentmill/internal/clock"
	"agentmill/internal/dialog"
	"agentmill/internal/model"
	"agentmill/internal/traj"
)

// A Config says what an Engine plays and how large it may get. Keys and values
// take at most Sessions × Context positions.
type Config struct {
	Model       model.Model
	Codec       dialog.Encoder
	Policy      traj.Policy
	Context     int // most tokens of a session; 0: as many as the model has positions
	Sessions    int // most live sessions, others wait in Begin; 0: 32
	BatchTokens int // most tokens of one step; 0: 512
	// Speculation: guesses are looked up in the session itself (NGrams), or made by
	// a smaller model of the same vocabulary (Draft, which the engine owns).
	NGrams  bool
	Draft   model.Model
	Guesses int // most tokens that are guessed at once; 0: 4
	Clock   clock.Clock
	// Pieces are the bytes of the tokens by id, "" for control tokens. Turns that are
	// held to a pattern are made of them.
	Pieces []string
}

// What a Config that does not say has.
const (
	DefaultSessions    = 32
	DefaultBatchTokens = 512
)

// An Engine is an agent.Policy over one model.
type Engine struct {
	cfg     Config
	slots   chan struct{} // one entry a live session
	jobs    chan job
	quit    chan struct{}
	stopped chan struct{}
	guesses guesses
	masks   masks
}

var _ agent.Policy = (*Engine)(nil)

// errClosed is what calls return after Close.
var errClosed = errors.New("the engine is closed")

// New starts an engine. It owns the model until Close.
func New(cfg Config) *Engine {
	if limit := cfg.Model.Config().MaxPositionEmbeddings; cfg.Context <= 0 || cfg.Context > limit {
		cfg.Context = limit
	}
	if cfg.Sessions <= 0 {
		cfg.Sessions = DefaultSessions
	}
	if cfg.BatchTokens <= 0 {
		cfg.BatchTokens = DefaultBatchTokens
	}
	if cfg.Guesses <= 0 {
		cfg.Guesses = 4
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.Real()
	}
	e := &Engine{
		cfg: cfg, slots: make(chan struct{}, cfg.Sessions),
		jobs: make(chan job), quit: make(chan struct{}), stopped: make(chan struct{}),
	}
	go e.schedule()
	return e
}

// ShowsTools says whether the model's template writes tools into the prompt.
func (e *Engine) ShowsTools() bool { return e.cfg.Codec.ShowsTools() }

// Report says how speculation went, "" without.
func (e *Engine) Report() string { return e.guesses.String() }

// Info names the policy in records.
func (e *Engine) Info() traj.Policy { return e.cfg.Policy }

// Begin starts one attempt. It waits while too many others are live.
func (e *Engine) Begin(ctx context.Context, task agent.Task) (agent.Session, error) {
	if err := checkSampling(task.Sampling); err != nil {
		return nil, err
	}
	select {
	case <-e.stopped:
		return nil, errClosed
	default:
	}
	select {
	case e.slots <- struct{}{}:
		s, err := newSession(e, task)
		if err != nil {
			<-e.slots
			return nil, err
		}
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-e.stopped:
		return nil, errClosed
	}
}

// Close ends all sessions and frees the model.
func (e *Engine) Close() error {
	select {
	case <-e.quit:
	default:
		close(e.quit)
	}
	<-e.stopped
	return nil
}

// LogProbs returns the log-probability of each marked token of ids at
// temperature 1. The first token cannot be marked.
func (e *Engine) LogProbs(ctx context.Context, ids []int32, mask []bool) ([]float32, error) {
	batch, err := model.Pack([]model.Sample{{IDs: ids, Trained: mask}})
	if err != nil {
		return nil, err
	}
	if err := batch.Check(e.cfg.Model.Config()); err != nil {
		return nil, fmt.Errorf("score: %w", err)
	}
	logp := make([]float32, len(batch.Targets))
	err = e.do(ctx, func() { e.cfg.Model.Forward(batch, logp, false) })
	return logp, err
}

// do runs f on the goroutine that owns the model.
func (e *Engine) do(ctx context.Context, f func()) error {
	done := make(chan struct{})
	if err := e.post(ctx, job{run: func() { f(); close(done) }}); err != nil {
		return err
	}
	<-done
	return nil
}

// post hands a job to the scheduler.
func (e *Engine) post(ctx context.Context, j job) error {
	select {
	case e.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.stopped:
		return errClosed
	}
}

// checkSampling refuses what cannot be sampled from.
func checkSampling(s traj.Sampling) error {
	switch {
	case !(s.Temperature >= 0):
		return fmt.Errorf("temperature is %v: want at least 0", s.Temperature)
	case !(s.TopP >= 0 && s.TopP <= 1):
		return fmt.Errorf("top_p is %v: want 0 to 1 (0 and 1: off)", s.TopP)
	case s.TopK < 0:
		return fmt.Errorf("top_k is %d: want at least 0 (0: off)", s.TopK)
	case !(s.MinP >= 0 && s.MinP < 1):
		return fmt.Errorf("min_p is %v: want 0 to below 1 (0: off)", s.MinP)
	case slices.Contains(s.Stop, ""):
		return errors.New("stop: an empty text would end every turn at once")
	}
	return nil
}

// clone copies the first n values of v.
func clone[T any](v []T, n int) []T { return slices.Clone(v[:n]) }
