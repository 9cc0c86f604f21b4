package docs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// outputsPage documents the outputs.
const outputsPage = "docs/outputs.md"

// unmade is what the page says of files that the drill does not make, each with
// its reason.
var unmade = map[string]string{
	"report.pdf": "takes a TeX engine",
	"paper_*":    "takes all of the paper's profiles, a minute more",

	"logs/*/*/replica-*.log": "takes servers that are started",
	"slurm/*/element-*/…":    "takes servers that are started",
	"error":                  "takes a failure",
	"final":                  "takes a failure",
}

// ofJobs are columns that only files have that are about jobs.
var ofJobs = []string{"job", "submitted", "queue_seconds", "attempt", "ran_on", "progress"}

// documented is what the page says of some files: their columns, or of files
// without any nothing more than that they are there.
type documented struct {
	patterns []string // of paths; none: columns that any file may have
	columns  []string // with *, of many
	bare     bool     // columns are not looked at
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	titled   = regexp.MustCompile(`^### (.*)$`)
)

// parseOutputs reads the headings of the third level, which name files, and the
// tables below them, which name columns; and every table whose first column is
// headed "file".
func parseOutputs(text string) []documented {
	var all []documented
	inFiles := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		switch {
		case titled.MatchString(line):
			all = append(all, documented{patterns: spans(line)})
		case strings.HasPrefix(line, "| file |"):
			inFiles = true
			all = append(all, documented{bare: true})
		case strings.HasPrefix(line, "| column |"):
			inFiles = false
		case !strings.HasPrefix(line, "| "):
		case inFiles:
			all[len(all)-1].patterns = append(all[len(all)-1].patterns, spans(cell)...)
		case len(all) > 0:
			all[len(all)-1].columns = append(all[len(all)-1].columns, spans(cell)...)
		}
	}
	return all
}

// spans are the texts between backticks.
func spans(text string) []string {
	var all []string
	for _, match := range codeSpan.FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

// fits tells whether a path is one of a pattern: * is any name or part of one, and
// … everything below a folder.
func fits(pattern, name string) bool {
	if folder, deep := strings.CutSuffix(pattern, "/…"); deep {
		names := strings.Split(name, "/")
		above := min(strings.Count(folder, "/")+1, len(names)-1)
		pattern, name = folder, strings.Join(names[:above], "/")
	}
	ok, _ := path.Match(pattern, name)
	return ok
}

// compareOutputs compares what a page says with files that were made: their
// columns by path; nil for files without. What is unmade need not be there.
func compareOutputs(said []documented, made map[string][]string, unmade map[string]string) (faults []error) {
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		at := slices.IndexFunc(said, func(d documented) bool { return matching(d, name) != "" })
		if at < 0 {
			faults = append(faults, fmt.Errorf("%s says nothing of %s", outputsPage, name))
			continue
		}
		used[fmt.Sprint(at, " ", matching(said[at], name))] = true
		if said[at].bare {
			continue
		}
		for _, column := range made[name] {
			if !use(said, at, column, used) {
				faults = append(faults, fmt.Errorf("%s says nothing of the column %s of %s", outputsPage, column, name))
			}
		}
	}
	for at, d := range said {
		for _, what := range slices.Concat(d.patterns, d.columns) {
			if !used[fmt.Sprint(at, " ", what)] && unmade[what] == "" {
				faults = append(faults, fmt.Errorf("%s: no file that was made is or has %s (%s)", outputsPage, what, strings.Join(d.patterns, ", ")))
			}
		}
	}
	return faults
}

// matching is the pattern of d that a path fits, "" if none does.
func matching(d documented, name string) string {
	for _, pattern := range d.patterns {
		if fits(pattern, name) {
			return pattern
		}
	}
	return ""
}

// use finds a column among those of its own file or else of many, and marks it as used.
func use(said []documented, own int, column string, used map[string]bool) bool {
	sections := []int{own}
	for at, d := range said {
		if len(d.patterns) == 0 {
			sections = append(sections, at)
		}
	}
	for _, at := range sections {
		for _, pattern := range said[at].columns {
			if ok, _ := path.Match(pattern, column); ok {
				used[fmt.Sprint(at, " ", pattern)] = true
				return true
			}
		}
	}
	return false
}

// columns prints the columns of files as JSON: none of other files than tables.
const columns = `import csv, json, sys, pyarrow.parquet as pq
def columns(name):
    if name.endswith(".parquet"): return pq.read_schema(name).names
    if name.endswith(".csv"): return next(csv.reader(open(name)))
    if name.endswith(".json"): return list(json.load(open(name)).keys())
    if name.endswith(".jsonl"): return list({key: 0 for line in open(name) for key in json.loads(line).keys()})
print(json.dumps({name: columns(name) or [] for name in sys.stdin.read().split("\n")}))
`

// columnsOf reads the columns of every file below folders of outputs, by the path
// within its folder. Columns of two files with one path are joined.
func (s *scratch) columnsOf(folders []string) (map[string][]string, error) {
	within := map[string]string{}
	for _, folder := range folders {
		err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				within[filepath.Join(folder, filepath.FromSlash(name))] = name
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	c := exec.Command(s.Python, "-c", columns)
	c.Stdin = strings.NewReader(strings.Join(slices.Sorted(maps.Keys(within)), "\n"))
	var problems strings.Builder
	c.Stderr = &problems
	output, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, problems.String())
	}
	var found map[string][]string
	if err := json.Unmarshal(output, &found); err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for path, columns := range found {
		all[within[path]] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(all[within[path]], columns))))
	}
	return all, nil
}

// outputFaults compares the page on the outputs with those that were made.
func (s *scratch) outputFaults() []error {
	text, err := os.ReadFile(filepath.Join(s.root, outputsPage))
	if err != nil {
		return []error{err}
	}
	var folders []string
	for _, name := range []string{"out", "out-small", "out-jobs"} {
		if _, err := os.Stat(filepath.Join(s.whole, name)); err == nil {
			folders = append(folders, filepath.Join(s.whole, name))
		}
	}
	made, err := s.columnsOf(folders)
	if err != nil {
		return []error{err}
	}
	said := parseOutputs(string(text))
	return compareOutputs(said, made, s.unmadeHere(said))
}
