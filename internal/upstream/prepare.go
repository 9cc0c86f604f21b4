package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"speceval/internal/atomicfile"
	"speceval/internal/benchmark"
)

// Options are how groups are prepared.
type Options struct {
	From    string // folder with the files of the sources, at <dataset>/<file>
	To      string // folder for <benchmark>.jsonl and <benchmark>.tests
	Prompts *benchmark.Prompts
	// Published are the ids of each benchmark's tasks, in order, which those that are
	// prepared must have. Unpublished prepares other data through the same selections.
	Published   map[string][]string
	Unpublished bool
	Reading     func(path string) // gets each file before it is read; nil: nobody
	Done        func(Prepared)    // gets each group that was written; nil: nobody
}

// Prepared is a benchmark that was written.
type Prepared struct {
	Group
	Path          string
	Tasks         int
	PromptsSHA256 string // of what is asked; that of Group if it is upstream's own words
	Tests         int    // of all programs
}

// Prepare writes the task files of groups, each source read once. A group that
// cannot be prepared does not keep the others from it; the error names all of them.
func Prepare(ctx context.Context, groups []Group, o Options) error {
	var faults []error
	var source *Source
	var all []row
	var unread error
	for _, g := range groups {
		if g.Source != source {
			source = g.Source
			all, unread = source.read(ctx, o)
		}
		err := unread
		if err == nil {
			err = g.prepare(ctx, all, o)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", g.ID, err))
		}
	}
	return errors.Join(faults...)
}

func (g Group) prepare(ctx context.Context, all []row, o Options) error {
	own := g.of(all)
	chosen, err := g.choose(own, o.Unpublished)
	if err != nil {
		return err
	}
	if !o.Unpublished {
		published, known := o.Published[g.ID]
		if !known {
			return errors.New("no ids of it are published: --unpublished prepares it without them")
		}
		if err := Compare(idsOf(chosen), published, idsOf(own)); err != nil {
			return err
		}
	}
	if len(chosen) == 0 {
		return errors.New("no row of the files belongs to it")
	}
	p := Prepared{Group: g, Path: filepath.Join(o.To, g.ID+".jsonl"), Tasks: len(chosen)}
	if err := os.MkdirAll(o.To, 0o777); err != nil {
		return err
	}
	tasks := make([]benchmark.Task, len(chosen))
	for i := range chosen {
		var n int
		if tasks[i], n, err = g.task(ctx, &chosen[i], i, o); err != nil {
			return fmt.Errorf("task %s: %w", chosen[i].id, err)
		}
		p.Tests += n
	}
	p.PromptsSHA256 = benchmark.PromptDigest(tasks)
	err = atomicfile.Write(p.Path, func(w io.Writer) error { return benchmark.WriteTasks(w, tasks) })
	if err == nil && o.Done != nil {
		o.Done(p)
	}
	return err
}

// of are the rows that belong to the group.
func (g Group) of(all []row) []row {
	var own []row
	for _, r := range all {
		if g.Part == "" || r.part == g.Part {
			own = append(own, r)
		}
	}
	return own
}

func idsOf(rows []row) []string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.id
	}
	return ids
}

// task makes the task at a place of the group, and writes its tests, whose number it
// returns.
func (g Group) task(ctx context.Context, r *row, place int, o Options) (benchmark.Task, int, error) {
	reader := readers[g.Source.ID]
	if reader.finish != nil {
		reader.finish(r, place)
	}
	t := benchmark.Task{
		Benchmark: g.ID, ID: r.id, Index: place, Prompt: r.problem, Scorer: reader.scorer,
		Answer: r.answer, Options: len(r.options), OptionTexts: r.options,
	}
	if r.options != nil {
		t.Answer = letter(r.right)
	}
	if r.tests == nil {
		asked, err := o.Prompts.Ask(t, g.ID, g.Source.ID)
		return asked, 0, err
	}
	first, n, err := g.writeTests(ctx, r, o.To, &t)
	if err != nil {
		return t, 0, err
	}
	t.Tests = []benchmark.Test{first} // of which the prompt tells the function
	t, err = o.Prompts.Ask(t, g.ID, g.Source.ID)
	t.Tests = nil
	return t, n, err
}

// plain is an id that can be the name of a file.
var plain = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)

// writeTests writes the tests of a task, and gives the first one and their number.
func (g Group) writeTests(ctx context.Context, r *row, to string, t *benchmark.Task) (first benchmark.Test, n int, err error) {
	if !plain.MatchString(r.id) {
		return first, 0, errors.New("its id cannot be the name of a file")
	}
	t.TestsFile = g.ID + ".tests/" + r.id + ".json.gz"
	path := filepath.Join(to, filepath.FromSlash(t.TestsFile))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return first, 0, err
	}
	err = atomicfile.Write(path, func(w io.Writer) error {
		out := benchmark.NewTestsWriter(w)
		err := r.tests.each(ctx, func(test benchmark.Test) error {
			if n++; n == 1 {
				first = test
			}
			return out.Add(test)
		})
		if err == nil && n == 0 {
			err = errors.New("there are no tests, neither public nor private ones")
		}
		if err != nil {
			return err
		}
		t.TestsSHA256, err = out.Close()
		return err
	})
	return first, n, err
}
