package filterq

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"agentmill/internal/chat"
	"agentmill/internal/journal"
	"agentmill/internal/llm"
	"agentmill/internal/match"
	"agentmill/internal/ordered"
	"agentmill/internal/question"
)

const (
	blindTries  = 3
	blindTokens = 200
	noModel     = "no model was given"
)

// blindSchema is what a model that is asked blind replies.
var blindSchema = &llm.Schema{Name: "blind_answer", JSON: json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`)}

// askBlind drops the questions that a model answers without any mail, and counts
// those that it does not answer at all. Those
// that are dropped already are not paid for.
func (c *Config) askBlind(ctx context.Context, items []*item) (unanswered int, err error) {
	var ask []*item
	for _, it := range items {
		switch {
		case c.Model == nil:
			it.say(checkBlind, Skipped, noModel)
		case !it.Answerable:
			it.say(checkBlind, Skipped, "unanswerable")
		case it.failed != "":
			it.say(checkBlind, Skipped, "dropped before")
		default:
			ask = append(ask, it)
		}
	}
	if len(ask) == 0 {
		return 0, nil
	}
	j, err := c.openJournal()
	if err != nil {
		return 0, err
	}
	c.blind = j
	defer func() { _ = j.Close() }()
	bar := c.Progress.Start("blind", len(ask))
	defer bar.Done()
	unmet, far := new(llm.Unmet), llm.Tally{Total: len(ask)}
	err = ordered.Map(ctx, max(c.Concurrency, 1), ask, func(ctx context.Context, _ int, it *item) (blind, error) {
		return c.answerBlind(ctx, j, it)
	}, func(i int, b blind) error {
		bar.Add(1)
		unmet.Count(b.none)
		if b.resumed {
			far.Total--
		} else {
			far.Done++
			far.USD += b.usd
		}
		if c.Tick != nil {
			c.Tick(far)
		}
		ask[i].judgeBlind(b)
		return nil
	})
	return unmet.Failed(), cmp.Or(err, unmet.Verdict(c.MaxFailed))
}

func (c *Config) openJournal() (*journal.Journal, error) {
	if c.Journal == "" {
		return nil, nil
	}
	return journal.Open(c.Journal, "filterq blind "+c.Model.Model())
}

// A blind is what a model says that sees no mail.
type blind struct {
	answer  string
	none    error // why it says nothing; nil if it does
	resumed bool  // it said so before
	usd     float64
}

func (c *Config) answerBlind(ctx context.Context, j *journal.Journal, it *item) (b blind, err error) {
	key := it.Hash()
	var reply struct {
		Answer string `json:"answer"`
	}
	if raw, ok := j.Done(key); ok && json.Unmarshal(raw, &reply) == nil {
		return blind{answer: reply.Answer, resumed: true}, nil
	}
	r := llm.Request{Schema: blindSchema, MaxTokens: blindTokens, Messages: []chat.Message{
		{Role: chat.System, Content: `Somebody asks about their own mail, of which you see nothing. Answer only if general knowledge or the question itself tells the answer; else say "` + question.Unknown + `". Reply with JSON: {"answer": "..."}`},
		{Role: chat.User, Content: it.Question.Question},
	}}
	said, err := llm.Ask(ctx, c.Model, r, blindTries, &reply, nil)
	if _, none := llm.Unanswered(err); none {
		return blind{none: err, usd: said.USD}, nil
	}
	if err != nil {
		return b, fmt.Errorf("ask question %s blind: %w", it.ID, err)
	}
	raw, err := json.Marshal(reply)
	if err != nil {
		return b, fmt.Errorf("ask question %s blind: %w", it.ID, err)
	}
	return blind{answer: reply.Answer, usd: said.USD}, j.Append(key, raw)
}

// judgeBlind keeps the verdict on what was said without the mail.
func (it *item) judgeBlind(b blind) {
	gold := match.Gold{Question: it.Question.Question, Answers: append([]string{it.Answer}, it.Aliases...), Answerable: true}
	switch {
	case b.none != nil:
		it.say(checkBlind, Skipped, "the model gave no answer: "+b.none.Error())
	case match.Values.Judge(gold, b.answer).Correct:
		it.say(checkBlind, Drop, fmt.Sprintf("answered without any mail: %q", b.answer))
	default:
		it.say(checkBlind, Pass, "")
	}
}
