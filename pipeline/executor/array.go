package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/internal/atomicfile"
	"speceval/internal/files"
	"speceval/internal/slurm"
	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
)

// array is a batch that has been submitted and has not ended.
type array struct {
	*Batch
	dir  string
	open []*element // that have not ended
	had  map[*piece]resourceLimits
}

// element is an element of an array as it is seen from here.
type element struct {
	array  *array
	index  int
	state  slurm.Element
	ended  time.Time // when that was first seen; zero before
	log    *runlog.Reader
	events map[Member]runlog.Event // the last of each unit
	pieces []*piece                // whose results are still expected
	closed bool                    // no longer polled
}

func newArray(b *Batch, dir string) *array {
	a := &array{Batch: b, dir: dir, had: make(map[*piece]resourceLimits)}
	for i := range b.Elements {
		a.open = append(a.open, &element{
			array: a, index: i, log: runlog.NewReader(EventsPath(dir, i)), events: make(map[Member]runlog.Event),
			state: slurm.Element{Job: b.Job, Index: i}, // not known yet
		})
	}
	return a
}

// where says which element it is, for messages.
func (e *element) where() string {
	text := "job " + slurm.Name(e.array.Job, e.index)
	if e.state.Node != "" {
		text += " on " + e.state.Node
	}
	return text
}

// member is how the batch calls a piece.
func member(p *piece) Member { return Member{Unit: p.task.Ref.Unit, Key: p.task.Key} }

// read takes in what the element has written since the last time.
func (e *element) read() error {
	events, err := e.log.Next()
	for _, event := range events {
		m := Member{event.Unit.Unit, event.Key}
		if event.Progress == nil {
			e.events[m] = event
			continue
		}
		for _, p := range e.pieces {
			if member(p) == m {
				p.task.Advance(*event.Progress)
			}
		}
	}
	return err
}

// attach finds the arrays of earlier runs that have not ended, and how their
// elements stand.
func attach(ctx context.Context, client *slurm.Client, folder string) ([]*array, error) {
	earlier, err := batches(folder)
	if err != nil {
		return nil, err
	}
	if err := named(ctx, client, earlier); err != nil {
		return nil, err
	}
	arrays := openArrays(earlier, folder)
	states, err := client.Elements(ctx, wanted(arrays))
	if err != nil {
		return nil, err
	}
	live := arrays[:0]
	for _, a := range arrays {
		a.update(states)
		a.closeEnded()
		if a.Ended = len(a.open) == 0; !a.Ended {
			live = append(live, a)
		}
		if err := a.write(folder); err != nil {
			return nil, err
		}
	}
	return live, nil
}

// named finds the jobs of batches whose submitter did not live to see Slurm's
// answer. A batch that never became a job is left without.
func named(ctx context.Context, client *slurm.Client, all []*Batch) error {
	for _, b := range all {
		if b.Job != "" {
			continue
		}
		jobs, err := client.Named(ctx, b.Name)
		if err != nil {
			return err
		}
		if len(jobs) > 0 {
			b.Job = jobs[0]
		}
	}
	return nil
}

// openArrays are the arrays of batches.
func openArrays(all []*Batch, folder string) []*array {
	var arrays []*array
	for _, b := range all {
		arrays = append(arrays, newArray(b, filepath.Join(folder, b.Name)))
	}
	return arrays
}

// wanted are the elements of arrays that have not ended.
func wanted(arrays []*array) []slurm.Element {
	var all []slurm.Element
	for _, a := range arrays {
		for _, e := range a.open {
			if a.Job != "" {
				all = append(all, slurm.Element{Job: a.Job, Index: e.index})
			}
		}
	}
	return all
}

// update books how the elements stand.
func (a *array) update(states []slurm.Element) {
	known := make(map[int]slurm.Element)
	for _, s := range states {
		if s.Job == a.Job && (s.Title == a.Name || s.Title == "") {
			known[s.Index] = s
		}
	}
	for _, e := range a.open {
		s, ok := known[e.index]
		if !ok {
			s = slurm.Element{Job: a.Job, Index: e.index, State: e.vanished(len(known) > 0)}
		}
		if s.Node == "" {
			s.Node = e.state.Node
		}
		e.state = s
	}
}

// vanished is the state of an element that Slurm does not mention. Of an array
// that it does remember, one that waited has been cancelled: those that ran are
// remembered for some minutes.
func (e *element) vanished(others bool) slurm.State {
	if e.state.State.Ended() { // that is known
		return e.state.State
	}
	if others && e.state.State.Waiting() && len(e.events) == 0 {
		return slurm.Cancelled
	}
	return slurm.Forgotten
}

// closeEnded forgets the elements that have ended.
func (a *array) closeEnded() {
	open := a.open[:0]
	for _, e := range a.open {
		if !e.state.State.Ended() {
			open = append(open, e)
		}
	}
	a.open = open
}

// LiveError says that jobs of an earlier run are still at work in an output
// folder.
type LiveError struct {
	Jobs  []string
	Units int
}

func (e *LiveError) Error() string {
	return fmt.Sprintf("Slurm jobs of an earlier run are at work in this folder (%v, %d units): wait for them with executor.kind = \"slurm\", or cancel them with scancel", e.Jobs, e.Units)
}

// Idle is a *LiveError if jobs of an earlier run wait or run. A cluster that
// does not answer counts as one without jobs.
func Idle(ctx context.Context, client *slurm.Client, folder string) error {
	live, err := attach(ctx, client, folder)
	if err != nil || len(live) == 0 {
		return nil
	}
	e := new(LiveError)
	for _, a := range live {
		e.Jobs = append(e.Jobs, a.Job)
		for _, open := range a.open {
			e.Units += len(a.Elements[open.index])
		}
	}
	return e
}

// Files of a batch's folder.
const (
	batchFile  = "batch.json"
	scriptFile = "job.sh"
)

// batchFormat is the version of the layout of batchFile.
const batchFormat = 1

// Batch is a job array: what was submitted, and what its elements are. It has a
// folder of its own in dag.JobsDir.
type Batch struct {
	Format    int        `json:"format"`
	Name      string     `json:"name"` // of the folder, and of the job
	Stage     string     `json:"stage"`
	Job       string     `json:"job"`       // Slurm's id; empty until its answer is there
	Submitted time.Time  `json:"submitted"` // UTC, just before
	Build     string     `json:"build"`     // of the program that submitted it
	Redo      bool       `json:"redo"`      // units that are fresh are run again
	Attempt   int        `json:"attempt"`   // at the units, from 1
	Workers   int        `json:"workers"`   // units of an element at a time
	Elements  [][]Member `json:"elements"`
	Ended     bool       `json:"ended"` // every element has
}

// Member is a unit of an element.
type Member struct {
	Unit string `json:"unit"`
	Key  string `json:"key"`
}

// Ref is the unit of a member of the batch.
func (b *Batch) Ref(m Member) dag.Ref { return dag.Ref{Stage: b.Stage, Unit: m.Unit} }

// LogPath is where an element writes for people, in the batch's folder.
func LogPath(dir string, element int) string {
	return filepath.Join(dir, fmt.Sprintf("element-%d.log", element))
}

// EventsPath is where an element's structured log is, in the batch's folder.
func EventsPath(dir string, element int) string {
	return filepath.Join(dir, fmt.Sprintf("element-%d.jsonl", element))
}

// mostBatch is the size, in bytes, of the largest file of a batch that is read.
const mostBatch = 256 << 20

// ReadBatch reads the batch whose folder is dir.
func ReadBatch(dir string) (*Batch, error) {
	path := filepath.Join(dir, batchFile)
	text, err := files.ReadInput(path, files.Kind{Name: "a batch", MaxBytes: mostBatch})
	if err != nil {
		return nil, err
	}
	b := new(Batch)
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if b.Format != batchFormat {
		return nil, fmt.Errorf("%s has format %d, this program knows format %d", path, b.Format, batchFormat)
	}
	return b, nil
}

// write stores the batch in its folder under folder.
func (b *Batch) write(folder string) error {
	if err := os.MkdirAll(filepath.Join(folder, b.Name), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(folder, b.Name, batchFile), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(b)
	})
}

// batches reads those under folder that have not ended, the oldest first. One
// that cannot be read is passed over: its jobs run to no harm.
func batches(folder string) ([]*Batch, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for earlier jobs: %w", err)
	}
	var all []*Batch
	for _, entry := range entries {
		b, err := ReadBatch(filepath.Join(folder, entry.Name()))
		if err == nil && !b.Ended && b.Name == entry.Name() {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *Batch) int { return a.Submitted.Compare(b.Submitted) })
	return all, nil
}

// unshared is the exit code of a script that does not find its batch.
const unshared = 75

// script is what Slurm runs for an element: program and arguments are those of
// speceval, up to the command; it gets so many threads, or with 0 what it takes.
func script(dir, directory string, program []string, threads int) string {
	var b strings.Builder
	b.WriteString("#!/bin/bash\n# An element of a job array of speceval; batch.json in this folder has its units.\n")
	fmt.Fprintf(&b, "cd %s && test -r %s || {\n", quote(directory), quote(filepath.Join(dir, batchFile)))
	fmt.Fprintf(&b, "  echo \"$(hostname) does not have the folder of the run: it must be on a file system that nodes share\" >&2\n  exit %d\n}\n", unshared)
	if threads > 0 {
		fmt.Fprintf(&b, "export GOMAXPROCS=%d\n", threads)
	}
	b.WriteString("exec")
	for _, word := range program {
		b.WriteString(" " + quote(word))
	}
	fmt.Fprintf(&b, " unit --element %s\n", quote(dir))
	return b.String()
}

// quote makes a word of any text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
