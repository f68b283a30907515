package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"agentmill/internal/mapped"
	"agentmill/internal/model"
)

// hashFiles returns the hash of weight files: of one file its SHA-256, of
// several that of their list as sha256sum prints it.
func hashFiles(dir string, names []string) (string, error) {
	sums := make([]string, len(names))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() (err error) {
			sums[i], err = hashFile(filepath.Join(dir, name))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return "", fmt.Errorf("hash weights: %w", err)
	}
	if len(names) == 1 {
		return sums[0], nil
	}
	var list strings.Builder
	for i, name := range names {
		fmt.Fprintf(&list, "%s  %s\n", sums[i], name)
	}
	return hashText(list.String()), nil
}

func hashFile(path string) (string, error) {
	f, err := mapped.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if err := f.Read(0, f.Size(), func(b []byte) error { _, err := h.Write(b); return err }); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func hashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// hashAdapter identifies an adapter over a base by all that enters its values.
func hashAdapter(base, adapter string, lora model.LoRA) string {
	scaled := ""
	if lora.RSLoRA {
		scaled = " rslora"
	}
	return hashText(fmt.Sprintf("%s  base\n%s  %s\nr=%d alpha=%v%s\n", base, adapter, adapterFile, lora.Rank, lora.Alpha, scaled))
}
