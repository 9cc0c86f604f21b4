package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	undisturbed "speceval/drills/lab"
)

// leftovers leaves what a machine that stops leaves: files in the making, journals
// with an unfinished and with a damaged line, and work under another key.
func (l *lab) leftovers(ctx context.Context, t *trial) error {
	moments := undisturbed.NewMoments(l.seed, "leftovers")
	out := l.path("leftovers")
	for _, stage := range []string{"generate", "score"} { // those that keep a journal
		journal, err := l.interrupted(ctx, out, stage)
		if err != nil {
			return fmt.Errorf("%s: %w", stage, err)
		}
		foreign := filepath.Join(filepath.Dir(filepath.Dir(journal)), "0badc0de", filepath.Base(journal))
		if err := injureJournal(journal, foreign, moments); err != nil {
			return err
		}
		before, err := os.ReadFile(foreign)
		if err != nil {
			return err
		}
		partials, err := leavePartials(out)
		if err != nil {
			return err
		}
		t.injured("%s 4", stage)
		if _, err := l.do(ctx, out, 0, "run", "--until", stage); err != nil {
			return err
		}
		for _, path := range partials {
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s is still there: %v", path, err)
			}
		}
		if after, err := os.ReadFile(foreign); err != nil || !bytes.Equal(before, after) {
			return fmt.Errorf("the work under another key is not as it was: %v", err)
		}
	}
	return l.finish(ctx, t, out)
}

// interrupted runs all up to a stage and kills it once its journal has some lines.
func (l *lab) interrupted(ctx context.Context, out, stage string) (journal string, err error) {
	c, err := l.start(out, "run", "--until", stage)
	if err != nil {
		return "", err
	}
	defer c.Kill()
	err = c.Until(ctx, func() (bool, error) {
		journal, err = findJournal(filepath.Join(out, "scratch", stage), 4)
		return journal != "", err
	})
	return journal, err
}

// findJournal finds a journal of so many lines in a folder; "" if there is none.
func findJournal(dir string, lines int) (found string, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing there yet, or just removed
		}
		if err != nil || filepath.Ext(path) != ".journal" {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && bytes.Count(text, []byte("\n")) >= lines {
			found = path
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return found, err
}

// injureJournal spoils a line of a journal and leaves another one unfinished, and
// puts lines that are whole, with other answers, where work under another key is
// kept.
func injureJournal(path, foreign string, moments *undisturbed.Moments) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if err := os.MkdirAll(filepath.Dir(foreign), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(foreign, bytes.Join(lines[1:], nil), 0o666); err != nil {
		return err
	}
	last := slices.Clone(lines[0][:1+moments.Below(len(lines[0])-1)])
	spoilt := lines[1]
	spoilt[moments.Below(len(spoilt)-1)] ^= 1
	return os.WriteFile(path, append(bytes.Join(lines, nil), last...), 0o666)
}

// leavePartials leaves files in the making, of outputs and of a manifest.
func leavePartials(out string) ([]string, error) {
	var all []string
	for _, name := range []string{"manifests/score/x.json", "tables/table1_variance.csv", "score/profiles.parquet"} {
		path := filepath.Join(out, filepath.FromSlash(name)+".123456789.partial")
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte("half of it"), 0o666); err != nil {
			return nil, err
		}
		all = append(all, path)
	}
	return all, nil
}
