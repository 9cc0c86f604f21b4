package dag

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// The functions here run single units by name: an executor calls them on another
// machine, without a plan.

// Find is the unit of a stage whose key begins with key, eight digits or more.
func (s *Snapshot) Find(stage, key string) (Ref, error) {
	if !slices.Contains(s.graph.names, stage) {
		return Ref{}, &UnknownStageError{Name: stage, Known: s.graph.names}
	}
	found := -1
	for i, n := range s.graph.nodes {
		if n.ref.Stage != stage || !s.hasKey(i, key) {
			continue
		}
		if found >= 0 {
			return Ref{}, fmt.Errorf("several units of %s have keys that begin with %s: give more digits", stage, key)
		}
		found = i
	}
	if found < 0 {
		return Ref{}, fmt.Errorf("no unit of %s has the key %s with this configuration and these inputs: `speceval why %s --all` lists the keys", stage, key, stage)
	}
	return s.graph.nodes[found].ref, nil
}

// hasKey reports whether the key of unit i is known and begins with key, eight digits or more.
func (s *Snapshot) hasKey(i int, key string) bool {
	parts, blocked := s.partsOf(i)
	return len(blocked) == 0 && len(key) >= 8 && strings.HasPrefix(parts.Key(), key)
}

// ChangedKeyError says that a unit is no longer the one that was asked for.
type ChangedKeyError struct {
	Unit Ref
	Want string // the key, or its first digits
}

func (e *ChangedKeyError) Error() string {
	return fmt.Sprintf("unit %s no longer has the key %s: its configuration or its inputs have changed since; `speceval plan` tells how", e.Unit, short(e.Want))
}

// Fresh returns the manifest of a unit whose key begins with key, nil if the unit is not
// fresh. The error is a *ChangedKeyError if the unit's key is another.
func (s *Snapshot) Fresh(ref Ref, key string) (*Manifest, error) {
	i, err := s.graph.node(ref)
	if err != nil {
		return nil, err
	}
	if !s.hasKey(i, key) {
		return nil, &ChangedKeyError{Unit: ref, Want: key}
	}
	if reasons, _ := s.judge(i); len(reasons) > 0 {
		return nil, nil
	}
	return s.records[i].Last, nil
}

// RunUnit runs one unit, fresh or not, and writes its outputs and manifest. A
// long unit reports its progress to advance, from any goroutine; nil discards it. It
// takes no lock of the output folder: the run that hands out units holds it.
func (s *Snapshot) RunUnit(ctx context.Context, ref Ref, origin Origin, now func() time.Time, advance func(Progress)) (*Manifest, error) {
	i, err := s.graph.node(ref)
	if err != nil {
		return nil, err
	}
	j, err := s.prepare(i, origin)
	if err != nil {
		return nil, err
	}
	j.advance = advance
	if err := j.run(ctx, now); err != nil {
		return nil, fmt.Errorf("unit %s: %w", ref, err)
	}
	return readManifest(s.dir, ref)
}

// done reports whether the unit has run since the job was made: whether a manifest with its
// key is there that was not there before.
func (j *Job) done() (bool, error) {
	m, err := readManifest(j.dir, j.ref)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || m.Key != j.made.Key {
		return false, err
	}
	before := j.before.Last
	return before == nil || m.Host != before.Host || !m.Start.Equal(before.Start), nil
}
