// Command tokenizer compares the speed of package tokenizer with that of Hugging
// Face's tokenizers (pip install tokenizers) on mixed text, one thread each:
//
//	go run ./bench/tokenizer --tokenizer tokenizer.json --python python3
//
// Rounds of both alternate; medians are shown. It is CPU time that counts, so
// that what else runs on the machine matters less.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"agentmill/internal/tokenizer"
)

func main() {
	path := flag.String("tokenizer", "", "tokenizer.json of a byte-level BPE vocabulary")
	python := flag.String("python", "python3", "Python with the package tokenizers")
	texts := flag.Int("texts", 20000, "number of texts")
	rounds := flag.Int("rounds", 5, "rounds of each")
	flag.Parse()
	if err := run(os.Stdout, *path, *python, *texts, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "tokenizer: error:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, path, python string, count, rounds int) error {
	runtime.GOMAXPROCS(1)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	tok, err := tokenizer.FromJSON(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p, texts, err := startPeer(python, path, count)
	if err != nil {
		return err
	}
	defer p.close()
	size, ids := 0, 0
	for _, t := range texts {
		size += len(t)
		ids += len(tok.EncodeSpecial(t))
	}
	var ours, fast, usual []float64
	for range rounds {
		ours = append(ours, encode(tok, texts))
		a, b, err := p.round()
		if err != nil {
			return err
		}
		fast, usual = append(fast, a), append(usual, b)
	}
	mb := float64(size) / 1e6
	us, them := median(ours), median(fast)
	_, err = fmt.Fprintf(out, "%s: %d texts, %.1f MB, %d ids\nours %.1f MB/s; encode_batch_fast %.2f MB/s (ratio %.1f); encode_batch %.2f MB/s (ratio %.1f)\n",
		filepath.Base(filepath.Dir(path)), len(texts), mb, ids, mb/us, mb/them, them/us, mb/median(usual), median(usual)/us)
	return err
}

// encode encodes all texts once and returns the seconds of CPU time.
func encode(tok *tokenizer.Tokenizer, texts []string) float64 {
	start := cpuTime()
	for _, t := range texts {
		tok.EncodeSpecial(t)
	}
	return (cpuTime() - start).Seconds()
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// A peer is peer.py.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	dir string
}

// startPeer also reads the texts that the peer has made.
func startPeer(python, path string, count int) (p *peer, texts []string, err error) {
	dir, err := os.MkdirTemp("", "tokenizer")
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, "texts.json")
	p = &peer{cmd: exec.Command(python, "bench/tokenizer/peer.py", path, strconv.Itoa(count), "7", file), dir: dir} //nolint:gosec // the user names the Python
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	p.out = bufio.NewScanner(stdout)
	if err := p.cmd.Start(); err != nil {
		return nil, nil, err
	}
	if !p.out.Scan() {
		return nil, nil, fmt.Errorf("the peer did not start: %w", p.cmd.Wait())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	err = json.Unmarshal(data, &texts)
	return p, texts, err
}

// round makes the peer encode all texts.
func (p *peer) round() (fast, usual float64, err error) {
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		return 0, 0, err
	}
	if !p.out.Scan() {
		return 0, 0, fmt.Errorf("the peer ended: %w", p.out.Err())
	}
	_, err = fmt.Sscan(p.out.Text(), &fast, &usual)
	return fast, usual, err
}

func (p *peer) close() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
	_ = os.RemoveAll(p.dir)
}
