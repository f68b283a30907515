package judge

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agentmill/internal/chat"
	"agentmill/internal/match"
	"agentmill/internal/reward"
	"agentmill/internal/traj"
)

// attempts are n of one group; the text of an answer is its number.
func attempts(t *testing.T, group string, texts ...string) string {
	t.Helper()
	var in strings.Builder
	for i, text := range texts {
		r := row(asked, traj.Answered, text)
		r.ID, r.Group, r.Attempt = fmt.Sprintf("%s-%d", group, i), group, i
		r.Messages = []chat.Message{{Role: chat.System, Content: "the rules"}, {Role: chat.User, Content: "when?"}, {Role: chat.Assistant, Content: "answer " + text}}
		in.Write(marshal(t, r))
		in.WriteByte('\n')
	}
	return in.String()
}

// byText scores an attempt by the number in its answer, ids from the last to the
// first.
func byText(_ int, s said) (string, string) {
	shown := regexp.MustCompile(`attempt (\d+): .*"text":"0?(\.\d+)"`).FindAllStringSubmatch(s.User, -1)
	var out []string
	for _, m := range slices.Backward(shown) {
		out = append(out, fmt.Sprintf(`{"id":%s,"explanation":"","score":0%s}`, m[1], m[2]))
	}
	return `{"scores":[` + strings.Join(out, ",") + `]}`, "stop"
}

func relative(t *testing.T, s *server, in string) []traj.Scored {
	t.Helper()
	p, err := LoadPrompt(GroupPrompt, "question", "attempts")
	if err != nil {
		t.Fatal(err)
	}
	set, err := reward.Builtin("binary")
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := runRows(t, Config{
		Judge: Match{match.Values}, Reward: set, Sources: Covered, Concurrency: 2,
		Group:     &Relative{Client: s.client(t), Prompt: p, Tries: 2},
		MaxFailed: .5,
	}, in)
	return rows
}

func TestRelativeMatchesByID(t *testing.T) {
	s := serve(t, byText)
	rows := relative(t, s, attempts(t, "g", ".1", ".9", ".4", ".7", ".2")+attempts(t, "h", ".3", ".6"))
	for _, r := range rows {
		if r.Reward == nil || "0"+r.Answer.Text != fmt.Sprint(*r.Reward) || r.RewardTerms[TermRelative] != *r.Reward {
			t.Errorf("%s: answer %s has the reward %v, terms %v", r.ID, r.Answer.Text, r.Reward, r.RewardTerms)
		}
	}
	if len(s.seen) != 2 || strings.Count(s.seen[0].User, "the rules") != 1 {
		t.Errorf("%d requests, want one a group, with the common beginning once", len(s.seen))
	}
}

// A group whose scores cannot be had has no rewards, others do.
func TestRelativeRefuses(t *testing.T) {
	for name, bad := range map[string]string{
		"a score of 7":        `{"scores":[{"id":1,"explanation":"","score":7},{"id":2,"explanation":"","score":0}]}`,
		"a score below 0":     `{"scores":[{"id":1,"explanation":"","score":-1},{"id":2,"explanation":"","score":0}]}`,
		"a score in words":    `{"scores":[{"id":1,"explanation":"","score":"0.8x"},{"id":2,"explanation":"","score":0}]}`,
		"an id missing":       `{"scores":[{"id":1,"explanation":"","score":1}]}`,
		"an id twice":         `{"scores":[{"id":1,"explanation":"","score":1},{"id":1,"explanation":"","score":0}]}`,
		"an id that is none":  `{"scores":[{"id":1,"explanation":"","score":1},{"id":3,"explanation":"","score":0}]}`,
		"ids from 0":          `{"scores":[{"id":0,"explanation":"","score":1},{"id":1,"explanation":"","score":0}]}`,
		"an id too many":      `{"scores":[{"id":1,"explanation":"","score":1},{"id":2,"explanation":"","score":0},{"id":3,"explanation":"","score":0}]}`,
		"a list that is none": `{"scores":{}}`,
	} {
		s := serve(t, func(n int, s said) (string, string) {
			if strings.Contains(s.User, ".5") {
				return bad, "stop"
			}
			return byText(n, s)
		})
		for _, r := range relative(t, s, attempts(t, "bad", ".5", ".6")+attempts(t, "good", ".1", ".9")) {
			if wrong := r.Group == "bad"; (r.Reward == nil) != wrong || strings.Join(r.Flags, " ") != map[bool]string{true: FlagUnscored}[wrong] {
				t.Errorf("%s: %s has the reward %v, flags %v", name, r.ID, r.Reward, r.Flags)
			}
		}
		if len(s.seen) != 3 {
			t.Errorf("%s: %d requests, want two for the bad group and one for the good", name, len(s.seen))
		}
	}
}

func TestRelativeAsksOnlyWhereItCan(t *testing.T) {
	s := serve(t, byText)
	rows := relative(t, s, attempts(t, "same", ".3", ".3", ".3")+attempts(t, "one", ".3"))
	if len(s.seen) != 0 {
		t.Errorf("%d requests for attempts that are equal or alone", len(s.seen))
	}
	for _, r := range rows[:3] {
		if r.Reward == nil || *r.Reward != evenScore {
			t.Errorf("%s: reward %v, want %v", r.ID, r.Reward, evenScore)
		}
	}
	if r := rows[3]; r.Reward != nil || r.Flags[0] != FlagAlone {
		t.Errorf("alone: reward %v, flags %v", r.Reward, r.Flags)
	}
}

// A model's word on support takes the place of the comparison; without a word
// there is no reward.
func TestGrounding(t *testing.T) {
	s := serve(t, func(_ int, s said) (string, string) {
		for word, reply := range map[string]string{
			"yes": `{"claims":[{"claim":"a","supported":true}]}`, "no": `{"claims":[{"claim":"a","supported":true},{"claim":"b","supported":false}]}`, "none": `{"claims":[]}`,
		} {
			if strings.Contains(s.User, `"says `+word+`"`) {
				return reply, "stop"
			}
		}
		return "", "stop"
	})
	p, err := LoadPrompt(SupportPrompt, "question", "answer", "mails")
	if err != nil {
		t.Fatal(err)
	}
	set, err := reward.Load("s.yaml", strings.NewReader("terms: {supported: 1}"))
	if err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	for _, word := range []string{"yes", "no", "none"} {
		r := row(asked, traj.Answered, "says "+word)
		r.ID = word
		r.Calls = append(r.Calls, traj.Call{Turn: 1, Tool: "read_email", IDs: []string{"<a@x>"}})
		r.Messages = []chat.Message{{Role: chat.User, Content: "?"}, {Role: chat.Assistant, Content: "s"}, {Role: chat.User, Content: "hits"}, {Role: chat.Assistant, Content: "r"}, {Role: chat.User, Content: "the mail"}}
		in.Write(marshal(t, r))
		in.WriteByte('\n')
	}
	rows, _ := runRows(t, Config{Judge: Match{match.Values}, Reward: set, Sources: Covered, Support: &Grounding{Client: s.client(t), Prompt: p, Tries: 2}, MaxFailed: .5}, in.String())
	if *rows[0].Reward != 1 || *rows[1].Reward != 0 {
		t.Errorf("rewards %v and %v, want 1 and 0", *rows[0].Reward, *rows[1].Reward)
	}
	if rows[2].Reward != nil || !slices.Contains(rows[2].Flags, FlagNoSupport) || !strings.Contains(string(rows[1].Extra[reward.SupportField]), `"judge":"support:m:support-v1"`) {
		t.Errorf("without a word: reward %v, flags %v; kept %s", rows[2].Reward, rows[2].Flags, rows[1].Extra[reward.SupportField])
	}
}
