package filterq

import (
	"context"
	"encoding/json"
	"errors"
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

// askBlind drops the questions that a model answers without any mail. Those
// that are dropped already are not paid for.
func (c *Config) askBlind(ctx context.Context, items []*item) error {
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
		return nil
	}
	j, err := c.openJournal()
	if err != nil {
		return err
	}
	c.blind = j
	defer func() { _ = j.Close() }()
	bar := c.Progress.Start("blind", len(ask))
	defer bar.Done()
	return ordered.Map(ctx, max(c.Concurrency, 1), ask, func(ctx context.Context, _ int, it *item) (string, error) {
		return c.answerBlind(ctx, j, it)
	}, func(i int, said string) error {
		bar.Add(1)
		return ask[i].judgeBlind(said)
	})
}

func (c *Config) openJournal() (*journal.Journal, error) {
	if c.Journal == "" {
		return nil, nil
	}
	return journal.Open(c.Journal, "filterq blind "+c.Model.Model())
}

// answerBlind is what the model says, "" where no reply can be read.
func (c *Config) answerBlind(ctx context.Context, j *journal.Journal, it *item) (string, error) {
	key := it.Hash()
	var reply struct {
		Answer string `json:"answer"`
	}
	if raw, ok := j.Done(key); ok && json.Unmarshal(raw, &reply) == nil {
		return reply.Answer, nil
	}
	r := llm.Request{Schema: blindSchema, MaxTokens: blindTokens, Messages: []chat.Message{
		{Role: chat.System, Content: `Somebody asks about their own mail, of which you see nothing. Answer only if general knowledge or the question itself tells the answer; else say "` + question.Unknown + `". Reply with JSON: {"answer": "..."}`},
		{Role: chat.User, Content: it.Question.Question},
	}}
	_, err := llm.Ask(ctx, c.Model, r, blindTries, &reply, nil)
	if _, none := errors.AsType[*llm.NoAnswerError](err); none {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("ask question %s blind: %w", it.ID, err)
	}
	raw, err := json.Marshal(reply)
	if err != nil {
		return "", fmt.Errorf("ask question %s blind: %w", it.ID, err)
	}
	return reply.Answer, j.Append(key, raw)
}

// judgeBlind keeps the verdict on what was said without the mail.
func (it *item) judgeBlind(said string) error {
	gold := match.Gold{Question: it.Question.Question, Answers: append([]string{it.Answer}, it.Aliases...), Answerable: true}
	switch {
	case said == "":
		it.say(checkBlind, Skipped, "no reply of the model could be read")
	case match.Values.Judge(gold, said).Correct:
		it.say(checkBlind, Drop, fmt.Sprintf("answered without any mail: %q", said))
	default:
		it.say(checkBlind, Pass, "")
	}
	return nil
}
