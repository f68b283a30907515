// Package dataset reads and writes files of records: emails, questions,
// trajectories and scored trajectories, as JSON lines (plain, gzip, zstd) or
// Parquet.
//
// Most callers want Read and Create. Fields that this version does not know are
// carried through in a record's Extra: R1. What was written is read back equal,
// bit for bit, in both formats: R2. A bad record is named by file, line and
// field: R3.
package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"agentmill/internal/jsonl"
	"agentmill/internal/mail"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// A Record is a type that flows between stages.
type Record interface {
	mail.Email | question.Question | traj.Trajectory | traj.Scored
}

// A FieldError says what is wrong with one field of a record.
type FieldError struct {
	Field   string
	Problem string
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return e.Field + ": " + e.Problem
}

// Badf is a *FieldError. A callback of Read that returns one makes the record
// a bad record; any other error stops the reading.
func Badf(field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}

var (
	emailNames      = jsonl.Names(reflect.TypeFor[mail.Email]())
	trajectoryNames = jsonl.Names(reflect.TypeFor[traj.Trajectory]())
	scoredNames     = jsonl.Names(reflect.TypeFor[traj.Scored]())
)

// Marshal returns rec as one JSON object, missing lists as [].
func Marshal[T Record](rec *T) ([]byte, error) {
	var v any
	var extra map[string]json.RawMessage
	switch r := any(rec).(type) {
	case *mail.Email:
		e := fillEmail(*r)
		v, extra = e, e.Extra
	case *question.Question:
		v = *r // marshals its own Extra
	case *traj.Trajectory:
		t := fillTrajectory(*r)
		v, extra = t, t.Extra
	case *traj.Scored:
		s := fillScored(*r)
		v, extra = s, s.Extra
	}
	data, err := jsonl.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonl.Splice(data, extra)
}

// Unmarshal reads one JSON object into rec and checks what every record of its
// type must have. Errors are *FieldError.
func Unmarshal[T Record](data []byte, rec *T) error {
	*rec = *new(T)
	if err := json.Unmarshal(data, rec); err != nil {
		return jsonError(err)
	}
	switch r := any(rec).(type) {
	case *mail.Email:
		r.Extra = jsonl.Extra(data, emailNames)
		return checkEmail(r)
	case *question.Question:
		return checkQuestion(r, "")
	case *traj.Trajectory:
		r.Extra = jsonl.Extra(data, trajectoryNames)
		return checkTrajectory(data, r)
	case *traj.Scored:
		r.Extra = jsonl.Extra(data, scoredNames)
		if r.Reward != nil && math.Abs(*r.Reward) > maxReward {
			return Badf("reward", "is %g, want %g at most, above or below 0", *r.Reward, maxReward)
		}
		return checkTrajectory(data, &r.Trajectory)
	}
	return nil
}

// maxReward is beyond every reward that means something: sums and squares of
// larger ones lose what the others say.
const maxReward = 1e6

func checkEmail(e *mail.Email) error {
	switch {
	case e.MessageID == "":
		return Badf("message_id", "missing")
	case e.Owner == "":
		return Badf("owner", "missing: want the mailbox that the mail was found in, as ingest writes it")
	}
	return nil
}

func checkQuestion(q *question.Question, prefix string) error {
	switch {
	case strings.TrimSpace(q.Question) == "":
		return Badf(prefix+"question", "missing")
	case q.Answerable && q.Answer == "":
		return Badf(prefix+"answer", "missing; an unanswerable question says \"answerable\": false")
	}
	switch q.Split {
	case "", question.Train, question.Val, question.Test:
	default:
		return Badf(prefix+"split", "is %q, want train, val or test", q.Split)
	}
	if day, _, _ := strings.Cut(strings.Replace(q.QueryDate, "T", " ", 1), " "); q.QueryDate != "" {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return Badf(prefix+"query_date", "is %q, want YYYY-MM-DD, optionally with a time behind it", q.QueryDate)
		}
	}
	return nil
}

// stops are the reasons why an attempt may have ended.
var stops = []traj.StopReason{traj.Answered, traj.Abstained, traj.MaxTurns, traj.Length, traj.BadCall, traj.Failed}

func checkTrajectory(data []byte, t *traj.Trajectory) error {
	if name, i, found := jsonl.NullIn(data, "logprobs", "logprobs_full", "token_ids", "trained"); found {
		return Badf(fmt.Sprintf("%s[%d]", name, i), "is null, which is no value")
	}
	switch {
	case t.Schema > traj.SchemaVersion:
		return Badf("schema", "is %d, this version reads up to %d", t.Schema, traj.SchemaVersion)
	case t.ID == "":
		return Badf("id", "missing")
	case t.Attempt < 0:
		return Badf("attempt", "is %d, want 0 or more", t.Attempt)
	case t.Stop == "":
		return Badf("stop", "missing")
	case !slices.Contains(stops, t.Stop):
		return Badf("stop", "is %q, want one of %q", t.Stop, stops)
	}
	if err := checkQuestion(&t.Question, "question."); err != nil {
		return err
	}
	if err := t.Check(); err != nil {
		return Badf("", "%v", err)
	}
	return nil
}

// jsonError rewords what encoding/json says, so that the field comes first.
func jsonError(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		return Badf(fieldPath(kind.Field), "%s", jsonl.Mismatch(kind))
	case errors.As(err, &syntax):
		return Badf("", "not valid JSON: %v (byte %d)", syntax, syntax.Offset)
	}
	if moment, ok := errors.AsType[*time.ParseError](err); ok || strings.HasPrefix(err.Error(), "Time.UnmarshalJSON") {
		// A record has one moment, and the decoder does not say its name.
		if !ok {
			return Badf("date", "want a string such as 2001-05-14T16:39:00Z")
		}
		return Badf("date", "is %q, want one such as 2001-05-14T16:39:00Z", moment.Value)
	}
	field, problem, ok := strings.Cut(err.Error(), ": ")
	if ok && !strings.ContainsAny(field, " ") {
		return Badf(field, "%s", problem)
	}
	return Badf("", "%v", err)
}

// fieldPath drops the names of embedded Go types from the path of a field.
func fieldPath(path string) string {
	parts := strings.Split(path, ".")
	kept := parts[:0]
	for _, p := range parts {
		if p != "plain" && p != "Trajectory" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ".")
}

func fillEmail(e mail.Email) mail.Email {
	e.To, e.Cc, e.Bcc = list(e.To), list(e.Cc), list(e.Bcc)
	return e
}

func fillTrajectory(t traj.Trajectory) traj.Trajectory {
	t.Messages, t.Tools, t.Turns = list(t.Messages), list(t.Tools), list(t.Turns)
	t.Calls = append(make([]traj.Call, 0, len(t.Calls)), t.Calls...)
	for i := range t.Calls {
		t.Calls[i].IDs = list(t.Calls[i].IDs)
	}
	t.Answer.Sources = list(t.Answer.Sources)
	return t
}

func fillScored(s traj.Scored) traj.Scored {
	s.Trajectory = fillTrajectory(s.Trajectory)
	if s.RewardTerms == nil {
		s.RewardTerms = map[string]float64{}
	}
	return s
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
