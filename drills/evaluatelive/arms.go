package main

import (
	"fmt"
	"strings"

	"speceval/drills/evaluated"
	"speceval/internal/policy"
)

// arm is one way to evaluate.
type arm struct {
	name   string // in tables and flags
	policy string // as the program calls it
	prior  bool   // the program gets the donor
	killed bool   // every evaluation is killed once, by SIGKILL, and resumed
}

// arms are all of them, in the order of tables. The seeds of an arm depend on its place
// here: new ones come last.
var arms = []arm{
	{name: "uniform", policy: evaluated.Uniform},
	{name: "hbn", policy: evaluated.Async},
	{name: "staged", policy: policy.Staged.Name},
	{name: "informed", policy: policy.Informed[0].Name, prior: true},
	{name: "informed-staged", policy: policy.InformedStaged[0].Name, prior: true},
	{name: "hbn-killed", policy: evaluated.Async, killed: true},
	{name: "informed-staged-killed", policy: policy.InformedStaged[0].Name, prior: true, killed: true},
}

// place is the position of an arm among all of them, -1 if there is none of that name.
func place(name string) int {
	for i, a := range arms {
		if a.name == name {
			return i
		}
	}
	return -1
}

// chosen are the arms of a list of names, separated by commas, in the order of tables.
func chosen(names string) (all []arm, err error) {
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(names, ",") {
		if place(name) < 0 {
			return nil, fmt.Errorf("-arms %s: there is no arm %q: want some of %s", names, name, allNames())
		}
		wanted[name] = true
	}
	for _, a := range arms {
		if wanted[a.name] {
			all = append(all, a)
		}
	}
	return all, nil
}

// allNames are the names of all arms, separated by commas.
func allNames() string {
	var names []string
	for _, a := range arms {
		names = append(names, a.name)
	}
	return strings.Join(names, ",")
}
