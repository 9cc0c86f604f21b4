package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cluster "speceval/drills/lab"
)

// slurmPage is the page whose commands take a Slurm cluster, and slurmFolder is
// where it starts one of its own.
const (
	slurmPage   = "docs/slurm.md"
	slurmFolder = "/tmp/slurm"
)

// quick are the changes that make experiments-slurm.toml wait for less.
var quick = []change{{`kind = "slurm"`, "kind = \"slurm\"\npoll_seconds = 0.5\nsettle_seconds = 2\nelement_minutes = 1"}}

// inJobs is the shipped experiment on Slurm, made as small as another one is. It
// has an output folder of its own, so that nothing is fresh there.
func inJobs(shipped, small string) (string, error) {
	executor, err := changed(shipped, quick)
	if err != nil {
		return "", err
	}
	return changed(small, []change{
		{`(?ms)^\[executor\]$.*?^\[report\]$`, executor + "\n[report]"},
		key("out", `"out-slurm"`),
	})
}

// startSlurm starts a cluster that the outputs are made on, and the commands of
// pages run on. Without Slurm on this machine there is none.
func (l *lab) startSlurm(ctx context.Context) (stop func(), err error) {
	if l.noSlurm = cluster.ClusterInstalled(l.whole); l.noSlurm != nil {
		return func() {}, nil
	}
	if l.short, err = os.MkdirTemp("", "speceval-slurm-"); err != nil { // names of sockets must be short
		return nil, err
	}
	if l.slurm, err = cluster.StartCluster(ctx, l.whole, filepath.Join(l.short, "own")); err != nil {
		return nil, err
	}
	return func() {
		l.slurm.Stop()
		os.RemoveAll(l.short)
	}, nil
}

// without says what becomes of the page on Slurm where there is none. Its commands
// must name what there is all the same.
func (l *lab) without(known *facts, p page) []error {
	fmt.Fprintf(l.stdout, "%s: not run: %v\n", p.name, l.noSlurm)
	if l.required {
		return []error{fmt.Errorf("%s: not run: %w", p.name, l.noSlurm)}
	}
	commands, err := p.commands()
	if err != nil {
		return []error{err}
	}
	var faults []error
	for _, c := range commands {
		faults = append(faults, known.faults(c)...)
	}
	return faults
}

// pageCluster is the folder of the cluster that a page starts.
func (l *lab) pageCluster() string { return filepath.Join(l.short, "page") }

// leaveCluster ends what a page has started and, after a fault, not stopped.
func (l *lab) leaveCluster(dir string) error {
	if _, err := os.Stat(l.pageCluster()); l.slurm == nil || err != nil {
		return nil
	}
	return l.run(context.Background(), dir, "drills/cluster/cluster.sh stop "+slurmFolder)
}

// runsUnit finds a unit that a command runs by its key.
var runsUnit = regexp.MustCompile(`\b(unit ([a-z]+)) [0-9a-f]{8,64}\b`)

// withKey is a command with a key that is there, in the place of one that a page
// shows: keys change with the versions of stages.
func withKey(dir, text string) (string, error) {
	match := runsUnit.FindStringSubmatch(text)
	if match == nil {
		return text, nil
	}
	key, err := someUnit(filepath.Join(dir, "out", "manifests", match[2]))
	return runsUnit.ReplaceAllString(text, "$1 "+key), err
}

// someUnit is the key of a unit that has a manifest in a folder.
func someUnit(folder string) (key string, err error) {
	var manifest struct{ Key string }
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || manifest.Key != "" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &manifest)
	})
	if err == nil && manifest.Key == "" {
		err = fmt.Errorf("%s has no manifest", folder)
	}
	return manifest.Key, err
}

// unmadeHere is what the page on outputs says of files that the drill does not
// make on this machine.
func (l *lab) unmadeHere(said []documented) map[string]string {
	all := maps.Clone(unmade)
	if l.noSlurm == nil {
		return all
	}
	inJobs := func(pattern string) bool { return strings.HasPrefix(pattern, "slurm/") }
	for _, d := range said {
		alone := len(d.patterns) > 0 && !slices.ContainsFunc(d.patterns, func(p string) bool { return !inJobs(p) })
		for _, what := range slices.Concat(d.patterns, d.columns) {
			if alone || inJobs(what) || slices.Contains(ofJobs, what) {
				all[what] = l.noSlurm.Error()
			}
		}
	}
	return all
}
