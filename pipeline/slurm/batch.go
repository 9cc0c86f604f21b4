package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"speceval/internal/store/atomicfile"
	"speceval/internal/store/files"
	"speceval/internal/terminal/display"
	"speceval/pipeline/dag"
)

// Files of a batch's folder, and the version of the first one's layout.
const (
	batchFile   = "batch.json"
	scriptFile  = "job.sh"
	batchFormat = 1
)

// Batch is a job: what was submitted where, and the units of its elements. It has a
// folder of its own in dag.JobsDir.
type Batch struct {
	Format    int        `json:"format"`
	Name      string     `json:"name"` // of the folder, and of a job array
	Stage     string     `json:"stage"`
	Job       string     `json:"job"`       // the cluster's id; empty until it is known
	Submitted time.Time  `json:"submitted"` // UTC, just before
	Build     string     `json:"build"`     // of the program that submitted it
	Redo      bool       `json:"redo"`      // units that are fresh are run again
	Attempt   int        `json:"attempt"`   // at the units, from 1
	Workers   int        `json:"workers"`   // units of an element at a time
	Elements  [][]Member `json:"elements"`
	Ended     bool       `json:"ended"` // every element has
	Target
}

// Target is where a job was submitted: it is polled and cancelled there, whatever the
// configuration says by then.
type Target struct {
	Clusters string `json:"clusters,omitempty"` // of Slurm, as --clusters has them; empty: the local one
	Status   string `json:"status,omitempty"`   // command that lists jobs; empty: Slurm does
	Cancel   string `json:"cancel,omitempty"`   // command that cancels jobs
}

// Member is a unit of an element.
type Member struct {
	Unit string `json:"unit"`
	Key  string `json:"key"`
}

// Ref is the unit of a member of the batch.
func (b *Batch) Ref(m Member) dag.Ref { return dag.Ref{Stage: b.Stage, Unit: m.Unit} }

// element is the name of an element for its cluster and for people: "1234_7" of a job
// array of Slurm, and the id of a job of one element elsewhere.
func (b *Batch) element(index int) string {
	if b.Status != "" {
		return b.Job
	}
	return b.Job + "_" + strconv.Itoa(index)
}

// label is the name of a job in any cluster: lower-case letters, digits and hyphens.
func (b *Batch) label() string {
	return "speceval-" + strings.ToLower(strings.NewReplacer(".", "-", "_", "-").Replace(b.Name))
}

// LogPath is where an element writes for people, in the batch's folder.
func LogPath(dir string, element int) string {
	return filepath.Join(dir, fmt.Sprintf("element-%d.log", element))
}

// EventsPath is where an element's structured log is, in the batch's folder.
func EventsPath(dir string, element int) string {
	return filepath.Join(dir, fmt.Sprintf("element-%d.jsonl", element))
}

// ReadBatch reads the batch whose folder is dir.
func ReadBatch(dir string) (*Batch, error) {
	const mostBatch = 256 << 20 // bytes
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
	return atomicfile.WriteJSON(filepath.Join(folder, b.Name, batchFile), b)
}

// batches reads those under folder, the oldest first. One that cannot be read is passed over:
// its jobs run to no harm.
func batches(folder string) (all []*Batch, err error) {
	entries, err := os.ReadDir(folder) // sorted by name, which begins with the time
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for earlier jobs: %w", err)
	}
	for _, entry := range entries {
		if b, err := ReadBatch(filepath.Join(folder, entry.Name())); err == nil && b.Name == entry.Name() {
			all = append(all, b)
		}
	}
	return all, nil
}

// sweep removes the folders of the oldest batches that have ended.
func sweep(folder string) {
	const keptBatches = 100 // folders of ended batches, for their logs
	all, _ := batches(folder)
	for _, b := range all[:max(0, len(all)-keptBatches)] {
		if b.Ended {
			os.RemoveAll(filepath.Join(folder, b.Name))
		}
	}
}

// writeScript writes the script that runs an element. Program is the command line of speceval
// up to the command; threads bound it, unless 0. Slurm numbers the
// element by a variable, other clusters by the script's argument.
func (b *Batch) writeScript(folder, directory string, program []string, threads int) error {
	dir := filepath.Join(folder, b.Name)
	var s strings.Builder
	s.WriteString("#!/bin/bash\n# An element of a job of speceval; batch.json in this folder has its units.\n")
	fmt.Fprintf(&s, "cd %s && test -r %s || {\n", display.ShellWord(directory), display.ShellWord(filepath.Join(dir, batchFile)))
	s.WriteString("  echo \"$(hostname) does not have the folder of the run: it must be on a file system that nodes share\" >&2\n  exit 1\n}\n")
	fmt.Fprintf(&s, "if [ $# -gt 0 ]; then\n  export %s=\"$1\"\n  exec >>%s/element-\"$1\".log 2>&1\nfi\n", elementVariable, display.ShellWord(dir))
	if threads > 0 {
		fmt.Fprintf(&s, "export GOMAXPROCS=%d\n", threads)
	}
	s.WriteString("exec")
	for _, word := range program {
		s.WriteString(" " + display.ShellWord(word))
	}
	fmt.Fprintf(&s, " unit --element %s\n", display.ShellWord(dir))
	return atomicfile.WriteText(filepath.Join(dir, scriptFile), s.String())
}
