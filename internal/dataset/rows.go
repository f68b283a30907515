package dataset

import (
	"encoding/json"
	"time"

	"agentmill/internal/chat"
	"agentmill/internal/jsonl"
	"agentmill/internal/mail"
	"agentmill/internal/question"
	"agentmill/internal/traj"
)

// The structs of this file are the Parquet columns of the records. Lists are
// LIST columns; free-form values (arguments, tool schemas, extra) are JSON
// strings, marked as such, and read back as JSON.

type emailRow struct {
	MessageID   string          `parquet:"message_id"`
	Date        *time.Time      `parquet:"date,optional,timestamp(microsecond)"`
	DateSource  string          `parquet:"date_source,dict"`
	From        string          `parquet:"from,dict"`
	To          []string        `parquet:"to,list"`
	Cc          []string        `parquet:"cc,list"`
	Bcc         []string        `parquet:"bcc,list"`
	Subject     string          `parquet:"subject"`
	Body        string          `parquet:"body"`
	Owner       string          `parquet:"owner,dict"`
	Folder      string          `parquet:"folder,dict"`
	ThreadID    string          `parquet:"thread_id"`
	InReplyTo   string          `parquet:"in_reply_to"`
	References  []string        `parquet:"references,list"`
	Attachments []attachmentRow `parquet:"attachments,list"`
	Labels      []string        `parquet:"labels,list"`
	Quoted      []rangeRow      `parquet:"quoted,list"`
	NearOf      string          `parquet:"near_of"`
	Copies      []copyRow       `parquet:"copies,list"`
	Source      string          `parquet:"source"`
	Warnings    []string        `parquet:"warnings,list"`
	Extra       string          `parquet:"extra,json"`
}

type attachmentRow struct {
	Name string `parquet:"name"`
	Type string `parquet:"type"`
	Size int64  `parquet:"size"`
}

type rangeRow struct {
	Start int64 `parquet:"start"`
	End   int64 `parquet:"end"`
}

type copyRow struct {
	MessageID string `parquet:"message_id"`
	Folder    string `parquet:"folder"`
	Source    string `parquet:"source"`
}

type questionRow struct {
	ID           string    `parquet:"id"`
	Question     string    `parquet:"question"`
	Answer       string    `parquet:"answer"`
	Aliases      []string  `parquet:"aliases,list"`
	Answerable   bool      `parquet:"answerable"`
	MessageIDs   []string  `parquet:"message_ids,list"`
	AlsoIn       []string  `parquet:"also_in,list"`
	Evidence     string    `parquet:"evidence"`
	Spans        []spanRow `parquet:"spans,list"`
	HowRealistic float64   `parquet:"how_realistic"`
	InboxAddress string    `parquet:"inbox_address"`
	QueryDate    string    `parquet:"query_date"`
	Kind         string    `parquet:"kind"`
	Hops         int64     `parquet:"hops"`
	Env          string    `parquet:"env"`
	Split        string    `parquet:"split"`
	Generator    string    `parquet:"generator"`
	Checks       string    `parquet:"checks,json"`
	Extra        string    `parquet:"extra,json"`
}

type spanRow struct {
	MessageID string `parquet:"message_id"`
	Start     int64  `parquet:"start"`
	End       int64  `parquet:"end"`
}

type trajectoryRow struct {
	Schema       int64        `parquet:"schema"`
	ID           string       `parquet:"id"`
	Question     questionRow  `parquet:"question"`
	Group        string       `parquet:"group"`
	Attempt      int64        `parquet:"attempt"`
	Seed         uint64       `parquet:"seed"`
	Policy       policyRow    `parquet:"policy"`
	Sampling     samplingRow  `parquet:"sampling"`
	Env          string       `parquet:"env"`
	EnvOptions   optionsRow   `parquet:"env_options"`
	Messages     []messageRow `parquet:"messages,list"`
	Tools        string       `parquet:"tools,json"`
	Calls        []callRow    `parquet:"calls,list"`
	Turns        []turnRow    `parquet:"turns,list"`
	TokenIDs     []int32      `parquet:"token_ids,list"`
	Trained      []bool       `parquet:"trained,list"`
	LogProbs     []float32    `parquet:"logprobs,list"`
	LogProbsFull []float32    `parquet:"logprobs_full,list"`
	Part         int64        `parquet:"part"`
	Answer       answerRow    `parquet:"answer"`
	Stop         string       `parquet:"stop"`
	Failure      *failureRow  `parquet:"failure,optional"`
	Usage        usageRow     `parquet:"usage"`
	Cost         costRow      `parquet:"cost"`
	Extra        string       `parquet:"extra,json"`
}

type policyRow struct {
	Name      string `parquet:"name"`
	Hash      string `parquet:"hash"`
	Oracle    string `parquet:"oracle"`
	Precision string `parquet:"precision"`
}

type samplingRow struct {
	Temperature float64  `parquet:"temperature"`
	TopP        float64  `parquet:"top_p"`
	TopK        int64    `parquet:"top_k"`
	MinP        float64  `parquet:"min_p"`
	Stop        []string `parquet:"stop,list"`
	Constrain   string   `parquet:"constrain"`
}

type optionsRow struct {
	Search     string `parquet:"search"`
	MaxTurns   int64  `parquet:"max_turns"`
	TurnTokens int64  `parquet:"turn_tokens"`
	MaxHits    int64  `parquet:"max_hits"`
	MailWords  int64  `parquet:"mail_words"`
	IDs        string `parquet:"ids"`
	OnBadCall  string `parquet:"on_bad_call"`
	ToolFormat string `parquet:"tool_format"`
}

type messageRow struct {
	Role       string `parquet:"role"`
	Content    string `parquet:"content"`
	ToolCalls  string `parquet:"tool_calls,json"`
	ToolCallID string `parquet:"tool_call_id"`
}

type callRow struct {
	Turn      int64    `parquet:"turn"`
	Tool      string   `parquet:"tool"`
	Arguments string   `parquet:"arguments,json"`
	IDs       []string `parquet:"ids,list"`
	Error     string   `parquet:"error"`
}

type turnRow struct {
	PromptTokens     int64   `parquet:"prompt_tokens"`
	CompletionTokens int64   `parquet:"completion_tokens"`
	Cached           int64   `parquet:"cached"`
	FinishReason     string  `parquet:"finish_reason"`
	Seconds          float64 `parquet:"seconds"`
	Retries          int64   `parquet:"retries"`
}

type answerRow struct {
	Text    string   `parquet:"text"`
	Sources []string `parquet:"sources,list"`
}

type failureRow struct {
	Boundary string `parquet:"boundary"`
	Kind     string `parquet:"kind"`
	Message  string `parquet:"message"`
}

type usageRow struct {
	PromptTokens     int64   `parquet:"prompt_tokens"`
	CompletionTokens int64   `parquet:"completion_tokens"`
	CachedTokens     int64   `parquet:"cached_tokens"`
	Turns            int64   `parquet:"turns"`
	Seconds          float64 `parquet:"seconds"`
	Retries          int64   `parquet:"retries"`
}

type costRow struct {
	Seconds float64 `parquet:"seconds"`
	USD     float64 `parquet:"usd"`
}

type verdictRow struct {
	Correct        bool     `parquet:"correct"`
	Abstained      bool     `parquet:"abstained"`
	Hallucinated   bool     `parquet:"hallucinated"`
	SourcesCorrect bool     `parquet:"sources_correct"`
	Judge          string   `parquet:"judge"`
	Votes          []string `parquet:"votes,list"`
	Explanation    string   `parquet:"explanation"`
}

type scoredRow struct {
	trajectoryRow
	Verdict     *verdictRow `parquet:"verdict,optional"`
	Reward      *float64    `parquet:"reward,optional"`
	RewardTerms string      `parquet:"reward_terms,json"`
	Flags       []string    `parquet:"flags,list"`
}

func rowOfEmail(e *mail.Email) (row emailRow, err error) {
	row = emailRow{
		MessageID: e.MessageID, DateSource: e.DateSource, From: e.From, To: e.To, Cc: e.Cc, Bcc: e.Bcc,
		Subject: e.Subject, Body: e.Body, Owner: e.Owner, Folder: e.Folder, ThreadID: e.ThreadID,
		InReplyTo: e.InReplyTo, References: e.References, Labels: e.Labels, NearOf: e.NearOf,
		Source: e.Source, Warnings: e.Warnings,
		Attachments: convert(e.Attachments, func(a mail.Attachment) attachmentRow { return attachmentRow(a) }),
		Quoted:      convert(e.Quoted, func(s mail.Span) rangeRow { return rangeRow{int64(s.Start), int64(s.End)} }),
		Copies:      convert(e.Copies, func(c mail.Copy) copyRow { return copyRow(c) }),
	}
	if !e.Date.IsZero() {
		utc := e.Date.UTC()
		row.Date = &utc
	}
	row.Extra, err = extraJSON(e.Extra)
	return row, err
}

func rowOfQuestion(q *question.Question) (row questionRow, err error) {
	row = questionRow{
		ID: q.ID, Question: q.Question, Answer: q.Answer, Aliases: q.Aliases, Answerable: q.Answerable,
		MessageIDs: q.MessageIDs, AlsoIn: q.AlsoIn, Evidence: q.Evidence, HowRealistic: q.HowRealistic,
		InboxAddress: q.InboxAddress, QueryDate: q.QueryDate, Kind: q.Kind, Hops: int64(q.Hops), Env: q.Env,
		Split: string(q.Split), Generator: q.Generator,
		Spans: convert(q.Spans, func(s question.Span) spanRow {
			return spanRow{s.MessageID, int64(s.Start), int64(s.End)}
		}),
	}
	if row.Checks, err = objectJSON(q.Checks, len(q.Checks)); err != nil {
		return row, err
	}
	row.Extra, err = extraJSON(q.Extra)
	return row, err
}

func rowOfTrajectory(t *traj.Trajectory) (row trajectoryRow, err error) {
	row = trajectoryRow{
		Schema: int64(t.Schema), ID: t.ID, Group: t.Group, Attempt: int64(t.Attempt), Seed: t.Seed,
		Policy: policyRow(t.Policy), Env: t.Env, EnvOptions: rowOfOptions(t.EnvOptions),
		Sampling: samplingRow{t.Sampling.Temperature, t.Sampling.TopP, int64(t.Sampling.TopK), t.Sampling.MinP, t.Sampling.Stop, t.Sampling.Constrain},
		Turns:    convert(t.Turns, rowOfTurn),
		TokenIDs: t.TokenIDs, Trained: t.Trained, LogProbs: t.LogProbs, LogProbsFull: t.LogProbsFull,
		Part: int64(t.Part), Answer: answerRow(t.Answer), Stop: string(t.Stop),
		Failure: (*failureRow)(t.Failure), Usage: rowOfUsage(t.Usage), Cost: costRow(t.Cost),
	}
	if row.Question, err = rowOfQuestion(&t.Question); err != nil {
		return row, err
	}
	if row.Tools, err = text(list(t.Tools)); err != nil {
		return row, err
	}
	for i := range t.Messages {
		m, err := rowOfMessage(&t.Messages[i])
		if err != nil {
			return row, err
		}
		row.Messages = append(row.Messages, m)
	}
	row.Calls = convert(t.Calls, func(c traj.Call) callRow {
		return callRow{int64(c.Turn), c.Tool, orNull(c.Arguments), c.IDs, c.Error}
	})
	row.Extra, err = extraJSON(t.Extra)
	return row, err
}

func rowOfScored(s *traj.Scored) (row scoredRow, err error) {
	row.trajectoryRow, err = rowOfTrajectory(&s.Trajectory)
	row.Verdict, row.Reward = (*verdictRow)(s.Verdict), s.Reward
	row.Flags = s.Flags
	if err != nil {
		return row, err
	}
	row.RewardTerms, err = objectJSON(s.RewardTerms, len(s.RewardTerms))
	return row, err
}

func rowOfOptions(o traj.EnvOptions) optionsRow {
	return optionsRow{
		o.Search, int64(o.MaxTurns), int64(o.TurnTokens), int64(o.MaxHits), int64(o.MailWords),
		o.IDs, o.OnBadCall, o.ToolFormat,
	}
}

func rowOfTurn(t chat.Turn) turnRow {
	return turnRow{
		int64(t.PromptTokens), int64(t.CompletionTokens), int64(t.Cached), string(t.FinishReason),
		t.Seconds, int64(t.Retries),
	}
}

func rowOfUsage(u chat.Usage) usageRow {
	return usageRow{
		int64(u.PromptTokens), int64(u.CompletionTokens), int64(u.CachedTokens), int64(u.Turns),
		u.Seconds, int64(u.Retries),
	}
}

func rowOfMessage(m *chat.Message) (row messageRow, err error) {
	row = messageRow{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
	row.ToolCalls, err = text(list(m.ToolCalls))
	return row, err
}

func convert[A, B any](in []A, fn func(A) B) []B {
	if in == nil {
		return nil
	}
	out := make([]B, len(in))
	for i, x := range in {
		out[i] = fn(x)
	}
	return out
}

func text(v any) (string, error) {
	data, err := jsonl.Marshal(v)
	return string(data), err
}

func objectJSON(v any, n int) (string, error) {
	if n == 0 {
		return "{}", nil
	}
	return text(v)
}

func extraJSON(extra map[string]json.RawMessage) (string, error) {
	return objectJSON(extra, len(extra))
}

func orNull(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	return string(raw)
}
