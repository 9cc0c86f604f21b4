package dag

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"speceval/internal/store/files"
)

// State says how the stored outputs of a unit stand to what a run would make now.
type State int

// The states of a unit, from worst to best.
const (
	Missing State = iota // never run, as far as any manifest knows
	Stale                // run, but not of this, or its outputs are not there as made
	Fresh                // has a manifest for its key and the outputs that it recorded
)

// String is the state as status prints it.
func (s State) String() string {
	return [...]string{"missing", "stale", "fresh"}[s]
}

// MarshalText is String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Record is the state of one unit: what plan, status, why, explain and the pages read.
type Record struct {
	Unit    Ref       `json:"unit"`
	Key     string    `json:"key"`              // of what a run would make; empty where inputs are still to be made
	State   State     `json:"state"`            // what the unit is made of included
	Reasons []Reason  `json:"reasons,omitzero"` // why a run of the stages planned runs it; none where it does not
	Last    *Manifest `json:"last_run"`         // nil where there is none that can be used

	Declared *Unit   `json:"-"`
	Seconds  float64 `json:"-"` // wall time that a run of it takes; negative if unknown
	Stated   bool    `json:"-"` // Seconds are its cost on this machine, not of earlier runs
	Left     float64 `json:"-"` // share of its work that a run has left to do

	problem error    // why the manifest there cannot be used
	have    []string // SHA-256 of each declared output, "" where missing
}

// Own are the reasons of the unit itself, whatever becomes of its inputs.
func (r Record) Own() (own []Reason) {
	for _, reason := range r.Reasons {
		if k := reason.Kind; k != Forced && k != InputMissing && k != InputRemade {
			own = append(own, reason)
		}
	}
	return own
}

// usable reports whether the unit's outputs can serve as inputs: a manifest
// vouches that they were made, and they are still there.
func (r *Record) usable() bool {
	return r.Last != nil && !slices.Contains(r.have, "")
}

// recorded is the SHA-256 of an output in the manifest; "" if it has none.
func (r *Record) recorded(output string) string {
	if r.Last == nil {
		return ""
	}
	made, _ := r.Last.output(output)
	return made.SHA256
}

// Snapshot is the content of an output folder when it was read: every manifest,
// and the content hash of every output that a manifest speaks of. A run keeps
// it up to date with what it makes, and nothing else may use it meanwhile.
type Snapshot struct {
	graph   *Graph
	dir     string
	records []Record // by index into graph.nodes; what is to be done is not judged yet

	slow float64 // seconds that units take here for a second of their cost; 0: by earlier runs, or measured
}

// Scan reads the manifests and hashes the outputs in dir, several at a time. A large
// output of the recorded size and modification time counts as unchanged and is not
// read. A folder that does not exist is an empty one. A fault of a manifest is kept
// as a reason to run its unit; an output that cannot be read is an error. Where units are
// named it looks at these and at those whose outputs they read; nothing may be asked of the
// others.
func (g *Graph) Scan(ctx context.Context, dir string, named ...Ref) (*Snapshot, error) {
	s := &Snapshot{graph: g, dir: filepath.Clean(dir), records: make([]Record, len(g.nodes))}
	wanted := make(map[int]bool)
	for _, ref := range named {
		i, err := g.node(ref)
		if err != nil {
			return nil, err
		}
		for _, look := range append(slices.Clone(g.nodes[i].needs), i) {
			wanted[look] = true
		}
	}
	var all errgroup.Group
	all.SetLimit(2 * runtime.GOMAXPROCS(0))
	for i := range g.nodes {
		if named != nil && !wanted[i] {
			continue
		}
		all.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return s.read(i)
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return s, nil
}

// read fills the record of unit i from disk.
func (s *Snapshot) read(i int) error {
	unit, ref := s.graph.nodes[i].unit, s.graph.nodes[i].ref
	r := Record{Unit: ref, Declared: unit, have: make([]string, len(unit.Outputs))}
	m, err := readManifest(s.dir, ref)
	switch {
	case err == nil:
		r.Last = m
		for k, output := range unit.Outputs {
			sum, err := s.sum(m, output)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("read output %s of %s: %w", output, ref, err)
			}
			r.have[k] = sum
		}
	case !errors.Is(err, fs.ErrNotExist):
		r.problem = err
	}
	s.records[i] = r
	return nil
}

// sum is the SHA-256 of an output. A large one of the recorded size and modification
// time is not read.
func (s *Snapshot) sum(m *Manifest, output string) (string, error) {
	if recorded, _ := m.output(output); recorded.Modified != 0 {
		file, err := os.Open(filepath.Join(s.dir, filepath.FromSlash(output))) // a shared file system has the times of an open file
		if err != nil {
			return "", err
		}
		info, err := file.Stat()
		file.Close()
		if err == nil && info.Size() == recorded.Bytes && info.ModTime().UnixNano() == recorded.Modified {
			return recorded.SHA256, nil
		}
	}
	now, err := files.DigestOf(s.dir, output)
	return now.SHA256, err
}

// partsOf gathers all parts of unit i from what is on disk now. blocked lists
// the needed units whose outputs cannot be used; their part is missing then, as
// is that of wanted units that are not there.
func (s *Snapshot) partsOf(i int) (parts Parts, blocked []int) {
	n := &s.graph.nodes[i]
	parts = partsOf(&s.graph.stages[n.stage], n.unit)
	for k, need := range n.needs {
		r := &s.records[need]
		if !r.usable() {
			if k < n.wanted {
				blocked = append(blocked, need)
			}
			continue
		}
		for k, output := range r.Declared.Outputs {
			parts.Inputs[output] = r.have[k]
		}
	}
	return parts, blocked
}

// judge compares what is on disk of unit i with the unit as it is declared now,
// whatever else will run: the reasons to run it, and its key with the inputs that are
// there, empty if any is missing.
func (s *Snapshot) judge(i int) (reasons []Reason, key string) {
	r := &s.records[i]
	parts, blocked := s.partsOf(i)
	switch {
	case len(blocked) > 0:
	case r.Last != nil && reflect.DeepEqual(parts, r.Last.Parts):
		key, r.Last.Parts = r.Last.Key, parts // the same, in strings that are there once
	default:
		key = parts.Key()
	}
	switch {
	case r.problem != nil:
		return []Reason{{Kind: Unreadable, New: r.problem.Error()}}, key
	case r.Last == nil:
		return []Reason{{Kind: NeverRun}}, key
	}
	if r.Last.Key != key { // also when blocked: the key is empty
		for _, need := range blocked {
			for _, output := range s.graph.nodes[need].unit.Outputs {
				if sum, had := r.Last.Parts.Inputs[output]; had {
					parts.Inputs[output] = sum // nothing is known of it: no change to report
				}
			}
		}
		reasons = changes(&r.Last.Parts, &parts)
	}
	return append(reasons, r.outputReasons()...), key
}

// outputReasons says what is wrong with the outputs of a unit that has a manifest.
func (r *Record) outputReasons() (reasons []Reason) {
	if p := r.Declared.Provenance; p != "" {
		reasons = change(Provenance, r.Last.Provenance, p)
	}
	for k, output := range r.Declared.Outputs {
		made, known := r.Last.output(output)
		switch {
		case !known:
			reasons = append(reasons, Reason{Kind: OutputDeclared, Subject: output, New: "new"})
		case r.have[k] == "":
			reasons = append(reasons, Reason{Kind: OutputMissing, Subject: output})
		case r.have[k] != made.SHA256:
			reasons = append(reasons, Reason{OutputEdited, output, made.SHA256, r.have[k]})
		}
	}
	for _, f := range r.Last.Outputs {
		if !slices.Contains(r.Declared.Outputs, f.Path) {
			reasons = append(reasons, Reason{Kind: OutputDeclared, Subject: f.Path, New: "no longer written"})
		}
	}
	return reasons
}
