// Package docs tries everything that the README and the pages of docs/ say can be
// typed: it copies the repository into a folder, makes small outputs of every kind
// there, and runs every command of every page, but for those in its list of
// exceptions, each of which has a reason. Files that a page shows go through the
// readers that users' files go through, and every file and column that the outputs
// have must be in docs/outputs.md, and the other way round.
package docs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/drills/lab"
)

// Docs is the drill of the pages.
var Docs = lab.Drill{
	Name: "drill-docs", About: "every command of the README and of docs/, and the columns of the outputs against their page",
	Limit: 15 * time.Minute, Shared: []string{"dir"},
	Flags: func(flags *flag.FlagSet) func(context.Context, *lab.Lab) error {
		root := flags.String("root", ".", "the repository")
		page := flags.String("page", "", "run the commands of these pages alone, such as docs/outputs.md,README.md; none: of no page")
		show := flags.Bool("show", false, "show what every command prints")
		return func(ctx context.Context, l *lab.Lab) error {
			s := &scratch{Lab: l, show: *show, whole: l.Path("whole"), tools: l.Path("tools"), ports: map[string]string{}}
			var err error
			if s.root, err = filepath.Abs(*root); err != nil {
				return err
			}
			return s.try(ctx, *page)
		}
	},
}

// try makes the outputs and runs the pages. It returns everything that is wrong, not
// only what is found first.
func (s *scratch) try(ctx context.Context, only string) error {
	pages, err := readPages(s.root)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	stop, err := s.startSlurm(ctx)
	if err != nil {
		return err
	}
	defer stop()
	names := known{s.root, filepath.Join(s.whole, "bin", "speceval")}
	faults := names.pageFaults(pages, exceptions)
	if err := s.makeOutputs(ctx); err != nil {
		return errors.Join(append(faults, err)...)
	}
	faults = append(faults, s.outputFaults()...)
	s.Printf("outputs made in %v", time.Since(start).Round(time.Second))
	for _, p := range pages {
		switch {
		case only != "" && !slices.Contains(strings.Split(only, ","), p.name):
		case p.name == slurmPage && s.slurm == nil:
			faults = append(faults, s.without(names, p)...)
		default:
			faults = append(faults, s.page(ctx, p)...)
		}
	}
	return errors.Join(faults...)
}

// sitting is what a user who follows a page has before them.
type sitting struct {
	dir               string
	servers           map[string]*lab.Process // by their commands
	evals             string                  // "eval" commands, which hold for all later ones
	run, served, read int                     // commands and programs, by how they were tried
}

// page runs everything that a page has, in order, in a copy of its own.
func (s *scratch) page(ctx context.Context, p page) (faults []error) {
	at := s.Path(strings.NewReplacer("/", "-", ".md", "").Replace(p.name))
	err := os.CopyFS(at, os.DirFS(s.whole))
	if err == nil {
		err = s.own(p, at)
	}
	if err != nil {
		return []error{err}
	}
	now := &sitting{dir: at, servers: map[string]*lab.Process{}}
	defer func() {
		for _, server := range now.servers {
			server.Kill()
		}
		if err := s.leaveCluster(at); err != nil {
			faults = append(faults, err)
		}
	}()
	if now.servers[standInCommand], err = s.serve(ctx, at, standInCommand); err != nil {
		return []error{err}
	}
	start := time.Now()
	for _, b := range p.blocks {
		if b.lang == "python" {
			if err := s.python(ctx, now, b); err != nil {
				faults = append(faults, err)
			}
		}
		commands, err := b.commands()
		if err != nil {
			return append(faults, err)
		}
		for _, c := range commands {
			if err := s.command(ctx, now, c); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", c.at(), err))
				s.Printf("%s: failed", c.at())
			}
			if ctx.Err() != nil {
				return faults
			}
		}
	}
	s.Printf("%s: %d run, %d served, %d not run; %d faults; %v",
		p.name, now.run, now.served, now.read, len(faults), time.Since(start).Round(100*time.Millisecond))
	return faults
}

// command runs a command as the list of exceptions has it.
func (s *scratch) command(ctx context.Context, now *sitting, c command) error {
	e, listed := exceptionOf(exceptions, c)
	switch {
	case listed && e.serves && now.servers[c.text] != nil:
		return nil // it runs already
	case listed && e.serves:
		now.served++
		server, err := s.serve(ctx, now.dir, c.text)
		if err == nil {
			now.servers[c.text] = server
		}
		return err
	case listed && e.code == 0:
		now.read++
		return nil
	}
	now.run++
	if s.show {
		s.Printf("\n$ %s", c.text)
	}
	start := time.Now()
	text, err := withKey(now.dir, c.text)
	if err != nil {
		return err
	}
	code, output, err := s.shell(ctx, now.dir, now.evals+text)
	if err == nil && code != e.code {
		lines := strings.Split(strings.TrimSpace(output), "\n")
		err = fmt.Errorf("exit code %d, want %d:\n%s", code, e.code, strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.text, err)
	}
	if c.words[0] == "eval" {
		now.evals += c.text + "\n"
	}
	const slow = 5 * time.Second // is worth a line
	if took := time.Since(start); took > slow {
		s.Printf("%s: %s took %v", c.at(), c.text, took.Round(100*time.Millisecond))
	}
	return nil
}

// python runs a program of a page, unless it leaves something to its reader: an
// ellipsis of one character, which is no Python.
func (s *scratch) python(ctx context.Context, now *sitting, b block) error {
	if strings.Contains(b.text, "…") {
		now.read++
		return nil
	}
	now.run++
	name := filepath.Join(now.dir, fmt.Sprintf("line-%d.py", b.line))
	if err := os.WriteFile(name, []byte(b.text), 0o666); err != nil {
		return err
	}
	if err := s.must(ctx, now.dir, "'"+s.Python+"' '"+name+"'"); err != nil {
		return fmt.Errorf("%s: %w", b.at(), err)
	}
	return nil
}
