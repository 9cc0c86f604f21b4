package docs

import (
	"encoding/csv"
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

// use finds the words on a column, among those of its own file or else of many, and
// marks them as used.
func use(said []documented, own int, column string, used map[string]bool) bool {
	if useOf(said, own, column, used) {
		return true
	}
	for at, d := range said {
		if len(d.patterns) == 0 && useOf(said, at, column, used) {
			return true
		}
	}
	return false
}

func useOf(said []documented, at int, column string, used map[string]bool) bool {
	for _, pattern := range said[at].columns {
		if ok, _ := path.Match(pattern, column); ok {
			used[fmt.Sprint(at, " ", pattern)] = true
			return true
		}
	}
	return false
}

// schemas prints the columns of Parquet files as JSON.
const schemas = `import json, sys, pyarrow.parquet as pq
print(json.dumps({name: pq.read_schema(name).names for name in sys.stdin.read().split("\n") if name}))
`

// columnsOf reads the columns of every file below folders of outputs, by the path
// within its folder. Of two files of one path the columns are put together.
func (s *scratch) columnsOf(folders []string) (map[string][]string, error) {
	all := map[string][]string{}
	var parquet []string
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			var columns []string
			switch filepath.Ext(name) {
			case ".parquet":
				parquet = append(parquet, name)
			case ".csv":
				columns, err = header(name)
			case ".json":
				columns, err = keys(name)
			case ".jsonl":
				columns, err = lineKeys(name)
			}
			all[within(folder, name)] = merged(all[within(folder, name)], columns)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	c := exec.Command(s.Python, "-c", schemas)
	c.Stdin = strings.NewReader(strings.Join(parquet, "\n"))
	output, err := c.Output()
	if err != nil {
		return nil, err
	}
	var found map[string][]string
	if err := json.Unmarshal(output, &found); err != nil {
		return nil, err
	}
	for _, folder := range folders {
		for name, columns := range found {
			if strings.HasPrefix(name, folder+string(filepath.Separator)) {
				all[within(folder, name)] = merged(all[within(folder, name)], columns)
			}
		}
	}
	return all, nil
}

// within is the path of a file relative to its folder, with slashes.
func within(folder, name string) string {
	return filepath.ToSlash(strings.TrimPrefix(name, folder+string(filepath.Separator)))
}

func merged(a, b []string) []string {
	for _, column := range b {
		if !slices.Contains(a, column) {
			a = append(a, column)
		}
	}
	return a
}

// header is the first record of a CSV file.
func header(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return csv.NewReader(f).Read()
}

// keys are those of the object in a JSON file.
func keys(name string) ([]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return slices.Sorted(maps.Keys(object)), nil
}

// lineKeys are those of all objects in a file of a line each.
func lineKeys(name string) (all []string, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = merged(all, slices.Sorted(maps.Keys(object)))
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
