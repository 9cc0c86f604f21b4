package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"

	"speceval/internal/benchmark"
	"speceval/internal/benchmark/upstream/rows"
	"speceval/internal/store/atomicfile"
)

// Options are how groups are prepared.
type Options struct {
	From    string // folder with the files of the sources, at <dataset>/<file>
	To      string // folder for <benchmark>.jsonl and <benchmark>.tests
	Prompts *benchmark.Prompts
	// Published are the ids of each benchmark's tasks, in order; the prepared tasks must
	// have them. Unpublished prepares other data through the same selections.
	Published   map[string][]string
	Unpublished bool
	Done        func(Prepared) // gets each group that was written; may be nil
}

// Prepared is a benchmark that was written.
type Prepared struct {
	Group
	Path          string
	Tasks         int
	PromptsSHA256 string // of what is asked; that of Group if it is upstream's own words
	Tests         int    // of all programs
}

// Prepare writes the task files of groups, each source read once. A group that cannot
// be prepared does not keep the others from it; the error names all of them.
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

// read gives the rows of a source that may become tasks.
func (s *Source) read(ctx context.Context, o Options) ([]row, error) {
	var all []row
	index, seen := 0, map[string]string{} // ids, to where they are
	for _, name := range s.Files {
		path := s.Path(o.From, name)
		err := rows.Read(ctx, path, s.form.columns, func(r rows.Row) error {
			made, err := s.form.row(r, name, index)
			index++
			if err != nil || made == nil {
				return err
			}
			switch first, again := seen[made.ID]; {
			case made.ID == "":
				return errors.New("has no id")
			case again:
				return fmt.Errorf("has the id %q, as %s", made.ID, first)
			}
			seen[made.ID] = fmt.Sprintf("%s, row %d", name, r.Number)
			made.tests.path = path
			all = append(all, *made)
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is not there: download it (--download), or put the file of %s at revision %.8s there", path, s.Dataset, s.Revision)
		}
		if err != nil {
			return nil, err
		}
	}
	if want := s.form.rows; want > 0 && len(all) != want && !o.Unpublished {
		return nil, fmt.Errorf("%s: there are %d rows, want %d: another revision?", s.Dataset, len(all), want)
	}
	return all, nil
}

func (g Group) prepare(ctx context.Context, all []row, o Options) error {
	var own []row
	for _, r := range all {
		if g.Part == "" || r.part == g.Part {
			own = append(own, r)
		}
	}
	chosen := g.choose(own)
	if !o.Unpublished {
		if err := Compare(idsOf(chosen), o.Published[g.ID], idsOf(own)); err != nil {
			return err
		}
	}
	if len(chosen) == 0 {
		return errors.New("no row of the files belongs to it")
	}
	p := Prepared{Group: g, Path: filepath.Join(o.To, g.ID+".jsonl"), Tasks: len(chosen)}
	tasks := make([]benchmark.Task, len(chosen))
	for i := range chosen {
		n, err := g.finish(ctx, &chosen[i], i, o)
		if err != nil {
			return fmt.Errorf("task %s: %w", chosen[i].ID, err)
		}
		tasks[i] = chosen[i].Task
		p.Tests += n
	}
	p.PromptsSHA256 = benchmark.PromptDigest(tasks)
	err := atomicfile.Write(p.Path, func(w io.Writer) error { return benchmark.WriteTasks(w, tasks) })
	if err == nil && o.Done != nil {
		o.Done(p)
	}
	return err
}

// finish makes a row the task at a place of the group. It writes the tests of a
// program, and returns their number.
func (g Group) finish(ctx context.Context, r *row, place int, o Options) (n int, err error) {
	r.Benchmark, r.Index, r.Scorer = g.ID, place, g.Source.form.scorer
	if g.Source.form.finish != nil {
		g.Source.form.finish(r, place)
	}
	if r.tests.places != nil {
		if n, err = g.writeTests(ctx, r, o.To); err != nil {
			return n, err
		}
	}
	r.Task, err = o.Prompts.Ask(r.Task, g.ID, g.Source.ID)
	r.Tests = nil
	return n, err
}

// plain is an id that can be the name of a file.
var plain = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)

// writeTests writes the tests of a task, and returns their number. The task keeps the
// first one, whose function the prompt names.
func (g Group) writeTests(ctx context.Context, r *row, to string) (n int, err error) {
	if !plain.MatchString(r.ID) {
		return 0, errors.New("its id cannot be the name of a file")
	}
	r.TestsFile = g.ID + ".tests/" + r.ID + ".json.gz"
	err = atomicfile.Write(filepath.Join(to, filepath.FromSlash(r.TestsFile)), func(w io.Writer) error {
		out := benchmark.NewTestsWriter(w)
		err := r.tests.each(ctx, func(test benchmark.Test) error {
			if n++; n == 1 {
				r.Tests = []benchmark.Test{test}
			}
			return out.Add(test)
		})
		if err == nil && n == 0 {
			err = errors.New("there are no tests, neither public nor private ones")
		}
		if err == nil {
			r.TestsSHA256, err = out.Close()
		}
		return err
	})
	return n, err
}
