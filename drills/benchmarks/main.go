// Command benchmarks makes files in the forms in which the paper's benchmarks are
// published, problems of our own under the published ids, and takes them through
// everything: large ones are prepared within a bound of memory, and all eighteen
// groups are prepared, checked, answered by the simulated fleet and scored.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"speceval/data"
	drill "speceval/drills/lab"
	"speceval/internal/profile"
	"speceval/internal/upstream"
	"speceval/internal/upstream/made"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags of the drill.
type options struct {
	binary   string
	dir      string
	tests    int64 // MiB of packed tests of the large files
	memory   int64 // MB that preparing those may take
	rollouts int
	limit    time.Duration
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("drill-benchmarks", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "speceval", "bin/speceval", "the program to try")
	flags.StringVar(&o.dir, "dir", "", "new folder for everything, kept afterwards; empty: a temporary one, kept after a failure")
	flags.Int64Var(&o.tests, "tests", 2200, "MiB of tests in the large files of programs; 0: none are made")
	flags.Int64Var(&o.memory, "memory", 400, "MB that preparing those may take")
	flags.IntVar(&o.rollouts, "rollouts", 4, "of each task")
	flags.DurationVar(&o.limit, "limit", 40*time.Minute, "time after which it gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("drill-benchmarks", o.limit, stdout, func(ctx context.Context) error {
		return drill.InFolder(o.dir, stdout, func(dir string) error { return inFolder(ctx, o, dir, stdout) })
	})
}

func inFolder(ctx context.Context, o options, dir string, stdout io.Writer) error {
	l, err := newLab(o, dir, stdout)
	if err != nil {
		return err
	}
	if o.tests > 0 {
		if err := l.large(ctx); err != nil {
			return fmt.Errorf("large files: %w", err)
		}
	}
	return l.whole(ctx)
}

// lab is where the drill happens.
type lab struct {
	options
	dir    string
	groups []upstream.Group
	ids    map[string][]string // published
	stdout io.Writer
}

func newLab(o options, dir string, stdout io.Writer) (*lab, error) {
	l := &lab{options: o, dir: dir, ids: map[string][]string{}, stdout: stdout}
	profiles, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return nil, err
	}
	for _, p := range profiles {
		l.ids[p.Benchmark] = p.TaskIDs
	}
	l.groups, err = upstream.Parse(data.UpstreamSources(), data.UpstreamGroups())
	return l, err
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

// of are the groups of a source, or those of all others.
func (l *lab) of(source string, others bool) []upstream.Group {
	return slices.DeleteFunc(slices.Clone(l.groups), func(g upstream.Group) bool { return (g.Source.ID == source) == others })
}

// named are the ids of groups.
func named(groups []upstream.Group) []string {
	var ids []string
	for _, g := range groups {
		ids = append(ids, g.ID)
	}
	return ids
}

// large makes files of programs as large as the real ones and prepares them.
func (l *lab) large(ctx context.Context) error {
	from, groups := l.path("large"), l.of("livecodebench", false)
	begin := time.Now()
	if err := made.Write(from, made.Options{Groups: groups, IDs: l.ids, Seed: 1, Tests: l.tests << 20}); err != nil {
		return err
	}
	size, err := sizeOf(from)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.stdout, "%d MB of programs' tests made in %.0f s\n", size/1e6, time.Since(begin).Seconds())
	if wanted := l.tests << 20; size < wanted {
		return fmt.Errorf("%d bytes were made, want %d", size, wanted)
	}
	begin = time.Now()
	words := append([]string{"benchmarks", "--from", from, "--to", l.path("large-tasks")}, named(groups)...)
	memory, err := l.speceval(ctx, "large", words...)
	if err != nil {
		return err
	}
	seconds := time.Since(begin).Seconds()
	fmt.Fprintf(l.stdout, "prepared in %.0f s (%.0f MB/s), with %d MB of memory at most\n", seconds, float64(size)/1e6/seconds, memory/1e6)
	if memory > l.memory*1e6 {
		return fmt.Errorf("it took %d MB of memory, want at most %d", memory/1e6, l.memory)
	}
	return os.RemoveAll(from)
}

// sizeOf is the bytes of all files below a folder.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			size += info.Size()
		}
		return err
	})
	return size, err
}
