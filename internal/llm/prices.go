package llm

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// A Price is US dollars for a million tokens.
type Price struct {
	Prompt     float64  `yaml:"prompt"`
	Cached     *float64 `yaml:"cached"` // of prompt tokens that the server had cached; nil is as Prompt
	Completion float64  `yaml:"completion"`
}

// Prices is a price table: when it was read off, and what each model costs.
type Prices struct {
	Date   string           `yaml:"date"` // as 2006-01-02
	Source string           `yaml:"source"`
	Models map[string]Price `yaml:"models"`
}

// ReadPrices reads a price table in YAML. name is the file's, for messages.
func ReadPrices(name string, r io.Reader) (*Prices, error) {
	dec := yaml.NewDecoder(r)
	dec.KnownFields(true)
	var p Prices
	if err := dec.Decode(&p); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s", name, strings.Join(strings.Fields(err.Error()), " ")) // YAML's errors have lines
	}
	if _, err := time.Parse(time.DateOnly, p.Date); err != nil {
		return nil, fmt.Errorf("%s: date: is %q: want the day of the prices, as 2025-06-30", name, p.Date)
	}
	for model, x := range p.Models {
		if err := x.check(); err != nil {
			return nil, fmt.Errorf("%s: models: %s: %w", name, model, err)
		}
	}
	return &p, nil
}

func (p Price) check() error {
	all := []float64{p.Prompt, p.Completion}
	if p.Cached != nil {
		all = append(all, *p.Cached)
	}
	for _, x := range all {
		if x < 0 || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("price %g: want dollars for a million tokens, 0 or more", x)
		}
	}
	return nil
}

// Of is what u costs in dollars.
func (p Price) Of(u Usage) float64 {
	cached := p.Prompt
	if p.Cached != nil {
		cached = *p.Cached
	}
	return (float64(u.PromptTokens-u.CachedTokens)*p.Prompt + float64(u.CachedTokens)*cached + float64(u.CompletionTokens)*p.Completion) / 1e6
}

// unlimited is the completion that is reckoned with where a request sets no limit.
const unlimited = 4096

// most is what r can cost at most: few texts have a token for less than three bytes.
func (p Price) most(r *Request) float64 {
	u := Usage{PromptTokens: EstimateTokens(r), CompletionTokens: r.MaxTokens}
	if u.CompletionTokens == 0 {
		u.CompletionTokens = unlimited
	}
	return p.Of(u)
}

// EstimateTokens is about how many tokens the prompt of r has, rather more than less.
func EstimateTokens(r *Request) int {
	n := 16
	for _, m := range r.Messages {
		n += 8 + len(m.Content)/3
		for _, c := range m.ToolCalls {
			n += 8 + (len(c.Name)+len(c.Arguments))/3
		}
	}
	for _, t := range r.Tools {
		n += 8 + (len(t.Name)+len(t.Description)+len(t.Parameters))/3
	}
	return n
}
