package model

import (
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"agentmill/internal/half"
)

// A Source holds tensors by their published names. Values are row-major; the
// caller owns them.
type Source interface {
	Names() []string
	Tensor(name string) (values []float32, shape []int, err error)
}

// A Filler is a Source whose values go straight to where they are wanted, all of
// them finite. It is optional.
type Filler interface {
	Source
	Shape(name string) ([]int, error)
	// Fill writes the values of the tensor called name to dst, which is as long
	// as its shape says.
	Fill(name string, dst []float32) error
}

// A MapSource is a Source in memory.
type MapSource map[string]Tensor

// A Tensor is a named array's values and shape.
type Tensor struct {
	Values []float32
	Shape  []int
}

// Names returns the names in order.
func (m MapSource) Names() []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Tensor returns a copy of the named tensor.
func (m MapSource) Tensor(name string) ([]float32, []int, error) {
	t, ok := m[name]
	if !ok {
		return nil, nil, fmt.Errorf("tensor %q: not found", name)
	}
	return slices.Clone(t.Values), slices.Clone(t.Shape), nil
}

// Merge returns base with the adapter's products added: W + alpha/rank·B·A.
func Merge(base, adapter Source, lora LoRA) Source {
	return &merged{base: base, adapter: adapter, lora: lora}
}

// merged adds B·A when a tensor is asked for, so that no copy of all is held.
type merged struct {
	base, adapter Source
	lora          LoRA
}

// Names are the base's, and those of adapter matrices that belong to none of
// its tensors: who loads all tensors then finds them left over.
func (m *merged) Names() []string {
	names := m.base.Names()
	known := map[string]bool{}
	for _, n := range names {
		known[adapterName(n, "A")], known[adapterName(n, "B")] = true, true
	}
	for _, n := range m.adapter.Names() {
		if !known[n] {
			names = append(names, n)
		}
	}
	return names
}

// Shape is the base's.
func (m *merged) Shape(name string) ([]int, error) {
	if base, ok := m.base.(Filler); ok {
		return base.Shape(name)
	}
	_, shape, err := m.base.Tensor(name)
	return shape, err
}

// Fill writes the merged values to dst.
func (m *merged) Fill(name string, dst []float32) error {
	base, ok := m.base.(Filler)
	if !ok {
		values, _, err := m.Tensor(name)
		copy(dst, values)
		return err
	}
	shape, err := base.Shape(name)
	if err != nil {
		return err
	}
	if err := base.Fill(name, dst); err != nil {
		return err
	}
	return m.add(name, dst, shape)
}

func (m *merged) Tensor(name string) ([]float32, []int, error) {
	w, shape, err := m.base.Tensor(name)
	if err != nil {
		return nil, nil, err
	}
	return w, shape, m.add(name, w, shape)
}

// add adds the adapter's product, where there is one, to the base's tensor w.
func (m *merged) add(name string, w []float32, shape []int) error {
	if !slices.Contains(m.adapter.Names(), adapterName(name, "A")) {
		return nil
	}
	a, aShape, err := m.adapter.Tensor(adapterName(name, "A"))
	if err != nil {
		return err
	}
	b, bShape, err := m.adapter.Tensor(adapterName(name, "B"))
	if err != nil {
		return err
	}
	r := m.lora.Rank
	if len(shape) != 2 || !slices.Equal(aShape, []int{r, shape[1]}) || !slices.Equal(bShape, []int{shape[0], r}) {
		return fmt.Errorf("tensor %q has shape %v, its adapter A %v and B %v: want rank %d", name, shape, aShape, bShape, r)
	}
	addProduct(w, b, a, shape[1], r, m.lora.Scale())
	if i := half.NotFinite(w); i >= 0 {
		return fmt.Errorf("tensor %q with its adapter: value %d is %v: want a finite number", name, i, w[i])
	}
	return nil
}

// mergeRows is how many rows a goroutine of addProduct takes at a time.
const mergeRows = 64

// addProduct adds scale·b·a to w [rows, cols], with b [rows, rank] and a [rank, cols].
func addProduct(w, b, a []float32, cols, rank int, scale float32) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for ; len(w) > 0; w, b = w[min(mergeRows*cols, len(w)):], b[min(mergeRows*rank, len(b)):] {
		w, b := w[:min(mergeRows*cols, len(w))], b
		g.Go(func() error {
			addRows(w, b, a, cols, rank, scale)
			return nil
		})
	}
	_ = g.Wait()
}

func addRows(w, b, a []float32, cols, rank int, scale float32) {
	for ; len(w) > 0; w, b = w[cols:], b[rank:] {
		row := w[:cols]
		for k := range rank {
			c := scale * b[k]
			for j, v := range a[k*cols:][:len(row)] {
				row[j] += c * v
			}
		}
	}
}
