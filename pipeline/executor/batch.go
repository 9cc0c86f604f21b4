package executor

import (
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
	"speceval/internal/ownfile"
	"speceval/pipeline/dag"
)

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
	text, err := ownfile.ReadFile(path, mostBatch)
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
	if err := ownfile.MakeFolder(filepath.Dir(folder), filepath.Join(folder, b.Name)); err != nil {
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
	b.WriteString("#!/bin/bash\n# An element of a job array of speceval; batch.json beside this file has its units.\n")
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
