// Command whole measures the way from an archive of mail to records and a
// database, as whole processes in turns: ours, a Python script that does a part
// of it in two processes, a Go program of a common mail library, and, of the mail unpacked beforehand, two indexers that
// only index.
//
//	go build -o bin ./cmd/ingest
//	(cd bench/ingest/whole/gopeer && go build -o ../../../../bin/gopeer .)
//	go run ./bench/ingest/whole --mail MAIL.tar.gz --gopeer bin/gopeer --python python3 --notmuch --mu
//
// The Python needs pyarrow; notmuch and mu (maildir-utils) are programs of
// Debian.
package main

import (
	"archive/tar"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
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

// A job is a program that is measured; prepare runs before the clock starts.
type job struct {
	name    string
	prepare func() error
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
	notmuch, mu := flag.Bool("notmuch", false, "compare with notmuch"), flag.Bool("mu", false, "compare with mu")
	rounds := flag.Int("rounds", 3, "rounds of each; notmuch and mu run once")
	flag.Parse()
	if err := run(ctx, *mail, *program, *python, *peer, *notmuch, *mu, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "whole: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, mail, program, python, peer string, notmuch, mu bool, rounds int) error {
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
	only, err := indexers(mail, dir, notmuch, mu)
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

// indexers are the jobs of programs that read a tree of files.
func indexers(mail, dir string, notmuch, mu bool) (jobs []*job, err error) {
	if !notmuch && !mu {
		return nil, nil
	}
	tree := filepath.Join(dir, "Mail", "all", "cur")
	if err := unpack(mail, tree); err != nil {
		return nil, err
	}
	root := filepath.Join(dir, "Mail")
	if notmuch {
		config := filepath.Join(dir, "notmuch-config")
		text := "[database]\npath=" + root + "\n[user]\nname=A\nprimary_email=a@example.com\n[new]\ntags=new\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return nil, err
		}
		jobs = append(jobs, &job{name: "notmuch new (index only)", argv: []string{"notmuch", "new"}, env: []string{"NOTMUCH_CONFIG=" + config}})
	}
	if mu {
		home := filepath.Join(dir, "mu")
		start := func() error { return exec.Command("mu", "init", "--muhome", home, "--maildir", root).Run() } //nolint:gosec // paths of ours
		jobs = append(jobs, &job{name: "mu index (index only)", prepare: start, argv: []string{"mu", "index", "--muhome", home, "--quiet"}})
	}
	return jobs, nil
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
