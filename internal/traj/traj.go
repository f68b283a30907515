// Package traj owns Trajectory, the complete record of one attempt at one
// question, and Scored, the same with a verdict and a reward.
package traj

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"agentmill/internal/chat"
	"agentmill/internal/question"
)

// SchemaVersion is the version of Trajectory rows that this build writes.
const SchemaVersion = 1

// A StopReason says how an attempt ended.
type StopReason string

// The stop reasons. BadCall is a call that does not parse, a turn cut without a
// complete call, or prose without any call; Length is a full context; Failed
// has a Failure and no reward.
const (
	Answered  StopReason = "answered"
	Abstained StopReason = "abstained"
	MaxTurns  StopReason = "max_turns"
	Length    StopReason = "length"
	BadCall   StopReason = "bad_call"
	Failed    StopReason = "failed"
)

// Kinds of a Call's Error: which row of ART-E's rubric a mistake belongs to.
const (
	ErrUnparsable  = "unparsable"   // row 1: a call marker that does not parse, or a cut turn
	ErrUnknownTool = "unknown_tool" // row 2
	ErrBadArgs     = "bad_args"     // row 3: bad arguments, a search error
	ErrNoCall      = "no_call"      // row 3: prose without any call
	ErrNoSuchMail  = "no_such_mail" // not a bad call: read of an id that does not exist
)

// A Trajectory is the complete record of one attempt at one question.
//
// T1: TokenIDs, Trained and LogProbs have equal length; Trained is true exactly
// for tokens that the policy sampled; LogProbs is 0 where Trained is false, and
// never above 0.
// T2: what is trained on is what was sampled: nobody re-tokenises Messages.
// T3: Failure is set if and only if Stop is Failed.
type Trajectory struct {
	Schema       int               `json:"schema"`
	ID           string            `json:"id"`
	Question     question.Question `json:"question"`
	Group        string            `json:"group"`
	Attempt      int               `json:"attempt"`
	Seed         uint64            `json:"seed"`
	Policy       Policy            `json:"policy"`
	Sampling     Sampling          `json:"sampling"`
	Env          string            `json:"env"`
	EnvOptions   EnvOptions        `json:"env_options"`
	Messages     []chat.Message    `json:"messages"`
	Tools        []chat.Tool       `json:"tools"`
	Calls        []Call            `json:"calls"`
	Turns        []chat.Turn       `json:"turns"`
	TokenIDs     []int32           `json:"token_ids,omitempty"`
	Trained      []bool            `json:"trained,omitempty"`
	LogProbs     []float32         `json:"logprobs,omitempty"`      // of the sampled distribution
	LogProbsFull []float32         `json:"logprobs_full,omitempty"` // of the untruncated one at temperature 1
	Part         int               `json:"part"`
	Answer       Answer            `json:"answer"`
	Stop         StopReason        `json:"stop"`
	Failure      *Failure          `json:"failure,omitempty"`
	Usage        chat.Usage        `json:"usage"`
	Cost         Cost              `json:"cost"`

	// Extra holds fields of the input record that this version does not know.
	Extra map[string]json.RawMessage `json:"-"`
}

// A Policy names what played: Hash is the hash of the policy folder's weights
// (or of the name and options of a policy without weights). Oracle names the
// help it had ("" for none): no method trains on rows with an oracle.
type Policy struct {
	Name      string `json:"name"`
	Hash      string `json:"hash"`
	Oracle    string `json:"oracle,omitempty"`
	Precision string `json:"precision,omitempty"`
}

// Sampling is the distribution that tokens were drawn from, and what ends a
// turn beside its end token. Temperature 0 is greedy.
type Sampling struct {
	Temperature float64  `json:"temperature"`
	TopP        float64  `json:"top_p"`
	TopK        int      `json:"top_k"`
	MinP        float64  `json:"min_p,omitempty"`     // least probability, as a share of the likeliest token's
	Stop        []string `json:"stop,omitempty"`      // texts that end a turn; they are no part of its text
	Constrain   string   `json:"constrain,omitempty"` // what a turn was held to: ConstrainTools or nothing
}

// ConstrainTools is the constraint that a turn must be a call of one of the tools:
// tokens with which it could not become one were masked.
const ConstrainTools = "tools"

// Truncated reports whether tokens were cut from the distribution, so that the
// log-probabilities of those left are renormalised.
func (s Sampling) Truncated() bool {
	return s.TopK > 0 || s.TopP > 0 && s.TopP < 1 || s.MinP > 0 || s.Constrain != ""
}

// EnvOptions are the rules of the game that a row was played under.
type EnvOptions struct {
	Search     string `json:"search"` // any or all
	MaxTurns   int    `json:"max_turns"`
	TurnTokens int    `json:"turn_tokens"`
	MaxHits    int    `json:"max_hits"`
	MailWords  int    `json:"mail_words"`  // 0: whole mail
	IDs        string `json:"ids"`         // short or full
	OnBadCall  string `json:"on_bad_call"` // stop or tell
	ToolFormat string `json:"tool_format"` // line, json, hermes, llama3
}

// A Call is one tool call as the policy made it. IDs are the Message-IDs that
// the result showed (search hits, or the mail that was read). Error is empty or
// one of the Err constants.
type Call struct {
	Turn      int             `json:"turn"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	IDs       []string        `json:"ids"`
	Error     string          `json:"error,omitempty"`
}

// An Answer is the final answer; Sources are Message-IDs.
type Answer struct {
	Text    string   `json:"text"`
	Sources []string `json:"sources"`
}

// A Failure says what broke an attempt and where: boundary is provider, tool,
// env, policy, judge or rollout.
type Failure struct {
	Boundary string `json:"boundary"`
	Kind     string `json:"kind"`
	Message  string `json:"message"`
}

// Kinds of a provider's Failure that may pass by themselves.
const (
	KindUnreachable = "unreachable"
	KindTimeout     = "timeout"
	KindRateLimit   = "rate_limit"
	KindServer      = "server"
)

// KindStraggler is the kind of the Failure of an attempt that rollout did not wait
// for, because most others were done.
const KindStraggler = "straggler"

// Passing reports whether the same attempt may succeed later.
func (f *Failure) Passing() bool {
	switch f.Kind {
	case KindUnreachable, KindTimeout, KindRateLimit, KindServer:
		return f.Boundary == "provider"
	}
	return false
}

// Cost is what an attempt cost. USD is 0 without prices.
type Cost struct {
	Seconds float64 `json:"seconds"`
	USD     float64 `json:"usd"`
}

// A Verdict is what a judge says of an attempt. It is absent, never false,
// where the judge could not say.
type Verdict struct {
	Correct        bool     `json:"correct"`
	Abstained      bool     `json:"abstained"`
	Hallucinated   bool     `json:"hallucinated"`
	SourcesCorrect bool     `json:"sources_correct"`
	Judge          string   `json:"judge"`
	Votes          []string `json:"votes,omitempty"`
	Explanation    string   `json:"explanation,omitempty"`
}

// A Scored is a Trajectory with its verdict and reward. Both are nil for a
// failed attempt, and where the judge gave no verdict.
type Scored struct {
	Trajectory
	Verdict     *Verdict           `json:"verdict"`
	Reward      *float64           `json:"reward"`
	RewardTerms map[string]float64 `json:"reward_terms"`
	Flags       []string           `json:"flags,omitempty"`
}

// GroupID is the hash that attempts of one question, policy and run seed share.
func GroupID(questionID, policyHash string, seed uint64) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s\x00%s\x00%d", questionID, policyHash, seed)))
	return hex.EncodeToString(sum[:8])
}

// RowID is the id of one part of one attempt: 16 hex digits of a hash.
func RowID(group string, attempt, part int) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s\x00%d\x00%d", group, attempt, part)))
	return hex.EncodeToString(sum[:8])
}

// Bad reports whether a call's error is one of rubric rows 1 to 3, which end
// an attempt under --on-bad-call stop.
func (c *Call) Bad() bool {
	switch c.Error {
	case ErrUnparsable, ErrUnknownTool, ErrBadArgs, ErrNoCall:
		return true
	}
	return false
}

// rounding is how far above 0 arithmetic may leave a log-prob of certainty.
const rounding = 1e-4

// Check returns an error that names the first broken invariant of t, or nil.
func (t *Trajectory) Check() error {
	n := len(t.TokenIDs)
	if n != len(t.Trained) || n != len(t.LogProbs) {
		return fmt.Errorf("trajectory %s: token_ids has %d entries, trained %d, logprobs %d: want equal lengths", t.ID, n, len(t.Trained), len(t.LogProbs))
	}
	if i := slices.IndexFunc(t.TokenIDs, func(id int32) bool { return id < 0 }); i >= 0 {
		return fmt.Errorf("trajectory %s: token_ids[%d] is %d: want 0 or more", t.ID, i, t.TokenIDs[i])
	}
	for _, list := range []struct {
		name   string
		values []float32
	}{{"logprobs", t.LogProbs}, {"logprobs_full", t.LogProbsFull}} {
		for i, x := range list.values {
			if !(x <= rounding) {
				return fmt.Errorf("trajectory %s: %s[%d] is %g: want the logarithm of a probability, 0 at most", t.ID, list.name, i, x)
			}
		}
	}
	for i := range t.Messages {
		switch r := t.Messages[i].Role; r {
		case chat.System, chat.User, chat.Assistant, chat.ToolRole:
		default:
			return fmt.Errorf("trajectory %s: messages[%d].role is %q: want system, user, assistant or tool", t.ID, i, r)
		}
	}
	if (t.Failure != nil) != (t.Stop == Failed) {
		return fmt.Errorf("trajectory %s: stop is %q and failure is %v: want a failure exactly when stop is \"failed\"", t.ID, t.Stop, t.Failure)
	}
	return nil
}
