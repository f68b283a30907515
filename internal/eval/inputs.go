package eval

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ParseName reads "NAME=FILE".
func ParseName(s string) (Input, error) {
	name, path, ok := strings.Cut(s, "=")
	if !ok || name == "" || path == "" {
		return Input{}, fmt.Errorf("%q: want NAME=FILE", s)
	}
	return Input{name, path}, nil
}

// scoredFile matches the scored rows of a run's folder: scored-test-NAME, or
// scored-NN for the attempts of training step NN.
var scoredFile = regexp.MustCompile(`^scored-(?:test-(.+?)|(\d+))\.(?:parquet|jsonl(?:\.gz|\.zst)?)$`)

// FromRun adds what a run's folder holds: the policies' test attempts, unless
// they are named already, and the attempts of the training steps.
func (cfg *Config) FromRun(folder string) error {
	paths, err := filepath.Glob(filepath.Join(folder, "scored-*"))
	if err != nil {
		return fmt.Errorf("read run %s: %w", folder, err)
	}
	found := false
	slices.Sort(paths)
	for _, path := range paths {
		m := scoredFile.FindStringSubmatch(filepath.Base(path))
		switch {
		case m == nil:
			continue
		case m[2] != "":
			cfg.Training = append(cfg.Training, Input{m[2], path})
		case !slices.ContainsFunc(cfg.Inputs, func(in Input) bool { return in.Name == m[1] }):
			cfg.Inputs = append(cfg.Inputs, Input{m[1], path})
		}
		found = true
	}
	if !found {
		return fmt.Errorf("run %s: no scored-test-NAME or scored-NN files in it", folder)
	}
	return nil
}
