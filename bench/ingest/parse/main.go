// Command parse measures how many mail messages a CPU-second reads: ours to
// whole records, beside Python's email package (compat32), which parses the
// message alone, or reads addresses, date, subject and text of it as well.
//
//	go run ./bench/ingest/parse --mail MAIL.tar.gz --python python3
//
// All messages are in memory before the clock starts. Rounds alternate, the
// median is shown; the collector's time counts as ours.
package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"syscall"

	"agentmill/internal/mail"
)

//go:embed peer.py
var peerScript string

func main() {
	path := flag.String("mail", "", "tar archive of messages, gzip-compressed or not")
	most := flag.Int("most", 20000, "read at most so many messages")
	rounds := flag.Int("rounds", 5, "rounds of each")
	python := flag.String("python", "", "Python to compare with; default: no comparison")
	profile := flag.String("cpuprofile", "", "write a CPU profile to `FILE`")
	flag.Parse()
	if err := run(os.Stdout, *path, *most, *rounds, *python, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "parse: error:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, path string, most, rounds int, python, profile string) error {
	messages, err := load(path, most)
	if err != nil {
		return err
	}
	p, err := startPeer(python, path, most)
	if err != nil {
		return err
	}
	defer p.close()
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	bytes := 0
	for _, raw := range messages {
		bytes += len(raw)
	}
	var ours, parse, record []float64
	for range rounds {
		ours = append(ours, parseAll(messages))
		a, b, err := p.round()
		if err != nil {
			return err
		}
		parse, record = append(parse, a), append(record, b)
	}
	n, mb, us := float64(len(messages)), float64(bytes)/1e6, median(ours)
	fmt.Fprintf(out, "%d messages, %.1f MB\n%-36s %12s %8s %8s\n", len(messages), mb, "", "a CPU-second", "MB/s", "ratio")
	row := func(name string, seconds float64) {
		fmt.Fprintf(out, "%-36s %12.0f %8.1f %8.1f\n", name, n/seconds, mb/seconds, seconds/us)
	}
	row("mail.Parse, whole records", us)
	if python != "" {
		row("Python email (compat32), parsing alone", median(parse))
		row("Python email (compat32), the fields too", median(record))
	}
	return nil
}

// parseAll returns the CPU-seconds of parsing all messages.
func parseAll(messages [][]byte) float64 {
	runtime.GC()
	start := cpuSeconds()
	for _, raw := range messages {
		_, _ = mail.Parse(raw, mail.Options{}) // what is no message costs time as well
	}
	return cpuSeconds() - start
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for the own process
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// load reads the regular files of a tar archive.
func load(path string, most int) (messages [][]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = bufio.NewReader(f)
	if head, _ := r.(*bufio.Reader).Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, err
		}
	}
	for archive := tar.NewReader(r); len(messages) < most; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		raw, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		messages = append(messages, raw)
	}
	return messages, nil
}

// A peer is a Python that parses the same messages once for each line it gets.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startPeer(python, path string, most int) (*peer, error) {
	if python == "" {
		return &peer{}, nil
	}
	p := &peer{cmd: exec.Command(python, "-c", peerScript, path, strconv.Itoa(most))} //nolint:gosec // the user names the program
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return p, p.cmd.Start()
}

// round returns the CPU-seconds of parsing alone and with the fields.
func (p *peer) round() (parse, record float64, err error) {
	if p.cmd == nil {
		return 0, 0, nil
	}
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Fscanln(p.out, &parse, &record); err != nil {
		return 0, 0, fmt.Errorf("read the peer's time: %w", err)
	}
	return parse, record, nil
}

func (p *peer) close() {
	if p.cmd != nil {
		_ = p.in.Close()
		_ = p.cmd.Wait()
	}
}
