package scripted

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"agentmill/internal/agent"
	"agentmill/internal/chat"
	"agentmill/internal/dataset"
	"agentmill/internal/env"
	"agentmill/internal/jsonl"
	"agentmill/internal/question"
	"agentmill/internal/reward"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// A recording is one attempt that was played elsewhere.
type recording struct {
	QuestionID string `json:"question_id"`
	Steps      []step `json:"steps"`
}

// A step is one call and, of a search, the ids it found.
type step struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	Hits []string        `json:"hits"`
}

// A Replay plays recorded calls in an environment. Its rows are that
// environment's: what is found and read comes from there.
type Replay struct {
	format toolformat.Format
	world  env.Env
	info   traj.Policy
	plays  map[string][]step // by question
	drift  drift
}

// A drift is how far searches differ from the recording.
type drift struct {
	searches, same  int
	recorded, found int // ids that the recording found; of them found again
	rows, unseen    int // rows that read a mail which no search of theirs had shown
	cut             int // rows that had no turns left for what was recorded
}

// Open reads a file of recorded play: a line {question_id, steps [{tool, args,
// hits}]} for each question.
func Open(path string, world env.Env) (*Replay, error) {
	format, err := toolformat.ByName(world.Options().ToolFormat)
	if err != nil {
		return nil, err
	}
	r := &Replay{format: format, world: world, plays: map[string][]step{}}
	sum := sha256.New()
	err = dataset.ReadLines(path, func(pos dataset.Position, line []byte) error {
		sum.Write(line)
		if err := r.take(line); err != nil {
			return fmt.Errorf("%s: %w", pos, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read recorded play: %w", err)
	}
	if len(r.plays) == 0 {
		return nil, fmt.Errorf("read recorded play: %s: no line in it", path)
	}
	r.info = traj.Policy{Name: "replay", Hash: hex.EncodeToString(sum.Sum(nil))}
	return r, nil
}

func (r *Replay) take(line []byte) error {
	var rec recording
	if err := jsonl.Unmarshal(line, &rec); err != nil {
		return err
	}
	if rec.QuestionID == "" {
		return errors.New("question_id: missing")
	}
	if _, ok := r.plays[rec.QuestionID]; ok {
		return fmt.Errorf("question_id: %s stands twice", rec.QuestionID)
	}
	for i, s := range rec.Steps {
		switch s.Tool {
		case toolformat.SearchEmails, toolformat.ReadEmail, toolformat.FinalAnswer:
		default:
			return fmt.Errorf("steps[%d].tool: is %q, want %s, %s or %s", i, s.Tool, toolformat.SearchEmails, toolformat.ReadEmail, toolformat.FinalAnswer)
		}
		if !json.Valid(s.Args) {
			return fmt.Errorf("steps[%d].args: missing", i)
		}
	}
	if n := len(rec.Steps); n == 0 || rec.Steps[n-1].Tool != toolformat.FinalAnswer {
		return fmt.Errorf("steps: want a call of %s as the last of %d", toolformat.FinalAnswer, n)
	}
	r.plays[rec.QuestionID] = rec.Steps
	return nil
}

// Info implements agent.Policy.
func (r *Replay) Info() traj.Policy { return r.info }

// Close implements agent.Policy.
func (*Replay) Close() error { return nil }

const errUnrecorded env.UnsolvedError = "it is not in the recorded play"

// Begin implements agent.Policy. A question that was not recorded is declined.
func (r *Replay) Begin(ctx context.Context, task agent.Task) (agent.Session, error) {
	steps, ok := r.plays[task.Question.ID]
	if !ok {
		return nil, fmt.Errorf("%w: %w", agent.ErrDeclined, errUnrecorded)
	}
	calls := make([]chat.ToolCall, 0, len(steps))
	for i, s := range steps {
		args, err := r.retold(ctx, task.Question, s)
		if err != nil {
			return nil, fmt.Errorf("replay step %d at question %s: %w", i+1, task.Question.ID, err)
		}
		calls = append(calls, chat.ToolCall{Name: s.Tool, Arguments: args})
	}
	return agent.Recite(r.format, calls), nil
}

// retold is a step's arguments with ids as this environment shows them.
func (r *Replay) retold(ctx context.Context, q *question.Question, s step) (json.RawMessage, error) {
	switch s.Tool {
	case toolformat.ReadEmail:
		var a toolformat.ReadArgs
		if err := jsonl.Unmarshal(s.Args, &a); err != nil {
			return nil, err
		}
		_, shown, err := r.names(ctx, q, a.MessageID)
		return toolformat.Read(shown).Arguments, err
	case toolformat.FinalAnswer:
		var a toolformat.AnswerArgs
		if err := jsonl.Unmarshal(s.Args, &a); err != nil {
			return nil, err
		}
		for i, id := range a.Sources {
			var err error
			if _, a.Sources[i], err = r.names(ctx, q, id); err != nil {
				return nil, err
			}
		}
		return toolformat.Answer(a.Answer, a.Sources...).Arguments, nil
	}
	return s.Args, nil
}

// names are an id in the records and as it is shown; one that means nothing here
// stays as it is.
func (r *Replay) names(ctx context.Context, q *question.Question, id string) (recorded, shown string, err error) {
	n, ok := r.world.(env.Namer)
	if !ok {
		return id, id, nil
	}
	recorded, shown, ok, err = n.Names(ctx, q, id)
	if !ok {
		return id, id, err
	}
	return recorded, shown, err
}

// Audit implements agent.Auditor: it compares what was found with what the
// recording found.
func (r *Replay) Audit(ctx context.Context, row *traj.Trajectory) error {
	r.drift.rows++
	if reward.ReadsUnseen(row) {
		r.drift.unseen++
	}
	steps := r.plays[row.Question.ID]
	if row.Stop == traj.MaxTurns {
		r.drift.cut++
	}
	for i := range row.Calls {
		if i >= len(steps) || steps[i].Tool != toolformat.SearchEmails {
			continue
		}
		want, err := r.recorded(ctx, &row.Question, steps[i].Hits)
		if err != nil {
			return err
		}
		r.drift.add(want, row.Calls[i].IDs)
	}
	return nil
}

// recorded are ids as records have them, copies of one mail once.
func (r *Replay) recorded(ctx context.Context, q *question.Question, ids []string) ([]string, error) {
	out := []string{}
	for _, id := range ids {
		name, _, err := r.names(ctx, q, id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

func (d *drift) add(want, got []string) {
	d.searches++
	if slices.Equal(want, got) {
		d.same++
	}
	d.recorded += len(want)
	for _, id := range want {
		if slices.Contains(got, id) {
			d.found++
		}
	}
}

// Report implements env.Reporter.
func (r *Replay) Report() string {
	d := &r.drift
	if d.rows == 0 {
		return ""
	}
	text := fmt.Sprintf("replay: %d of %d searches found the same mails, %d of %d recorded hits were found again; %d of %d attempts read a mail that no search of theirs had shown, and are not trained on",
		d.same, d.searches, d.found, d.recorded, d.unseen, d.rows)
	if d.cut > 0 {
		text += fmt.Sprintf("; %d were recorded with more turns than --max-turns allows, and have no answer", d.cut)
	}
	return text
}
