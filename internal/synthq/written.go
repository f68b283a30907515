package synthq

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"agentmill/internal/chat"
	"agentmill/internal/extract"
	"agentmill/internal/journal"
	"agentmill/internal/llm"
	"agentmill/internal/mail"
	"agentmill/internal/mailbox"
	"agentmill/internal/question"
	"agentmill/internal/seed"
)

const (
	writeTries   = 3
	writtenLimit = 4000 // tokens of a reply; doubled where it was cut
)

// A Writer makes questions by asking a model. W1: a question that comes of it
// quotes its mails letter by letter. W2: a reply that was paid for is in the
// journal before anything is made of it.
type Writer struct {
	Model       llm.Client
	Prompts     *Prompts
	Concurrency int     // batches at a time
	Temperature float64 // of the recipe: .5
	PerBatch    int     // questions asked for in a batch
}

// A batch is twenty mails of one mailbox, in order.
type batch struct {
	owner string
	n     int
	mails []*mail.Email
}

// batchesOf cuts the mails that fit into batches. The rest of a mailbox that
// fills no batch makes one too. Where a mailbox has a quota, only so many
// batches are asked for, spread over its time, as should fill it.
func (c *Config) batchesOf(boxes []inbox) []batch {
	var out []batch
	for _, in := range boxes {
		var fit []*mail.Email
		for _, e := range in.mails {
			if fits(&mailbox.Doc{Email: e}) && strings.TrimSpace(e.Body) != "" {
				fit = append(fit, e)
			}
		}
		parts := slices.Collect(slices.Chunk(fit, batchSize))
		for _, n := range c.spread(len(parts)) {
			out = append(out, batch{in.owner, n, parts[n]})
		}
	}
	return out
}

// spread chooses the batches of a mailbox that has n.
func (c *Config) spread(n int) []int {
	want := n
	if c.PerInbox > 0 {
		want = min(n, c.PerInbox*3/(2*c.Writer.PerBatch)+1) // a third is refused or empty
	}
	out := make([]int, want)
	for i := range out {
		out[i] = i * n / want
	}
	return out
}

// written is a question as a model writes it.
type written struct {
	Form     Form     `json:"form"`
	Question string   `json:"question"`
	Answer   string   `json:"answer"`
	Aliases  []string `json:"aliases"`
	Mails    []int    `json:"mails"`
	Quotes   []quote  `json:"quotes"`
	Kind     string   `json:"kind"`
	Realism  float64  `json:"how_realistic"`
}

type quote struct {
	Mail int    `json:"mail"`
	Text string `json:"text"`
}

// reply is what a batch brings.
type reply struct {
	Questions []written `json:"questions"`
}

var replySchema = &llm.Schema{Name: "questions", JSON: json.RawMessage(`{"type":"object","properties":{"questions":{"type":"array","items":{"type":"object","properties":{
"form":{"type":"string","enum":["single","several","changed","unanswerable"]},"question":{"type":"string","minLength":1},"answer":{"type":"string","minLength":1},
"aliases":{"type":"array","items":{"type":"string"}},"mails":{"type":"array","items":{"type":"integer"}},
"quotes":{"type":"array","items":{"type":"object","properties":{"mail":{"type":"integer"},"text":{"type":"string"}},"required":["mail","text"],"additionalProperties":false}},
"kind":{"type":"string"},"how_realistic":{"type":"number","minimum":0,"maximum":1}},
"required":["form","question","answer","aliases","mails","quotes","kind","how_realistic"],"additionalProperties":false}}},"required":["questions"],"additionalProperties":false}`)}

// write asks for the questions of one batch: those of the journal where they
// are there, else the model's.
func (c *Config) write(ctx context.Context, j *journal.Journal, b batch) (p part, err error) {
	req, err := c.request(b)
	if err != nil {
		return p, err
	}
	key, err := requestKey(b, req)
	if err != nil {
		return p, err
	}
	if raw, ok := j.Done(key); ok && json.Unmarshal(raw, &p.reply) == nil {
		p.resumed = true
		return p, nil
	}
	said, err := llm.Ask(ctx, c.Writer.Model, req, writeTries, &p.reply, nil)
	if _, none := llm.Unanswered(err); none {
		return part{none: err, usd: said.USD}, nil
	}
	if err != nil {
		return p, fmt.Errorf("ask for questions of %s, batch %d: %w", b.owner, b.n+1, err)
	}
	p.usd = said.USD
	raw, err := json.Marshal(p.reply)
	if err != nil {
		return p, fmt.Errorf("keep questions of %s: %w", b.owner, err)
	}
	return p, j.Append(key, raw)
}

// requestKey names a request in the journal.
func requestKey(b batch, r llm.Request) (string, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("request of %s, batch %d: %w", b.owner, b.n+1, err)
	}
	sum := sha256.Sum256(raw)
	return fmt.Sprintf("%s %d %s", b.owner, b.n, hex.EncodeToString(sum[:8])), nil
}

func (c *Config) request(b batch) (llm.Request, error) {
	p := batchPrompt{Owner: b.owner, Want: c.Writer.PerBatch, Kinds: strings.Join(c.Kinds, ", "), AllKinds: strings.Join(Kinds(), ", ")}
	for i, e := range b.mails {
		p.Mails = append(p.Mails, shown(i+1, e))
	}
	for _, f := range c.forms() {
		p.Forms = append(p.Forms, told[f])
	}
	p.FormNames = strings.Join(c.formNames(), ", ")
	text, err := c.Writer.Prompts.render(p)
	return llm.Request{
		Messages: []chat.Message{{Role: chat.System, Content: c.Writer.Prompts.system}, {Role: chat.User, Content: text}},
		Schema:   replySchema, MaxTokens: writtenLimit, Temperature: c.Writer.Temperature, Seed: c.Seed,
	}, err
}

// forms are those that are wanted.
func (c *Config) forms() []Form {
	var out []Form
	for _, name := range c.formNames() {
		out = append(out, Form(name))
	}
	return out
}

func (c *Config) formNames() []string {
	if len(c.Forms) > 0 {
		return c.Forms
	}
	return Forms()
}

// records turns what a model wrote into records. Those that name no mail of the
// batch, quote what no mail says, or are not what was asked for are counted by
// their reason and left out.
func (c *Config) records(b batch, r reply, refused map[string]int) []question.Question {
	var out []question.Question
	for i := range r.Questions {
		q, why := c.record(b, &r.Questions[i])
		if why != "" {
			refused[why]++
			continue
		}
		out = append(out, q)
	}
	return out
}

// record is one written question as a record, or the reason why it is none.
func (c *Config) record(b batch, w *written) (q question.Question, refused string) {
	q = question.Question{
		Question: mailbox.Fold(w.Question), Answer: mailbox.Fold(w.Answer), Aliases: folded(w.Aliases), Answerable: w.Form != Unanswerable,
		HowRealistic: math.Round(w.Realism*100) / 100, InboxAddress: b.owner, Kind: w.kind(), Env: "email", Generator: c.Writer.Model.Model(),
	}
	if !slices.Contains(c.forms(), w.Form) || len(c.Kinds) > 0 && !slices.Contains(c.Kinds, q.Kind) {
		return q, "a form or kind that was not asked for"
	}
	if !q.Answerable {
		if len(w.Mails) > 0 || !question.IsUnknown(q.Answer) {
			return q, "unanswerable, yet with an answer"
		}
		q.Answer, q.Aliases, q.QueryDate = question.Unknown, []string{}, c.after(b, b.mails[len(b.mails)-1], w)
		q.ID = q.Hash()
		return q, ""
	}
	last, why := c.sources(b, w, &q)
	if why != "" {
		return q, why
	}
	q.QueryDate, q.Hops = c.after(b, last, w), len(q.MessageIDs)
	q.ID = q.Hash()
	return q, ""
}

// sources fills in where the answer stands, and returns the latest of the mails.
func (c *Config) sources(b batch, w *written, q *question.Question) (last *mail.Email, refused string) {
	for _, n := range w.Mails {
		if n < 1 || n > len(b.mails) {
			return nil, "a mail that is not in the batch"
		}
		e := b.mails[n-1]
		if slices.Contains(q.MessageIDs, e.MessageID) {
			continue
		}
		q.MessageIDs = append(q.MessageIDs, e.MessageID)
		if last == nil || e.Date.After(last.Date) {
			last = e
		}
	}
	if last == nil {
		return nil, "no mail is named"
	}
	if (w.Form == Several || w.Form == Changed) != (len(q.MessageIDs) > 1) {
		return nil, "another number of mails than its form has"
	}
	var evidence []string
	for _, quoted := range w.Quotes {
		if quoted.Mail < 1 || quoted.Mail > len(b.mails) || !slices.Contains(w.Mails, quoted.Mail) {
			return nil, "a quote of a mail that it does not name"
		}
		e := b.mails[quoted.Mail-1]
		at, ok := locate(e.Body, quoted.Text)
		if !ok {
			return nil, "a quote that does not stand in the mail"
		}
		q.Spans = append(q.Spans, question.Span{MessageID: e.MessageID, Start: at.Start, End: at.End})
		evidence = append(evidence, mailbox.Fold(e.Body[at.Start:at.End]))
	}
	if len(evidence) == 0 {
		return nil, "no quote"
	}
	q.Evidence = strings.Join(evidence, " … ")
	return last, ""
}

// after is when a question is asked: 1 to 30 days and up to a day after a mail.
func (c *Config) after(b batch, e *mail.Email, w *written) string {
	rnd := seed.Stream(c.Seed, "query date", b.owner, e.MessageID, w.Question)
	return e.Date.AddDate(0, 0, 1+rnd.IntN(30)).Add(time.Duration(rnd.IntN(86400)) * time.Second).Format(time.DateOnly)
}

// kind is the kind that a model names, or what the question's words say.
func (w *written) kind() string {
	if slices.Contains(Kinds(), w.Kind) {
		return w.Kind
	}
	if k := extract.KindOfQuestion(w.Question); k != "" {
		return string(k)
	}
	return "other"
}

func folded(list []string) []string {
	out := []string{}
	for _, s := range list {
		if s = mailbox.Fold(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// locate finds words in a body, whatever its white space and quote marks, with
// or without the stops around them.
func locate(body, words string) (extract.Range, bool) {
	want := strings.Fields(strings.Trim(mailbox.Fold(words), ` "'“”.…`))
	want = slices.DeleteFunc(want, func(w string) bool { return w == ">" })
	if len(want) == 0 {
		return extract.Range{}, false
	}
	for from := 0; from < len(body); {
		i := strings.Index(body[from:], want[0])
		if i < 0 {
			return extract.Range{}, false
		}
		start := from + i
		if end, ok := follows(body, start+len(want[0]), want[1:]); ok {
			return extract.Range{Start: start, End: end}, true
		}
		from = start + 1
	}
	return extract.Range{}, false
}

// follows reports whether words stand at at, with white space and quote marks
// between them, and where they end.
func follows(body string, at int, words []string) (end int, ok bool) {
	for _, w := range words {
		rest := strings.TrimLeft(body[at:], " \t\r\n>\u00a0")
		if len(rest) == len(body[at:]) || !strings.HasPrefix(rest, w) {
			return 0, false
		}
		at = len(body) - len(rest) + len(w)
	}
	return at, true
}
