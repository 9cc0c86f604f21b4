// Command release makes a release into a folder: programs in archives, Python wheels,
// checksums, a list of parts, completions, manual pages and the schema of
// experiments.toml. The same commit gives the same bytes (docs/release.md).
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"speceval/internal/machine/version"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// must is the value of a step that has to succeed: its error ends the release.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// run carries out a command line in the root of the repository.
func run(args []string) (err error) {
	defer func() {
		if fault, ended := recover().(error); ended {
			err = fault
		}
	}()
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	to := flags.String("to", "dist", "folder that is made; one that was made before is replaced")
	only := flags.String("only", "", "this system alone, such as linux/amd64; host: this machine's")
	must(0, flags.Parse(args))
	some := slices.DeleteFunc(slices.Clone(systems), func(s system) bool {
		return *only != "" && *only != s.String() && (*only != "host" || s.String() != runtime.GOOS+"/"+runtime.GOARCH)
	})
	if len(some) == 0 || flags.NArg() > 0 {
		return fmt.Errorf("want flags alone, and --only of %v or host, have %q", systems, args)
	}
	entries, _ := os.ReadDir(*to)
	if _, err := os.Stat(filepath.Join(*to, checksums)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s has files and no %s, so it is no release that can be replaced: remove it, or name another folder with --to", *to, checksums)
	}
	files := release(some)
	must(0, os.RemoveAll(*to))
	for _, f := range files { // the checksums first: they show what is missing after a kill
		name := filepath.Join(*to, f.name)
		must(0, os.MkdirAll(filepath.Dir(name), 0o777))
		must(0, os.WriteFile(name, f.content, 0o666))
	}
	return nil
}

// system is a kind of machine.
type system struct {
	os, arch string
	wheel    []string // what Python calls it
}

func (s system) String() string { return s.os + "/" + s.arch }

// systems are the systems of a release. Programs are linked statically, so the C library
// does not matter: old installers know manylinux2014 and musllinux_1_1 as well. The Go of
// today needs macOS 12.
var systems = []system{
	{"linux", "amd64", []string{"manylinux2014_x86_64", "musllinux_1_1_x86_64"}},
	{"linux", "arm64", []string{"manylinux2014_aarch64", "musllinux_1_1_aarch64"}},
	{"darwin", "amd64", []string{"macosx_12_0_x86_64"}},
	{"darwin", "arm64", []string{"macosx_12_0_arm64"}},
}

// checksums is the file with the digests of all others that are downloaded.
const checksums = "checksums.txt"

// release is all files of a release for systems, of the repository in this folder.
func release(systems []system) []file {
	head := strings.Fields(output(nil, "git", "show", "-s", "--format=%H %ct", "HEAD"))
	commit, date := head[0], time.Unix(must(strconv.ParseInt(head[1], 10, 64)), 0).UTC()
	dirty := output(nil, "git", "status", "--porcelain") != ""
	if dirty {
		fmt.Fprintln(os.Stderr, "release: there are uncommitted changes: what is made is no commit's, and says so")
	}
	work := must(os.MkdirTemp("", "release-"))
	defer os.RemoveAll(work)
	program := filepath.Join(work, "speceval")
	build := func(variables ...string) file {
		flags := fmt.Sprintf("-s -w -X main.linkedCommit=%s -X main.linkedDirty=%t -X main.linkedDate=%s", commit, dirty, date.Format("2006-01-02"))
		// Nothing of this machine: no settings of its user, no C.
		variables = append(variables, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off")
		output(variables, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", program, "./pipeline")
		return file{"speceval", must(os.ReadFile(program)), 0o755}
	}
	var programs []file
	for _, s := range systems {
		fmt.Fprintf(os.Stderr, "release: builds for %v\n", s)
		programs = append(programs, build("GOOS="+s.os, "GOARCH="+s.arch))
	}
	build() // for this machine, whose program writes completions and manual pages
	output(nil, program, "man", filepath.Join(work, "man", "man1"))
	made := matching(work, "man/man1/*.1")
	for _, c := range [][2]string{{"bash", "speceval.bash"}, {"zsh", "_speceval"}, {"fish", "speceval.fish"}} {
		made = append(made, file{"completions/" + c[1], []byte(output(nil, program, "completion", c[0])), 0o644})
	}
	parts := partsOf(programs)
	files := append(matching(".", "experiments.schema.json"), file{"speceval-" + version.Number + ".cdx.json", cycloneDX(commit, date, parts), 0o644})
	for i, s := range systems {
		files = append(files, packed(s, programs[i], made, file{"THIRD_PARTY_LICENSES", notices(parts), 0o644}, date)...)
	}
	var sums strings.Builder
	for _, f := range below("", files) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.content), f.name)
	}
	return slices.Concat([]file{{checksums, []byte(sums.String()), 0o644}}, files, made)
}

// packed are the archive, which has what the program has made of itself, and the wheel.
func packed(s system, program file, made []file, terms file, date time.Time) []file {
	name := fmt.Sprintf("speceval-%s-%s-%s", version.Number, s.os, s.arch)
	files := matching(".", "LICENSE", "README.md", "CHANGELOG.md", "experiments*", "docs/*.md", "docs/*.svg")
	archive := tarGz(below(name, slices.Concat(files, made, []file{terms, program})), date)
	modules := matching("python/speceval", "*.py", "py.typed")
	modules = append(modules, file{"_version.py", fmt.Appendf(nil, "__version__ = %q\n", version.Number), 0o644})
	about := must(os.ReadFile("python/pyproject.toml"))
	return []file{{name + ".tar.gz", archive, 0o644}, wheel(s, program, modules, []file{files[0], terms}, about, files[1].content, date)}
}

// matching are the files below a folder that patterns find.
func matching(folder string, patterns ...string) (all []file) {
	for _, pattern := range patterns {
		for _, name := range must(fs.Glob(os.DirFS(folder), pattern)) {
			all = append(all, file{name, must(os.ReadFile(filepath.Join(folder, name))), 0o644})
		}
	}
	return all
}

// output is the standard output of a command. Variables are added to this process's
// environment.
func output(variables []string, words ...string) string {
	c := exec.Command(words[0], words[1:]...)
	c.Env, c.Stderr = append(os.Environ(), variables...), os.Stderr
	printed, err := c.Output()
	if err != nil {
		panic(fmt.Errorf("%s: %w", strings.Join(words, " "), err))
	}
	return string(printed)
}
