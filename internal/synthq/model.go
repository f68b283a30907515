package synthq

import (
	"context"
	"strings"

	"agentmill/internal/journal"
	"agentmill/internal/llm"
	"agentmill/internal/ordered"
	"agentmill/internal/question"
)

// A part is what came of one batch.
type part struct {
	reply   reply
	none    error // why there is no reply; nil if there is
	resumed bool  // it was paid for before
	usd     float64
}

// askModel asks a model for the questions of all mailboxes, batch by batch. The
// journal it opened, if any, is there also where it fails.
func (c *Config) askModel(ctx context.Context, boxes []inbox, st *Stats) (all []question.Question, j *journal.Journal, err error) {
	if c.Journal != "" {
		if j, err = journal.Open(c.Journal, "synthq "+c.Writer.Model.Model()); err != nil {
			return nil, nil, err
		}
	}
	batches := c.batchesOf(boxes)
	bar := c.Progress.Start("synthq", len(batches))
	defer bar.Done()
	h := &harvest{Config: c, st: st, batches: batches, far: llm.Tally{Total: len(batches)}, taken: map[string]bool{}, count: map[string]int{}}
	st.Refused = map[string]int{}
	ask := func(ctx context.Context, _ int, b batch) (part, error) { return c.write(ctx, j, b) }
	err = ordered.Map(ctx, max(c.Writer.Concurrency, 1), batches, ask, func(i int, p part) error {
		bar.Add(1)
		h.take(i, p)
		return nil
	})
	if err == nil {
		err = h.unmet.Verdict(c.MaxFailed)
	}
	return h.all, j, err
}

// A harvest collects the questions of batches.
type harvest struct {
	*Config
	st      *Stats
	batches []batch
	far     llm.Tally
	unmet   llm.Unmet
	taken   map[string]bool // mailbox and question
	count   map[string]int  // questions of a mailbox
	all     []question.Question
}

// take adds the questions of batch i: each once, and so many of a mailbox.
func (h *harvest) take(i int, p part) {
	h.st.Batches++
	h.unmet.Count(p.none)
	if p.none != nil {
		h.st.Unread++
	}
	if p.resumed {
		h.far.Total--
	} else {
		h.far.Done++
		h.far.USD += p.usd
	}
	if h.Tick != nil {
		h.Tick(h.far)
	}
	for _, q := range h.records(h.batches[i], p.reply, h.st.Refused) {
		key := q.InboxAddress + "\x00" + strings.ToLower(q.Question)
		if h.taken[key] || h.PerInbox > 0 && h.count[q.InboxAddress] == h.PerInbox {
			continue
		}
		h.taken[key] = true
		h.count[q.InboxAddress]++
		h.all = append(h.all, q)
	}
}
