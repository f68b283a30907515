package train

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"

	"agentmill/internal/chat"
	"agentmill/internal/chattemplate"
	"agentmill/internal/checkpoint"
	"agentmill/internal/dataset"
	"agentmill/internal/dialog"
	"agentmill/internal/model"
	"agentmill/internal/question"
	"agentmill/internal/reward"
	"agentmill/internal/rl"
	"agentmill/internal/toolformat"
	"agentmill/internal/traj"
)

// A row is what is kept of a scored row.
type row struct {
	model.Sample
	id      string
	credit  rl.Row
	choice  choice
	failed  bool
	unseen  bool // reads what it was not shown
	cut     bool
	invTemp float32   // 1/temperature of sampling
	sampled []float32 // log-probabilities by the engine, of the trained tokens; nil: none comparable
	turns   []int     // the turn of each trained token, from 0
	options traj.EnvOptions
	replay  *replay // nil: not asked for, or no tokens to compare
}

// attempt names the attempt of which the row is a part.
func (r *row) attempt() string { return fmt.Sprintf("%s/%d", r.credit.Group, r.credit.Attempt) }

// read collects the rows and checks each.
func (s *stage) read(ctx context.Context) error {
	codec, err := chattemplate.New(s.parent.Tokenizer, s.parent.ChatTemplate(), s.parent.TemplateTokens())
	if err != nil {
		return fmt.Errorf("open policy %s: %w", s.cfg.Policy, err)
	}
	a := &admission{stage: s, codec: codec, asked: map[string]string{}, before: map[string]int{}, lineage: append([]string{s.parent.Hash}, s.ancestors()...)}
	src := s.cfg.Source
	sum := sha256.New()
	if src.Stdin != nil {
		src.Stdin = io.TeeReader(src.Stdin, sum)
	}
	counts, seen := map[string]int{}, map[string]dataset.Position{}
	s.stats.Stats, err = dataset.Read(ctx, src, func(pos dataset.Position, rec *traj.Scored) error {
		if first, ok := seen[rec.ID]; ok {
			return dataset.Badf("id", "%s stands already in %s; a row is trained on once", rec.ID, first)
		}
		rows, err := a.rows(rec)
		if err != nil {
			return err
		}
		seen[rec.ID] = pos
		counts[pos.File]++
		s.rows = append(s.rows, rows...)
		return nil
	})
	if err != nil {
		return err
	}
	s.data, err = dataFiles(src.Paths, counts, sum)
	return err
}

// ancestors are the hashes of the policies before the parent, newest first.
func (s *stage) ancestors() []string {
	var st state
	if f, err := checkpoint.OpenTrainer(s.cfg.Policy, &st); err == nil {
		_ = f.Close()
		return st.Ancestors
	}
	if p := s.parent.Manifest.Parent; p != "" {
		return []string{p}
	}
	return nil
}

// An admission decides row by row.
type admission struct {
	*stage
	codec   dialog.Encoder
	lineage []string          // hashes of the parent and its ancestors, newest first
	asked   map[string]string // by group
	before  map[string]int    // turns of an attempt in its earlier parts
}

// fresh are the policies whose rows a policy gradient may use: the parent, and
// as many ancestors as may be stale.
func (a *admission) fresh() []string {
	return a.lineage[:min(len(a.lineage), 1+a.cfg.MaxStaleness)]
}

// rows checks one record and keeps what training needs of it: one row, or as many
// as the student's template makes of it.
func (a *admission) rows(rec *traj.Scored) ([]row, error) {
	r, err := a.row(rec)
	if err != nil || r.failed {
		return []row{r}, err
	}
	samples, err := a.samples(&r, &rec.Trajectory)
	if err != nil {
		return nil, err
	}
	if a.cfg.replays && a.ownTokens(&rec.Trajectory) {
		p, err := replayed(a.codec, &rec.Trajectory)
		if err != nil {
			return nil, dataset.Badf("messages", "%v", err)
		}
		r.replay = &p
	}
	rows := make([]row, 0, len(samples))
	for _, s := range samples {
		r.Sample = s
		if err := a.fits(&r); err != nil {
			return nil, err
		}
		a.steps(&r, &rec.Trajectory)
		rows = append(rows, r)
	}
	return rows, nil
}

// row is a record without its tokens.
func (a *admission) row(rec *traj.Scored) (row, error) {
	r := row{
		invTemp: 1,
		id:      rec.ID, failed: rec.Failure != nil, cut: wasCut(&rec.Trajectory), unseen: reward.ReadsUnseen(&rec.Trajectory), options: rec.EnvOptions,
		credit: rl.Row{ID: rec.ID, Group: rec.Group, Attempt: rec.Attempt, Part: rec.Part, Reward: rec.Reward, Terms: rec.RewardTerms},
	}
	switch {
	case rec.Question.Split != question.Train:
		return r, dataset.Badf("question.split", "is %q, want \"train\": no other rows are trained on", rec.Question.Split)
	case rec.Policy.Oracle != "":
		return r, dataset.Badf("policy.oracle", "is %q: rows with such help are not trained on", rec.Policy.Oracle)
	case r.failed:
		return r, nil
	}
	var err error
	if r.choice, err = a.filter.choose(rec); err != nil {
		return r, dataset.Badf("question", "of row %s: --filter %v", rec.ID, err)
	}
	if a.cfg.Method != "sft" {
		err = a.playedByParent(rec)
	}
	return r, err
}

// playedByParent refuses rows that carry no sampled tokens of the parent.
func (a *admission) playedByParent(rec *traj.Scored) error {
	switch {
	case len(rec.TokenIDs) == 0:
		return dataset.Badf("token_ids", "missing; --method %s needs sampled tokens with log-probabilities (row %s was played by %s)", a.cfg.Method, rec.ID, rec.Policy.Name)
	case !slices.Contains(a.fresh(), rec.Policy.Hash):
		return dataset.Badf("policy.hash", "is %.12s…, want %.12s…, the hash of %s (or let older ones in by --max-staleness)", rec.Policy.Hash, a.parent.Hash, a.cfg.Policy)
	case rec.Sampling.Temperature <= 0:
		return dataset.Badf("sampling.temperature", "is %v, want more than 0: greedy tokens were not sampled", rec.Sampling.Temperature)
	case a.cfg.RL.needsSampled() && logProbsToCompare(&rec.Trajectory) == nil:
		return dataset.Badf("logprobs", "are of a truncated distribution (top_p, top_k), or missing: importance sampling by them is biased; want logprobs_full at temperature 1, or --importance none")
	case a.cfg.Method != "grpo":
		return nil
	case rec.Group == "":
		return dataset.Badf("group", "missing; --method grpo compares the attempts of a group")
	case a.asked[rec.Group] != "" && a.asked[rec.Group] != rec.Question.ID:
		return dataset.Badf("group", "%s holds attempts at question %s and at %s; want one", rec.Group, a.asked[rec.Group], rec.Question.ID)
	}
	a.asked[rec.Group] = rec.Question.ID
	return nil
}

// ownTokens says that t was sampled by the parent or an ancestor.
func (a *admission) ownTokens(t *traj.Trajectory) bool {
	return len(t.TokenIDs) > 0 && slices.Contains(a.lineage, t.Policy.Hash)
}

// samples are the tokens of t: as sampled by the parent or an ancestor, else
// rendered, since another policy's tokens may be of another vocabulary.
func (a *admission) samples(r *row, t *traj.Trajectory) ([]model.Sample, error) {
	if !a.ownTokens(t) {
		return a.rendered(t)
	}
	if a.cfg.Method != "sft" {
		r.invTemp = float32(1 / t.Sampling.Temperature)
		r.sampled = logProbsToCompare(t)
	}
	return []model.Sample{{IDs: t.TokenIDs, Trained: t.Trained}}, nil
}

// rendered writes t's messages as the student reads them. Each part of an attempt
// holds all of them: the first stands for all.
func (a *admission) rendered(t *traj.Trajectory) ([]model.Sample, error) {
	if t.Part > 0 {
		return nil, nil
	}
	format, err := toolformat.ByName(cmp.Or(t.EnvOptions.ToolFormat, toolformat.Line{}.Name()))
	if err != nil {
		return nil, dataset.Badf("env_options.tool_format", "%v", err)
	}
	messages, tools := toolformat.Place(format, a.codec.ShowsTools(), toolformat.InWords(format, t.Messages), t.Tools)
	samples, err := dialog.Render(a.codec, messages, tools)
	if err != nil {
		return nil, dataset.Badf("messages", "%v", err)
	}
	out := make([]model.Sample, 0, len(samples))
	for _, s := range samples {
		out = append(out, model.Sample{IDs: s.IDs, Trained: s.Trained})
	}
	return out, nil
}

// logProbsToCompare returns the engine's log-probabilities of the trained tokens, of
// the same distribution that the trainer computes. Those of a truncated one
// (top-p, top-k, min-p) are renormalised; then only the full ones at temperature 1
// compare.
func logProbsToCompare(t *traj.Trajectory) []float32 {
	from := t.LogProbs
	if t.Sampling.Truncated() {
		if from = t.LogProbsFull; t.Sampling.Temperature != 1 {
			return nil
		}
	}
	if len(from) != len(t.Trained) {
		return nil
	}
	out := []float32{}
	for i, trained := range t.Trained {
		if trained {
			out = append(out, from[i])
		}
	}
	return out
}

// fits checks r against the model's sizes.
func (a *admission) fits(r *row) error {
	c := a.parent.Config
	if n := len(r.IDs); n > c.MaxPositionEmbeddings {
		return dataset.Badf("token_ids", "has %d tokens, want at most %d, the positions of the model", n, c.MaxPositionEmbeddings)
	}
	for i, id := range r.IDs {
		if id < 0 || int(id) >= c.VocabSize {
			return dataset.Badf("token_ids", "entry %d is %d, want 0 to %d, the vocabulary of the model", i, id, c.VocabSize-1)
		}
	}
	if r.Targets() == 0 && !r.cut {
		return dataset.Badf("trained", "0 trained tokens in the row")
	}
	if len(r.Trained) > 0 && r.Trained[0] {
		return dataset.Badf("trained", "marks the first token, want a prompt before it")
	}
	return nil
}

// wasCut says that an attempt ran into the context or a turn's token limit.
func wasCut(t *traj.Trajectory) bool {
	if t.Stop == traj.Length {
		return true
	}
	n := len(t.Turns)
	return n > 0 && (t.Turns[n-1].FinishReason == chat.FinishLength || t.Turns[n-1].FinishReason == chat.FinishContext)
}

// dataFiles lists the files read, by name, hash and rows.
func dataFiles(paths []string, counts map[string]int, stdin hash.Hash) (files []checkpoint.DataFile, err error) {
	if len(paths) == 0 {
		paths = []string{"-"}
	}
	for _, path := range paths {
		if path == "-" {
			files = append(files, checkpoint.DataFile{Name: "stdin", SHA256: hex.EncodeToString(stdin.Sum(nil)), Rows: counts["stdin"]})
			continue
		}
		sum, err := fileHash(path)
		if err != nil {
			return nil, err
		}
		files = append(files, checkpoint.DataFile{Name: filepath.Base(path), SHA256: sum, Rows: counts[path]})
	}
	return files, nil
}

func fileHash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash rows: %w", err)
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("hash rows: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
