package train

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"agentmill/internal/checkpoint"
	"agentmill/internal/device"
	"agentmill/internal/jsonl"
	"agentmill/internal/safetensors"
	"agentmill/internal/traj"
)

// MetricsFile is the file in a policy folder with one line a step.
const MetricsFile = "metrics.jsonl"

// RateMetric is the name of the measured speed among a manifest's metrics.
const RateMetric = "tokens_per_second"

// finish writes the child's folder.
func (s *stage) finish(t *trainer) error {
	s.summarise(t.state.Metrics)
	lines, err := metricLines(t.state.Metrics)
	if err != nil {
		return err
	}
	kept := t.state
	kept.Fingerprint, kept.Done, kept.Metrics = "", 0, nil
	m, err := checkpoint.Save(s.cfg.Out, checkpoint.Contents{
		Parent: s.parent, Tensors: t.weights(), LoRA: t.lora, Manifest: s.manifest(len(t.updates)),
		Trainer: t.snapshot(kept), Files: map[string][]byte{MetricsFile: lines},
	})
	if err != nil {
		return err
	}
	s.stats.Hash = m.Hash
	have, err := t.checkpoints()
	if best := t.best(have); best > 0 {
		s.stats.Best = filepath.Join(s.cfg.steps(), fmt.Sprintf("%06d", best))
	}
	if err != nil {
		return err
	}
	return s.cfg.removePartial()
}

// weights are the tensors that are played: bf16, or an adapter's float32.
func (t *trainer) weights() []safetensors.Entry {
	dtype := safetensors.BF16
	if t.lora != nil {
		dtype = safetensors.F32
	}
	params := t.model.Weights().Params()
	return t.tensors("", dtype, func(i int) device.Buffer { return params[i].Values })
}

func metricLines(metrics []Metrics) ([]byte, error) {
	var b bytes.Buffer
	for _, m := range metrics {
		line, err := jsonl.Marshal(m)
		if err != nil {
			return nil, err
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

// summarise fills in what Stats says about the updates.
func (s *stage) summarise(metrics []Metrics) {
	s.stats.Updates, s.stats.Updated = len(metrics), len(metrics) > 0
	seconds := 0.0
	for i, m := range metrics {
		if i == 0 {
			s.stats.First = m.Loss
		}
		s.stats.Last = m.Loss
		s.stats.Tokens += m.Tokens
		seconds += m.Seconds
	}
	if seconds > 0 {
		s.stats.Rate = float64(s.stats.Tokens) / seconds
	}
}

func (s *stage) manifest(updates int) checkpoint.Manifest {
	c := s.cfg
	m := checkpoint.Manifest{
		Step: s.parent.Manifest.Step + updates, Method: c.Method, Updated: updates > 0, Precision: "f32",
		Data: s.data, Version: c.Version,
		Flags: map[string]string{
			"lr": fmt.Sprint(c.LR), "schedule": c.Schedule, "warmup": strconv.Itoa(c.Warmup), "epochs": strconv.Itoa(c.Epochs),
			"batch": strconv.Itoa(c.Batch), "seed": strconv.FormatUint(c.Seed, 10), "lora-rank": strconv.Itoa(c.LoRARank),
			"lora-alpha": fmt.Sprint(c.LoRAAlpha), "max-steps": strconv.Itoa(c.MaxSteps), "max-staleness": strconv.Itoa(c.MaxStaleness),
			"cut": c.Cut, "weight-decay": fmt.Sprint(c.Optimizer.WeightDecay), "clip-norm": fmt.Sprint(c.Optimizer.ClipNorm),
		},
		Metrics: map[string]float64{
			"rows": float64(s.stats.Rows), "tokens": float64(s.stats.Tokens), RateMetric: s.stats.Rate,
		},
	}
	if c.Method == "sft" {
		m.Flags["filter"] = c.Filter
	} else {
		maps.Copy(m.Flags, c.RL.flags())
	}
	if c.LoRARank > 0 && (len(c.LoRATargets) > 0 || c.RSLoRA) {
		m.Flags["lora-target"], m.Flags["rslora"] = strings.Join(s.lora().Targets, " "), strconv.FormatBool(c.RSLoRA)
	}
	if c.LoRADropout > 0 {
		m.Flags["lora-dropout"] = fmt.Sprint(c.LoRADropout)
	}
	if s.referenceHash != "" {
		m.Flags["reference-hash"] = s.referenceHash
	}
	if c.Method == "distill" {
		delete(m.Flags, "advantage")
	}
	if c.Method == "grpo" {
		m.Metrics["reward_mean"], _ = s.rewards()
	}
	if updates > 0 {
		m.Metrics["first_loss"], m.Metrics["last_loss"] = s.stats.First, s.stats.Last
	}
	if o := s.options(); o != nil {
		m.EnvOptions, m.ToolFormat = o, o.ToolFormat
	}
	return m
}

// options are the rules of the game that the rows were played under.
func (s *stage) options() *traj.EnvOptions {
	if len(s.rows) == 0 {
		return s.parent.Manifest.EnvOptions
	}
	first := s.rows[0].options
	for i := range s.rows {
		if s.rows[i].options != first {
			s.cfg.Log.Warn("the rows were played under different rules; the policy records those of the first", "row", s.rows[i].id)
			break
		}
	}
	return &first
}
