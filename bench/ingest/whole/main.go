// Command whole measures the way from an archive of mail to records and a
// database, as whole processes in turns: ours, a Python script that does a part
// of it in two processes, a Go program of a common mail library, and, of the mail unpacked beforehand, two indexers that
// only index.
//
//	go build -o bin ./cmd/ingest
//	(cd bench/ingest/whole/gopeer && go build -o ../../../../bin/gopeer .)
//	go run ./bench/ingest/whole --mail MAIL.tar.gz --gopeer bin/gopeer --python python3 --mailpit mailpit --notmuch --mu
//
// The Python needs pyarrow; notmuch and mu (maildir-utils) are programs of
// Debian; Mailpit is built by go install github.com/axllent/mailpit@v1.33.1.
package main

import (
	"archive/tar"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"

	"agentmill/internal/clock"
)

//go:embed peer.py
var peerScript []byte

// A job is a program that is measured; prepare runs before the
// clock starts, after when it has stopped.
type job struct {
	name    string
	prepare func() error
	after   func() error
	argv    []string
	env     []string
	wall    []float64 // seconds
	cpu     []float64
	peak    int64 // bytes
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	mail, program := flag.String("mail", "", "tar.gz of a tree of mail"), flag.String("ingest", "bin/ingest", "program to measure")
	python := flag.String("python", "", "Python with pyarrow to compare with")
	peer := flag.String("gopeer", "", "the program of gopeer/ to compare with")
	var peers indexPeers
	flag.StringVar(&peers.mailpit, "mailpit", "", "the program Mailpit to compare with")
	flag.BoolVar(&peers.notmuch, "notmuch", false, "compare with notmuch")
	flag.BoolVar(&peers.mu, "mu", false, "compare with mu")
	rounds := flag.Int("rounds", 3, "rounds of each; Mailpit, notmuch and mu run once")
	flag.Parse()
	if err := run(ctx, *mail, *program, *python, *peer, peers, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "whole: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, mail, program, python, peer string, indexes indexPeers, rounds int) error {
	dir, err := os.MkdirTemp("", "bench-whole")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	jobs := []*job{{name: "ingest", argv: []string{program, mail, "--out", filepath.Join(dir, "a.parquet"), "--index", filepath.Join(dir, "a.db"), "--log-level", "error"}}}
	if python != "" {
		script := filepath.Join(dir, "peer.py")
		if err := os.WriteFile(script, peerScript, 0o600); err != nil {
			return err
		}
		database := filepath.Join(dir, "b.db")
		fresh := func() error { return os.RemoveAll(database) }
		jobs = append(jobs, &job{name: "Python, 2 processes", prepare: fresh, argv: []string{python, script, mail, database, filepath.Join(dir, "b.parquet")}})
	}
	if peer != "" {
		database := filepath.Join(dir, "c.db")
		fresh := func() error { return os.RemoveAll(database) }
		jobs = append(jobs, &job{name: "Go with enmime", prepare: fresh, argv: []string{peer, mail, database, filepath.Join(dir, "c.parquet")}})
	}
	for range rounds {
		for _, j := range jobs {
			if err := j.run(ctx); err != nil {
				return err
			}
		}
	}
	only, err := indexes.jobs(mail, dir)
	if err != nil {
		return err
	}
	for _, j := range only {
		if err := j.run(ctx); err != nil {
			return err
		}
	}
	report(append(jobs, only...))
	return nil
}

// indexPeers are programs that read a tree of files.
type indexPeers struct {
	mailpit     string // its program
	notmuch, mu bool
}

func (p indexPeers) jobs(mail, dir string) (jobs []*job, err error) {
	if p == (indexPeers{}) {
		return nil, nil
	}
	root := filepath.Join(dir, "Mail")
	if err := unpack(mail, filepath.Join(root, "all", "cur")); err != nil {
		return nil, err
	}
	if p.mailpit != "" {
		jobs = append(jobs, mailpit(p.mailpit, root, dir))
	}
	if p.notmuch {
		config := filepath.Join(dir, "notmuch-config")
		text := "[database]\npath=" + root + "\n[user]\nname=A\nprimary_email=a@example.com\n[new]\ntags=new\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return nil, err
		}
		jobs = append(jobs, &job{name: "notmuch new (index only)", argv: []string{"notmuch", "new"}, env: []string{"NOTMUCH_CONFIG=" + config}})
	}
	if p.mu {
		home := filepath.Join(dir, "mu")
		start := func() error { return exec.Command("mu", "init", "--muhome", home, "--maildir", root).Run() } //nolint:gosec // paths of ours
		jobs = append(jobs, &job{name: "mu index (index only)", prepare: start, argv: []string{"mu", "index", "--muhome", home, "--quiet"}})
	}
	return jobs, nil
}

// mailpit is taken in as its users take mail in: its server is running, and its
// own command hands it the files. Its wall time counts; the CPU time and memory
// are the command's alone.
func mailpit(program, root, dir string) *job {
	const smtp, web = "127.0.0.1:18125", "127.0.0.1:18126"
	server := exec.Command(program, "--database", filepath.Join(dir, "mailpit.db"), "--max", "0", "--smtp", smtp, "--listen", web, //nolint:gosec // the user names the program
		"--disable-version-check", "--smtp-disable-rdns", "--smtp-max-recipients", "5000", "--quiet")
	start := func() error {
		if err := server.Start(); err != nil {
			return err
		}
		return answers(smtp)
	}
	stop := func() error {
		if err := server.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		_ = server.Wait()
		return nil
	}
	return &job{name: "Mailpit (index only)", prepare: start, after: stop, argv: []string{program, "ingest", "--smtp-addr", smtp, root}}
}

// answers waits until somebody listens at an address.
func answers(address string) (err error) {
	for range 100 {
		var c net.Conn
		if c, err = net.Dial("tcp", address); err == nil {
			return c.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func (j *job) run(ctx context.Context) error {
	if j.prepare != nil {
		if err := j.prepare(); err != nil {
			return fmt.Errorf("prepare %s: %w", j.name, err)
		}
	}
	cmd := exec.CommandContext(ctx, j.argv[0], j.argv[1:]...) //nolint:gosec // the user names the programs
	cmd.Env = append(os.Environ(), j.env...)
	start := clock.Real().Now()
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 3 {
		return fmt.Errorf("%s: %w: %s", j.name, err, out)
	}
	j.wall = append(j.wall, clock.Real().Now().Sub(start).Seconds())
	j.cpu = append(j.cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	if j.after != nil {
		if err := j.after(); err != nil {
			return fmt.Errorf("end %s: %w", j.name, err)
		}
	}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		j.peak = max(j.peak, use.Maxrss*1024)
	}
	return nil
}

// report prints medians, as they are and as multiples of the first job's.
func report(jobs []*job) {
	fmt.Printf("%-26s %9s %9s %9s %7s %7s\n", "", "wall s", "CPU s", "peak MB", "of wall", "of CPU")
	for _, j := range jobs {
		wall, cpu := median(j.wall), median(j.cpu)
		fmt.Printf("%-26s %9.2f %9.2f %9.0f %7.1f %7.1f\n", j.name, wall, cpu, float64(j.peak)/1e6, wall/median(jobs[0].wall), cpu/median(jobs[0].cpu))
	}
}

func median(x []float64) float64 { return slices.Sorted(slices.Values(x))[len(x)/2] }

// unpack writes the messages of an archive as the files of a Maildir.
func unpack(path, to string) error {
	if err := errors.Join(os.MkdirAll(to, 0o700), os.MkdirAll(filepath.Join(to, "../new"), 0o700), os.MkdirAll(filepath.Join(to, "../tmp"), 0o700)); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	archive := tar.NewReader(zip)
	for n := 0; ; n++ {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		raw, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		name := filepath.Join(to, fmt.Sprintf("%d.%d.host:2,S", time.Unix(1e9, 0).Unix()+int64(n), n))
		if err := os.WriteFile(name, raw, 0o600); err != nil {
			return err
		}
	}
}
