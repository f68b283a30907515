package safetensors

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agentmill/internal/jsonl"
)

// A Set is a model in one file or in shards.
type Set struct {
	files []*File
	in    map[string]*File
	names []string
}

// The names of a model's files in a Hugging Face folder.
const (
	ModelFile = "model.safetensors"
	IndexFile = "model.safetensors.index.json"
)

// OpenSet opens the model in folder dir: model.safetensors, or the shards that
// model.safetensors.index.json names.
func OpenSet(dir string) (*Set, error) {
	files, weightMap, err := modelFiles(dir)
	if err != nil {
		return nil, err
	}
	s := &Set{in: map[string]*File{}}
	for _, name := range files {
		if err := s.add(filepath.Join(dir, name)); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(weightMap)) {
		if f := s.in[name]; f == nil || filepath.Base(f.path) != weightMap[name] {
			return nil, errors.Join(fmt.Errorf("read %s: tensor %q: not in %s, where the index says it is", filepath.Join(dir, IndexFile), name, weightMap[name]), s.Close())
		}
	}
	return s, nil
}

// Files returns the names of the weight files in folder dir, in order.
func Files(dir string) ([]string, error) {
	files, _, err := modelFiles(dir)
	return files, err
}

func modelFiles(dir string) (files []string, weightMap map[string]string, err error) {
	if _, err := os.Stat(filepath.Join(dir, ModelFile)); err == nil {
		return []string{ModelFile}, nil, nil
	}
	path := filepath.Join(dir, IndexFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("folder %s has neither %s nor %s: %w", dir, ModelFile, IndexFile, fs.ErrNotExist)
	}
	if err != nil {
		return nil, nil, err
	}
	var index struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := jsonl.Unmarshal(data, &index); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(index.WeightMap) == 0 {
		return nil, nil, fmt.Errorf("read %s: weight_map is missing or empty", path)
	}
	for _, file := range index.WeightMap {
		if !filepath.IsLocal(file) || strings.ContainsAny(file, `/\`) {
			return nil, nil, fmt.Errorf("read %s: weight_map: %q is not a file name", path, file)
		}
		files = append(files, file)
	}
	slices.Sort(files)
	return slices.Compact(files), index.WeightMap, nil
}

func (s *Set) add(path string) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	s.files = append(s.files, f)
	for _, name := range f.order {
		if other := s.in[name]; other != nil {
			return fmt.Errorf("read %s: tensor %q: is in %s as well", path, name, other.path)
		}
		s.in[name] = f
		s.names = append(s.names, name)
	}
	return nil
}

// Close closes all files.
func (s *Set) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Names returns the names of all tensors.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Shape returns the shape of the tensor called name.
func (s *Set) Shape(name string) ([]int, error) {
	f, err := s.file(name)
	if err != nil {
		return nil, err
	}
	return f.Shape(name)
}

// Tensor returns the values and the shape of the tensor called name.
func (s *Set) Tensor(name string) ([]float32, []int, error) {
	f, err := s.file(name)
	if err != nil {
		return nil, nil, err
	}
	return f.Tensor(name)
}

// Fill writes the values of the tensor called name to dst, which is as long as
// its shape says.
func (s *Set) Fill(name string, dst []float32) error {
	f, err := s.file(name)
	if err != nil {
		return err
	}
	return f.Fill(name, dst)
}

func (s *Set) file(name string) (*File, error) {
	if f := s.in[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("read %s: tensor %q: not in the model", s.files[0].path, name)
}
