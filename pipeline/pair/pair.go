// Package pair is a benchmark and a model to evaluate. Their profile is
// known before anything runs, or the score stage makes it; stages that need one
// declare it as an input of their units, and need not know which.
package pair

import (
	"fmt"
	"slices"

	"speceval/internal/store/profile"
	"speceval/pipeline/dag"
)

// Pair is a benchmark and a model. It is read-only.
type Pair struct {
	Benchmark, Model string
	TaskIDs          []string // in benchmark order

	known  *profile.Profile // nil if it is made
	digest string           // of what is known: most units of a plan have many profiles as inputs
	by     dag.Ref          // the unit that makes it
	file   string           // and the output that holds it and no other
}

// Known is the pair of a profile that is there.
func Known(p profile.Profile) Pair {
	return Pair{Benchmark: p.Benchmark, Model: p.Model, TaskIDs: p.TaskIDs, known: &p, digest: p.SHA256()}
}

// AllKnown are the pairs of profiles that are there.
func AllKnown(profiles []profile.Profile) []Pair {
	var all []Pair
	for _, p := range profiles {
		all = append(all, Known(p))
	}
	return all
}

// Made is the pair of a profile that a unit makes, alone in one of its outputs.
func Made(benchmark, model string, taskIDs []string, by dag.Ref, file string) Pair {
	return Pair{Benchmark: benchmark, Model: model, TaskIDs: taskIDs, by: by, file: file}
}

// N is the number of tasks.
func (p Pair) N() int { return len(p.TaskIDs) }

// Name is the name of the profile, see profile.Profile.Name.
func (p Pair) Name() string { return profile.Profile{Benchmark: p.Benchmark, Model: p.Model}.Name() }

// Siblings is the pairs of the other models on a pair's benchmark, as far as they have
// any of its tasks.
func Siblings(all []Pair, of Pair) []Pair {
	tasks := make(map[string]bool, of.N())
	for _, id := range of.TaskIDs {
		tasks[id] = true
	}
	shares := func(id string) bool { return tasks[id] }
	var siblings []Pair
	for _, p := range all {
		if p.Benchmark == of.Benchmark && p.Model != of.Model && slices.ContainsFunc(p.TaskIDs, shares) {
			siblings = append(siblings, p)
		}
	}
	return siblings
}

// Feed makes the profiles of pairs inputs of a unit.
func Feed(u *dag.Unit, pairs ...Pair) {
	u.Needs = slices.Clip(u.Needs)
	for _, p := range pairs {
		if p.known != nil {
			u.Sources = append(u.Sources, dag.Source{Name: "profile " + p.Name(), SHA256: p.digest})
		} else {
			u.Needs = append(u.Needs, p.by)
		}
	}
}

// Profiles are the profiles of pairs, for a unit that Feed has given them to.
func Profiles(job *dag.Job, pairs []Pair) (all []profile.Profile, err error) {
	for _, pair := range pairs {
		p, err := pair.Profile(job)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Profile is the pair's profile, for a unit that Feed has given it to. One that
// was made may be degenerate.
func (p Pair) Profile(job *dag.Job) (profile.Profile, error) { return p.ProfileIn(job.Input) }

// ProfileIn is the pair's profile, where in finds the files of the output folder.
func (p Pair) ProfileIn(in func(file string) (path string, err error)) (profile.Profile, error) {
	if p.known != nil {
		return *p.known, nil
	}
	path, err := in(p.file)
	if err != nil {
		return profile.Profile{}, err
	}
	all, err := profile.Read(path) // at least one
	if err != nil {
		return profile.Profile{}, err
	}
	if len(all) != 1 || all[0].Name() != p.Name() || all[0].N() != p.N() {
		return profile.Profile{}, fmt.Errorf("%s has %s of %d tasks, among %d profiles; want %s of %d alone", path, all[0].Name(), all[0].N(), len(all), p.Name(), p.N())
	}
	return all[0], nil
}
