package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agentmill/internal/jsonl"
	"agentmill/internal/traj"
)

// ManifestFile is the file in a policy folder that says how it came about.
const ManifestFile = "agentmill.json"

// ManifestSchema is the version of agentmill.json that this build writes.
const ManifestSchema = 1

// A Manifest is the content of agentmill.json. Schema, Hash, Parent and Base are
// filled in by Save.
type Manifest struct {
	Schema     int                `json:"schema"`
	Step       int                `json:"step"`
	Method     string             `json:"method,omitempty"` // that made this policy of its parent
	Updated    bool               `json:"updated"`          // false: the weights are the parent's
	Hash       string             `json:"hash"`             // Policy.Hash
	Parent     string             `json:"parent,omitempty"` // its hash
	Base       *Base              `json:"base,omitempty"`   // of an adapter
	Precision  string             `json:"precision,omitempty"`
	ToolFormat string             `json:"tool_format,omitempty"`
	EnvOptions *traj.EnvOptions   `json:"env_options,omitempty"` // of the rows it was trained on
	Version    string             `json:"version,omitempty"`     // of the program that wrote it
	Data       []DataFile         `json:"data,omitempty"`
	Flags      map[string]string  `json:"flags,omitempty"`
	Metrics    map[string]float64 `json:"metrics,omitempty"`
}

// A Base names the policy that an adapter belongs to, relative to its folder.
type Base struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // the base's Policy.Hash
}

// A DataFile is one file that a policy was trained on.
type DataFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Rows   int    `json:"rows"`
}

// readManifest reads dir's agentmill.json. A folder without one, such as a
// published model, has the zero Manifest.
func readManifest(dir string) (m Manifest, err error) {
	path := filepath.Join(dir, ManifestFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := jsonl.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("read %s: %w", path, err)
	}
	if m.Schema < 1 || m.Schema > ManifestSchema {
		return m, fmt.Errorf("read %s: schema is %d: this build reads 1 to %d", path, m.Schema, ManifestSchema)
	}
	return m, nil
}

// encodeJSON indents v, for people, and ends it with a newline. It keeps < and >
// as they are, which stand in every control token.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
