// Package timed holds what the systems stage has left of timed runs to what it
// must be, by its files alone: exact counts, the same rollouts whatever the
// strategy and the clock, barriers, windows.
package timed

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
)

// Setting is a profile at an average budget, as it was run.
type Setting struct {
	Profile    profile.Profile
	Digest     string // that the profile's coupled rewards follow from
	Seed       uint64 // master seed
	Budget     int    // b
	Allocation string // digest of HBN's final allocation, as `speceval allocations` prints it
}

// Name is the setting, for people.
func (s Setting) Name() string { return fmt.Sprintf("%s at %d", s.Profile.Name(), s.Budget) }

// Run is an execution, and Request a request of it, as their files have them.
type (
	Run     = measurement.Run
	Request = measurement.Request
)

// States of requests.
const (
	accepted  = "accepted"
	discarded = "completed_discarded"
	aborted   = "aborted_running"
	cancelled = "cancelled_queued"
)

// pilot and continuation are the phases of rollouts.
const (
	pilot        = "pilot"
	continuation = "continuation"
)

// Kinds of runs: under the virtual clock, or on servers.
const (
	Simulated = measurement.Simulated
	Measured  = measurement.Measured
)

// Results are the runs of a setting and their requests.
type Results struct {
	Setting
	Runs     []Run
	requests map[key][]Request // in the order of submission
}

// key names a run in its setting.
type key struct {
	strategy string
	repeat   int32
}

// Read reads the results of a kind in an output folder. The error is
// fs.ErrNotExist if there are none.
func Read(out, kind string, s Setting) (*Results, error) {
	file := func(what string) string {
		return filepath.Join(out, "systems", what, kind, "benchmark="+s.Profile.Benchmark, "model="+s.Profile.Model, fmt.Sprintf("budget=%d.parquet", s.Budget))
	}
	runs, _, err := rowfile.ReadFile[Run](file("runs"))
	if err != nil {
		return nil, err
	}
	requests, _, err := rowfile.ReadFile[Request](file("requests"))
	if err != nil {
		return nil, err
	}
	r := &Results{Setting: s, Runs: runs, requests: map[key][]Request{}}
	for _, q := range requests {
		k := key{q.Strategy, q.Repeat}
		r.requests[k] = append(r.requests[k], q)
	}
	return r, nil
}

// Requests are those of one of the runs.
func (r *Results) Requests(run Run) []Request { return r.requests[key{run.Strategy, run.Repeat}] }

// ReadAll reads the results of every setting. Where there are none of a setting
// it is an error, or with optional they are left out.
func ReadAll(out, kind string, settings []Setting, optional bool) ([]*Results, error) {
	var all []*Results
	for _, s := range settings {
		r, err := Read(out, kind, s)
		if optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s runs of %s: %w", kind, s.Name(), err)
		}
		all = append(all, r)
	}
	return all, nil
}
