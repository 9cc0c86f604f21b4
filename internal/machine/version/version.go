// Package version holds the version of the program, in one place: what it prints,
// archives, wheels and the list of its parts all take it from here.
package version

import (
	"fmt"
)

// Number is the version that this source is, or is going to be, without a v. It
// follows semantic versioning.
const Number = "0.9.0"

// Tag is the version as git tags and people write it.
const Tag = "v" + Number

// Build is one built program: which source, by which compiler, for which machine.
type Build struct {
	Version string `json:"version"`  // Tag
	Commit  string `json:"commit"`   // of git; "unknown" where the build does not say
	Changed bool   `json:"modified"` // whether there were uncommitted changes
	Date    string `json:"date"`     // of the commit, in UTC: 2026-11-23; "" where the build does not say
	Go      string `json:"go"`       // the compiler: "go1.26.1"
	System  string `json:"os"`       // "linux"
	Machine string `json:"arch"`     // "amd64"
}

// String is a build in one line, with twelve digits of the commit.
func (b Build) String() string {
	commit := b.Commit
	if len(commit) == 40 {
		commit = commit[:12]
	}
	if b.Changed {
		commit += " with uncommitted changes"
	}
	if b.Date != "" {
		commit += ", " + b.Date
	}
	return fmt.Sprintf("speceval %s (%s, %s, %s/%s)", b.Version, commit, b.Go, b.System, b.Machine)
}
