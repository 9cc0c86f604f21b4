package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	process "speceval/drills/lab"
)

// inFolder does the drill with a folder for all files. Everything that is wrong
// is told, not only what is found first.
func inFolder(ctx context.Context, o options, dir string, stdout io.Writer) error {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	o.root = root
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	pages, err := readPages(root)
	if err != nil {
		return err
	}
	start := time.Now()
	l, err := newLab(ctx, o, dir, stdout)
	if err != nil {
		return err
	}
	stop, err := l.startSlurm(ctx)
	if err != nil {
		return err
	}
	defer stop()
	known, err := gather(root, filepath.Join(l.whole, "bin", "speceval"))
	if err != nil {
		return err
	}
	faults := known.staticFaults(pages, exceptions)
	if err := l.make(ctx); err != nil {
		return errors.Join(append(faults, err)...)
	}
	faults = append(faults, l.outputFaults()...)
	fmt.Fprintf(stdout, "outputs made in %v\n", time.Since(start).Round(time.Second))
	for _, p := range pages {
		switch {
		case o.page != "" && !slices.Contains(strings.Split(o.page, ","), p.name):
		case p.name == slurmPage && l.slurm == nil:
			faults = append(faults, l.without(known, p)...)
		default:
			faults = append(faults, l.page(ctx, dir, p)...)
		}
	}
	return errors.Join(faults...)
}

// tally counts what a page has been tried by.
type tally struct{ run, beside, read int }

// page runs everything that a page has, in order, in a copy of its own.
func (l *lab) page(ctx context.Context, dir string, p page) (faults []error) {
	at := filepath.Join(dir, strings.NewReplacer("/", "-", ".md", "").Replace(p.name))
	err := os.CopyFS(at, os.DirFS(l.whole))
	if err == nil {
		err = l.own(p, at)
	}
	if err != nil {
		return []error{err}
	}
	s := &sitting{dir: at, servers: map[string]*process.Process{}}
	defer func() {
		for _, server := range s.servers {
			server.Kill()
		}
		if err := l.leaveCluster(at); err != nil {
			faults = append(faults, err)
		}
	}()
	standIn, err := l.serve(ctx, at, standInCommand)
	if err != nil {
		return []error{err}
	}
	s.servers[standInCommand] = standIn
	var n tally
	start := time.Now()
	for _, b := range p.blocks {
		if b.lang == "python" && b.sketch() {
			n.read++
		} else if b.lang == "python" {
			n.run++
			if err := l.python3(ctx, at, b); err != nil {
				faults = append(faults, err)
			}
		}
		if b.lang != "sh" {
			continue
		}
		commands, err := b.commands()
		if err != nil {
			return append(faults, err)
		}
		for _, c := range commands {
			if err := l.command(ctx, s, c, &n); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", c.at(), err))
				fmt.Fprintf(l.stdout, "%s: failed\n", c.at())
			}
			if ctx.Err() != nil {
				return faults
			}
		}
	}
	fmt.Fprintf(l.stdout, "%s: %d run, %d beside them, %d not run; %d faults; %v\n",
		p.name, n.run, n.beside, n.read, len(faults), time.Since(start).Round(100*time.Millisecond))
	return faults
}

// sitting is what a user who follows a page has before them.
type sitting struct {
	dir     string
	servers map[string]*process.Process // by their commands
	evals   string                      // what the shell was told for all later commands
}

// command runs a command as the list of exceptions has it.
func (l *lab) command(ctx context.Context, s *sitting, c command, n *tally) error {
	e, listed := exceptionOf(exceptions, c)
	switch {
	case listed && e.beside && s.servers[c.text] != nil:
		return nil // it runs already
	case listed && e.beside:
		n.beside++
		server, err := l.serve(ctx, s.dir, c.text)
		if err == nil {
			s.servers[c.text] = server
		}
		return err
	case listed && !e.runs():
		n.read++
		return nil
	}
	n.run++
	if l.show {
		fmt.Fprintf(l.stdout, "\n$ %s\n", c.text)
	}
	start := time.Now()
	text, err := withKey(s.dir, c.text)
	if err != nil {
		return err
	}
	code, output, err := l.try(ctx, s.dir, s.evals+text)
	if err == nil && code != e.code {
		err = fmt.Errorf("exit code %d, want %d:\n%s", code, e.code, last(output))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.text, err)
	}
	if c.words[0] == "eval" {
		s.evals += c.text + "\n"
	}
	if took := time.Since(start); took > slow {
		fmt.Fprintf(l.stdout, "%s: %s took %v\n", c.at(), c.text, took.Round(100*time.Millisecond))
	}
	return nil
}

// slow is a command that is worth a line.
const slow = 5 * time.Second

// sketch tells whether a program leaves something to its reader: it has an ellipsis
// of one character, which is no Python, and is not run.
func (b block) sketch() bool { return strings.Contains(b.text, "…") }

// python3 runs a program of a page.
func (l *lab) python3(ctx context.Context, dir string, b block) error {
	name := filepath.Join(dir, fmt.Sprintf("line-%d.py", b.line))
	if err := os.WriteFile(name, []byte(b.text), 0o666); err != nil {
		return err
	}
	if err := l.run(ctx, dir, "'"+l.python+"' '"+name+"'"); err != nil {
		return fmt.Errorf("%s: %w", b.at(), err)
	}
	return nil
}

// last is the end of what a command printed.
func last(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
