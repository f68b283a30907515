package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"agentmill/internal/atomicfile"
	"agentmill/internal/model"
	"agentmill/internal/safetensors"
)

// Contents is what Save writes. Parent gives configuration, tokenizer and chat
// template; of an adapter (LoRA is set) it is the base, or an adapter over it.
type Contents struct {
	Parent   *Policy
	Tensors  []safetensors.Entry // all weights by published names, or the adapter's
	LoRA     *model.LoRA
	Manifest Manifest
	Trainer  *Trainer // nil: none
	// Files are further small files by name, such as the run's metrics.
	Files map[string][]byte
}

// Entries are the tensors of src, to be written as dtype. They are read one by
// one, while they are written.
func Entries(src interface {
	model.Source
	Shape(name string) ([]int, error)
}, dtype safetensors.DType,
) ([]safetensors.Entry, error) {
	var entries []safetensors.Entry
	for _, name := range src.Names() {
		shape, err := src.Shape(name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, safetensors.Entry{Name: name, DType: dtype, Shape: shape, Values: func() ([]float32, error) {
			values, _, err := src.Tensor(name)
			return values, err
		}})
	}
	return entries, nil
}

// Save writes a policy folder at dir and returns its Manifest as written. What
// was at dir is replaced, once the new folder is complete.
func Save(dir string, c Contents) (Manifest, error) {
	m, err := save(filepath.Clean(dir), c)
	if err != nil {
		return m, fmt.Errorf("save policy %s: %w", dir, err)
	}
	return m, nil
}

func save(dir string, c Contents) (m Manifest, err error) {
	return intoFolder(dir, func(tmp string) (Manifest, error) { return c.write(tmp, dir) })
}

// intoFolder lets write fill a temporary folder, which then takes dir's place.
func intoFolder(dir string, write func(tmp string) (Manifest, error)) (m Manifest, err error) {
	parent, name := filepath.Dir(dir), filepath.Base(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return m, err
	}
	if err := replaceable(dir); err != nil {
		return m, err
	}
	if err := removeLeftovers(parent, name); err != nil {
		return m, err
	}
	tmp, err := os.MkdirTemp(parent, "."+name+".*.tmp")
	if err != nil {
		return m, err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // gone where all went well
	if err := os.Chmod(tmp, 0o755); err != nil {
		return m, err
	}
	if m, err = write(tmp); err != nil {
		return m, err
	}
	return m, replace(tmp, dir)
}

// Prepare returns the error that Save to dir would fail with, as far as that can
// be known before there is anything to save.
func Prepare(dir string) error {
	parent := filepath.Dir(dir)
	err := os.MkdirAll(parent, 0o755)
	if err == nil {
		err = replaceable(dir)
	}
	if err == nil {
		var probe string
		if probe, err = os.MkdirTemp(parent, "."+filepath.Base(dir)+".*.tmp"); err == nil {
			err = os.Remove(probe)
		}
	}
	if err != nil {
		return fmt.Errorf("save policy %s: %w", dir, err)
	}
	return nil
}

// replaceable refuses to replace what is not a policy.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) > 0 && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ManifestFile }) {
		return fmt.Errorf("it exists and was not written by agentmill (it has no %s)", ManifestFile)
	}
	return nil
}

// removeLeftovers removes what a killed Save left beside dir.
func removeLeftovers(parent, name string) error {
	old, err := filepath.Glob(filepath.Join(escapeGlob(parent), "."+escapeGlob(name)+".*.tmp"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

func escapeGlob(s string) string {
	var b bytes.Buffer
	for _, r := range s {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// replace moves the finished folder tmp to dir. An older folder there is moved
// away first; if the process dies in between, dir is missing, never half new.
func replace(tmp, dir string) error {
	if err := atomicfile.SyncDir(tmp); err != nil {
		return err
	}
	old := tmp + ".old.tmp" // a leftover by its name
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return errors.Join(atomicfile.SyncDir(filepath.Dir(dir)), os.RemoveAll(old))
}

// write writes all files into tmp. dir is where they will be.
func (c Contents) write(tmp, dir string) (Manifest, error) {
	m := c.Manifest
	m.Schema, m.Parent = ManifestSchema, c.Parent.Hash
	var err error
	if c.LoRA != nil {
		err = c.writeAdapter(tmp, dir, &m)
	} else {
		err = c.writeFull(tmp, &m)
	}
	if err != nil {
		return m, err
	}
	if c.Trainer != nil {
		if err := c.Trainer.write(filepath.Join(tmp, trainerDir)); err != nil {
			return m, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		if err := atomicfile.WriteFile(filepath.Join(tmp, name), c.Files[name]); err != nil {
			return m, err
		}
	}
	data, err := encodeJSON(m)
	if err != nil {
		return m, err
	}
	return m, atomicfile.WriteFile(filepath.Join(tmp, ManifestFile), data)
}

func (c Contents) writeFull(tmp string, m *Manifest) (err error) {
	files, err := c.Parent.text()
	if err != nil {
		return err
	}
	if files[configFile], err = withDType(files[configFile], c.Tensors); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := atomicfile.WriteFile(filepath.Join(tmp, name), files[name]); err != nil {
			return err
		}
	}
	m.Base = nil
	m.Hash, err = writeTensors(filepath.Join(tmp, safetensors.ModelFile), c.Tensors, (*atomicfile.File).Commit)
	return err
}

// text returns the files that p's children inherit, tokenizer.json included.
func (p *Policy) text() (map[string][]byte, error) {
	if p.Base != nil {
		return p.Base.text()
	}
	files := maps.Clone(p.files)
	if files[tokenizerFile] == nil {
		data, err := p.Tokenizer.JSON()
		if err != nil {
			return nil, err
		}
		files[tokenizerFile] = data
	}
	return files, nil
}

// withDType sets the type of weights in a config.json, and keeps the rest,
// fields that are unknown here included.
func withDType(config []byte, tensors []safetensors.Entry) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, fmt.Errorf("config.json of the parent: %w", err)
	}
	name := `"bfloat16"`
	if len(tensors) > 0 && tensors[0].DType == safetensors.F32 {
		name = `"float32"`
	}
	delete(fields, "dtype") // newer name of the same
	fields["torch_dtype"] = json.RawMessage(name)
	return encodeJSON(fields)
}

func (c Contents) writeAdapter(tmp, dir string, m *Manifest) error {
	base := c.Parent
	if base.Base != nil {
		base = base.Base
	}
	rel, err := relative(dir, base.Dir)
	if err != nil {
		return err
	}
	m.Base = &Base{Path: rel, SHA256: base.Hash}
	targets, err := json.Marshal(c.LoRA.Targets)
	if err != nil {
		return err
	}
	config, err := encodeJSON(adapterConfig{
		PeftType: "LORA", TaskType: "CAUSAL_LM", BaseModel: rel, Rank: c.LoRA.Rank, Alpha: c.LoRA.Alpha, UseRSLoRA: c.LoRA.RSLoRA, Dropout: c.LoRA.Dropout,
		TargetModules: targets, Bias: "none", InferenceMode: true, InitWeights: json.RawMessage("true"),
		RankPattern: map[string]int{}, AlphaPattern: map[string]any{},
	})
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(tmp, adapterConfigFile), config); err != nil {
		return err
	}
	sum, err := writeTensors(filepath.Join(tmp, adapterFile), c.Tensors, (*atomicfile.File).Commit)
	m.Hash = hashAdapter(base.Hash, sum, *c.LoRA)
	return err
}

// relative is the path from folder dir to target, with slashes.
func relative(dir, target string) (string, error) {
	from, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(target)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(from, to)
	return filepath.ToSlash(rel), err
}

// writeTensors writes a weight file, commits it, and returns its SHA-256.
func writeTensors(path string, tensors []safetensors.Entry, commit func(*atomicfile.File) error) (sum string, err error) {
	f, err := atomicfile.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Abort()
	h := sha256.New()
	if err := safetensors.Write(io.MultiWriter(f, h), tensors, map[string]string{"format": "pt"}); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), commit(f)
}
