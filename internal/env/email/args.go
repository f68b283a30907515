package email

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agentmill/internal/mailstore"
	"agentmill/internal/traj"
)

// A badArgsError is what is wrong with a call's arguments, in words for the model.
type badArgsError string

func (b badArgsError) Error() string { return string(b) }

// An id is a mail's id as a model writes it: a string, or under short ids a bare
// integer.
type id struct {
	text    string
	integer bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *id) UnmarshalJSON(raw []byte) error {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		*i = id{text: strconv.FormatInt(n, 10), integer: true}
		return nil
	}
	return json.Unmarshal(raw, &i.text)
}

type searchArgs struct {
	Keywords   []string `json:"keywords"`
	FromAddr   string   `json:"from_addr"`
	ToAddr     string   `json:"to_addr"`
	SentAfter  string   `json:"sent_after"`
	SentBefore string   `json:"sent_before"`
	MaxResults *int     `json:"max_results"`
}

type readArgs struct {
	MessageID *id `json:"message_id"`
}

type answerArgs struct {
	Answer  *string `json:"answer"`
	Sources *[]id   `json:"sources"`
}

// decode reads a call's arguments; what it fails with is meant for the model.
func decode(raw json.RawMessage, args any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(args); err != nil {
		return badArgsError("bad arguments: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// query turns search arguments into a question to the index.
func query(raw json.RawMessage, owner string, o traj.EnvOptions) (mailstore.Query, error) {
	var a searchArgs
	if err := decode(raw, &a); err != nil {
		return mailstore.Query{}, err
	}
	q := mailstore.Query{Owner: owner, Keywords: a.Keywords, Mode: mailstore.Mode(o.Search), From: a.FromAddr, To: a.ToAddr, Max: o.MaxHits}
	if a.MaxResults != nil {
		if q.Max = *a.MaxResults; q.Max < 1 || q.Max > o.MaxHits {
			return q, badArgsError(fmt.Sprintf("max_results must be 1 to %d", o.MaxHits))
		}
	}
	var err error
	if q.After, err = day("sent_after", a.SentAfter); err != nil {
		return q, err
	}
	q.Before, err = day("sent_before", a.SentBefore)
	return q, err
}

// day reads a date argument; nothing is no limit.
func day(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, badArgsError(name + " must be YYYY-MM-DD")
	}
	return t, nil
}

// readID reads the id of the mail that a call wants.
func readID(raw json.RawMessage, o traj.EnvOptions) (string, error) {
	var a readArgs
	if err := decode(raw, &a); err != nil {
		return "", err
	}
	if a.MessageID == nil || strings.TrimSpace(a.MessageID.text) == "" {
		return "", badArgsError("message_id is missing")
	}
	return a.MessageID.text, a.MessageID.check("message_id", o)
}

// check refuses an integer where ids are Message-IDs.
func (i id) check(name string, o traj.EnvOptions) error {
	if i.integer && o.IDs == "full" {
		return badArgsError(name + " must be a string")
	}
	return nil
}

// finalAnswer reads an answer with its sources as the model wrote them.
func finalAnswer(raw json.RawMessage, o traj.EnvOptions) (traj.Answer, error) {
	var a answerArgs
	if err := decode(raw, &a); err != nil {
		return traj.Answer{}, err
	}
	if a.Answer == nil || strings.TrimSpace(*a.Answer) == "" {
		return traj.Answer{}, badArgsError("answer is missing")
	}
	if a.Sources == nil {
		return traj.Answer{}, badArgsError("sources is missing")
	}
	answer := traj.Answer{Text: *a.Answer, Sources: []string{}}
	for _, s := range *a.Sources {
		if err := s.check("sources", o); err != nil {
			return answer, err
		}
		answer.Sources = append(answer.Sources, s.text)
	}
	return answer, nil
}
