package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agentmill/internal/atomicfile"
)

// Save writes t as the trainer state of folder dir, which need not hold a
// policy yet: an unfinished run keeps its state so, and OpenTrainer reads it.
// The state that was there is replaced once the new one is complete.
func (t *Trainer) Save(dir string) error {
	if err := t.save(dir); err != nil {
		return fmt.Errorf("save trainer state in %s: %w", dir, err)
	}
	return nil
}

func (t *Trainer) save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, path := filepath.Join(dir, "."+trainerDir+".new.tmp"), filepath.Join(dir, trainerDir)
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := t.write(tmp); err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	old := filepath.Join(dir, "."+trainerDir+".old.tmp")
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(path, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return errors.Join(atomicfile.SyncDir(dir), os.RemoveAll(old))
}
