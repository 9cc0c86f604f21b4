// Package timed holds what the systems stage has left of timed runs to what it
// must be, by its files alone: exact counts, the same rollouts whatever the
// strategy and the clock, barriers, windows.
package timed

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

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

// Run is an execution, as a runs file has it. Times are in seconds since its
// first dispatch.
type Run struct {
	Strategy   string `parquet:"strategy"`
	Repeat     int32  `parquet:"repeat"`
	Provenance string `parquet:"provenance"`
	NTasks     int32  `parquet:"n_tasks"`
	Budget     int32  `parquet:"budget"` // accepted per task
	Pilots     int32  `parquet:"pilots"`
	Started    string `parquet:"started"`

	Time      float64 `parquet:"time_seconds"`
	Pilot     float64 `parquet:"pilot_seconds"`
	Allocated float64 `parquet:"allocated_seconds"`
	Released  float64 `parquet:"released_seconds"`
	Handling  float64 `parquet:"handling_seconds"`

	Accepted   int32  `parquet:"accepted_rollouts"`
	Prefetched int32  `parquet:"prefetched"`
	Discarded  int32  `parquet:"completed_discarded"`
	Aborted    int32  `parquet:"aborted_running"`
	Cancelled  int32  `parquet:"cancelled_queued"`
	Races      int32  `parquet:"races"`
	Updates    int32  `parquet:"updates"`
	Allocation string `parquet:"allocation_sha256"`
}

// Request is a request of a run, as a requests file has it.
type Request struct {
	Strategy string `parquet:"strategy"`
	Repeat   int32  `parquet:"repeat"`
	ID       string `parquet:"id"`
	Task     string `parquet:"task"`
	Phase    string `parquet:"phase"`
	Ordinal  int32  `parquet:"ordinal"`
	Replica  int32  `parquet:"replica"`

	Submitted   float64  `parquet:"submitted"`
	Started     *float64 `parquet:"started"`
	Finished    float64  `parquet:"finished"`
	RewardReady *float64 `parquet:"reward_ready"`

	Prompt        int32  `parquet:"prompt_tokens"`
	Tokens        int32  `parquet:"completion_tokens"`
	AbortedTokens *int32 `parquet:"aborted_tokens"`
	State         string `parquet:"state"`
	Passed        *bool  `parquet:"passed"`
	Prefetched    bool   `parquet:"prefetched"`
}

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
	Simulated = "simulated"
	Measured  = "measured"
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
