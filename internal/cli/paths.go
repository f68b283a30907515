package cli

import (
	"os"
	"path/filepath"
)

// An Output is a file that a command writes, and the flag that names it.
type Output struct{ Flag, Path string }

// Apart refuses outputs that would replace an input or each other. Devices and
// pipes, "-" and "" may stand anywhere.
func Apart(inputs []string, outputs ...Output) error {
	for i, out := range outputs {
		if !isFile(out.Path) {
			continue
		}
		for _, in := range inputs {
			if samePath(out.Path, in) {
				return Usagef("--%s %s: is read as well; name another file", out.Flag, out.Path)
			}
		}
		for _, other := range outputs[:i] {
			if isFile(other.Path) && samePath(out.Path, other.Path) {
				return Usagef("--%s and --%s %s: want two files", other.Flag, out.Flag, out.Path)
			}
		}
	}
	return nil
}

// isFile says that path is a file that is or will be.
func isFile(path string) bool {
	if path == "" || path == "-" {
		return false
	}
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular()
}

func samePath(a, b string) bool {
	if x, errX := os.Stat(a); errX == nil {
		y, errY := os.Stat(b)
		return errY == nil && os.SameFile(x, y)
	}
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}
