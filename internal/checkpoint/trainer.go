package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agentmill/internal/atomicfile"
	"agentmill/internal/jsonl"
	"agentmill/internal/safetensors"
)

const (
	trainerDir   = "trainer"
	trainerState = "state.json"
	trainerFile  = "trainer.safetensors"
	trainerSums  = "SHA256SUMS"
)

// A Trainer is what training goes on with: float32 master values and optimiser
// moments as tensors, random state and data cursor as JSON. The names are the
// trainer's own.
type Trainer struct {
	State   any
	Tensors []safetensors.Entry
}

// write does not wait until the disk has the tensors, by far the largest file of
// a policy and soon superseded: in a training loop the wait took a third of a
// step. What a loss of power did to them shows in their checksum.
func (t *Trainer) write(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	state, err := encodeJSON(t.State)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, trainerState), state); err != nil {
		return err
	}
	sum, err := writeTensors(filepath.Join(dir, trainerFile), t.Tensors, (*atomicfile.File).CommitUnsynced)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, trainerSums), []byte(sumLine(sum)))
}

// sumLine is what sha256sum prints of the tensors.
func sumLine(sum string) string { return sum + "  " + trainerFile + "\n" }

// ErrNoTrainer is returned by OpenTrainer for a folder without trainer state:
// training starts with fresh moments.
var ErrNoTrainer = errors.New("no trainer state")

// OpenTrainer reads the trainer state of the policy in folder dir: it decodes
// the state into state and returns the tensors, which the caller closes.
func OpenTrainer(dir string, state any) (*safetensors.File, error) {
	path := filepath.Join(dir, trainerDir, trainerState)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("policy %s: %w", dir, ErrNoTrainer)
	}
	if err != nil {
		return nil, err
	}
	if err := jsonl.Unmarshal(data, state); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := checkTensors(filepath.Join(dir, trainerDir)); err != nil {
		return nil, err
	}
	return safetensors.Open(filepath.Join(dir, trainerDir, trainerFile))
}

// checkTensors compares the tensors in trainer folder dir with their checksum.
func checkTensors(dir string) error {
	want, err := os.ReadFile(filepath.Join(dir, trainerSums))
	if err != nil {
		return err
	}
	path := filepath.Join(dir, trainerFile)
	sum, err := hashFile(path)
	if err != nil {
		return err
	}
	if sumLine(sum) != string(want) {
		return fmt.Errorf("%s is damaged: its SHA-256 is not the one in %s; remove the folder %s to go on from the weights alone", path, trainerSums, dir)
	}
	return nil
}

// DropTrainer removes the trainer state of the policy in folder dir: a training
// loop keeps it in its newest policy alone.
func DropTrainer(dir string) error {
	path := filepath.Join(dir, trainerDir)
	gone := filepath.Join(dir, "."+trainerDir+".tmp")
	if err := os.Rename(path, gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(gone)
}
