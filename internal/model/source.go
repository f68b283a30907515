package model

import (
	"fmt"
	"slices"
)

// A Source holds tensors by their published names. Values are row-major; the
// caller owns them.
type Source interface {
	Names() []string
	Tensor(name string) (values []float32, shape []int, err error)
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

func (m *merged) Tensor(name string) ([]float32, []int, error) {
	w, shape, err := m.base.Tensor(name)
	if err != nil || !slices.Contains(m.adapter.Names(), adapterName(name, "A")) {
		return w, shape, err
	}
	a, aShape, err := m.adapter.Tensor(adapterName(name, "A"))
	if err != nil {
		return nil, nil, err
	}
	b, bShape, err := m.adapter.Tensor(adapterName(name, "B"))
	if err != nil {
		return nil, nil, err
	}
	r := m.lora.Rank
	if len(shape) != 2 || !slices.Equal(aShape, []int{r, shape[1]}) || !slices.Equal(bShape, []int{shape[0], r}) {
		return nil, nil, fmt.Errorf("tensor %q has shape %v, its adapter A %v and B %v: want rank %d", name, shape, aShape, bShape, r)
	}
	addProduct(w, b, a, shape[0], shape[1], r, m.lora.Scale())
	return w, shape, nil
}

// addProduct adds scale·b·a to w, with b [rows, rank] and a [rank, cols].
func addProduct(w, b, a []float32, rows, cols, rank int, scale float32) {
	for i := range rows {
		row := w[i*cols : (i+1)*cols]
		for k := range rank {
			c := scale * b[i*rank+k]
			for j, v := range a[k*cols : (k+1)*cols] {
				row[j] += c * v
			}
		}
	}
}
