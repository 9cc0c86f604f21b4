package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"speceval/internal/atomicfile"
	"speceval/internal/benchmark"
	"speceval/internal/files"
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
	Reading     func(path string) // gets each file before it is read; may be nil
	Done        func(Prepared)    // gets each group that was written; may be nil
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

// Known is the SHA-256 of a file of the source, "" where it is not known.
func (s *Source) Known(file string) string {
	for i, name := range s.Files {
		if name == file {
			return s.SHA256[i]
		}
	}
	return ""
}

// Check is an error where a file of the source is known to have another SHA-256 than
// this one; path is what the error calls it.
func (s *Source) Check(file, path, digest string) error {
	if known := s.Known(file); known != "" && known != digest {
		return fmt.Errorf("%s has the SHA-256 %s, and %s of %s at revision %.8s has %s: it was changed, or is of another revision; download it again, or take it as it is with --unpublished",
			path, digest, file, s.Dataset, s.Revision, known)
	}
	return nil
}

// checkFile is Check of the bytes at a path, where their digest is known.
func (s *Source) checkFile(ctx context.Context, file, path string) error {
	if s.Known(file) == "" {
		return nil
	}
	disk, err := files.OpenInput(path, files.Upstream)
	if err != nil {
		return err
	}
	defer disk.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, untilDone{ctx, disk}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return s.Check(file, path, hex.EncodeToString(sum.Sum(nil)))
}

// untilDone reads until its context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

// ErrOther is the error of tasks that are not those of the paper.
var ErrOther = errors.New("not the tasks of the paper")

// Compare holds the ids of a benchmark's tasks against the published ones, both in
// order. pool are the ids of all rows that tasks were chosen of; nil if it is not
// known. The error, an ErrOther, shows the first task that differs and says what
// explains it: an order, a selection or a revision of its own.
func Compare(ids, published, pool []string) error {
	if slices.Equal(ids, published) {
		return nil
	}
	at := 0
	for at < min(len(ids), len(published)) && ids[at] == published[at] {
		at++
	}
	return fmt.Errorf("%w: task %d is %s, published is %s: %s", ErrOther, at, nth(ids, at), nth(published, at), explain(ids, published, pool))
}

func nth(ids []string, i int) string {
	if i >= len(ids) {
		return "missing"
	}
	return fmt.Sprintf("%q", ids[i])
}

// explain says what differs in lists that are not equal.
func explain(ids, published, pool []string) string {
	here, theirs := set(ids), set(published)
	if maps.Equal(here, theirs) && len(ids) == len(published) {
		return "the order differs, the tasks are the same"
	}
	if pool == nil {
		return fmt.Sprintf("%d of %d published tasks are there, and %d others", shared(published, here), len(published), len(ids)-shared(ids, theirs))
	}
	if there := shared(published, set(pool)); there < len(published) {
		return fmt.Sprintf("%d of %d published tasks are in the files: these are of another revision", there, len(published))
	}
	return fmt.Sprintf("all published tasks are in the files, %d of them were chosen: the selection differs, as when a revision has further rows", shared(published, here))
}

func set(ids []string) map[string]bool {
	all := make(map[string]bool, len(ids))
	for _, id := range ids {
		all[id] = true
	}
	return all
}

// shared counts the ids that are in a set.
func shared(ids []string, others map[string]bool) int {
	n := 0
	for _, id := range ids {
		if others[id] {
			n++
		}
	}
	return n
}

// Download fetches the source of each group, once each. It returns the groups
// whose files then are there, and an error that names what could not be
// fetched; after an interrupt no group.
func Download(ctx context.Context, groups []Group, fetch func(*Source) error) (whole []Group, err error) {
	missing := map[*Source]error{}
	var faults []error
	for _, g := range groups {
		fault, tried := missing[g.Source]
		if !tried {
			fault = fetch(g.Source)
			missing[g.Source] = fault
			if ctx.Err() != nil {
				return nil, fmt.Errorf("interrupted; what was fetched is kept: %w", ctx.Err())
			}
			if fault != nil {
				faults = append(faults, fault)
			}
		}
		if fault == nil {
			whole = append(whole, g)
		}
	}
	return whole, errors.Join(faults...)
}
