package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/benchmark/upstream"
	"speceval/internal/store/group"
	"speceval/internal/terminal/table"
	"speceval/pipeline/config"
)

// PaperGroups are the paper's benchmarks with these ids, or all of them: those
// of one source follow one another. An error is an id that there is not.
func PaperGroups(ids ...string) ([]upstream.Group, error) {
	all := upstream.Groups()
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(g upstream.Group) bool { return g.ID == id }) {
			return nil, fmt.Errorf("there is no benchmark %q: `speceval benchmarks list` shows them", id)
		}
	}
	return slices.DeleteFunc(all, func(g upstream.Group) bool { return ids != nil && !slices.Contains(ids, g.ID) }), nil
}

// PaperIDs are the ids of the tasks of every published benchmark, in order. All models have the
// same.
func PaperIDs() map[string][]string {
	ids := map[string][]string{}
	for _, p := range PublishedProfiles() {
		ids[p.Benchmark] = p.TaskIDs
	}
	return ids
}

// AskedIn says in whose words the tasks of a group are asked, by the digest of
// their prompts.
func AskedIn(g upstream.Group, promptsSHA256 string) string {
	if promptsSHA256 == g.PromptsSHA256 {
		return "asked in upstream's words, with the published digest"
	}
	return "asked in other words than upstream's"
}

// CheckTasks reads all of a task file, with its tests, and reports what is wrong.
// A file that the configuration names is of the benchmark that it is named for.
// The tasks of a benchmark of the paper are held against the published ids,
// unless unpublished. content is a line about the tasks: how many there are, in all and for each
// scorer, the most first, and how the paper's are asked.
func CheckTasks(cfg *config.Config, file string, unpublished bool) (tasks []benchmark.Task, content string, err error) {
	prompts, err := Prompts(cfg)
	if err != nil {
		return nil, "", err
	}
	reader := benchmark.Reader{Prompts: prompts}
	for _, b := range cfg.Benchmarks {
		if filepath.Clean(taskPath(cfg, b)) == filepath.Clean(file) {
			reader.Benchmark = b.ID
		}
	}
	if tasks, err = reader.Read(file); err != nil {
		return nil, "", err
	}
	id := tasks[0].Benchmark
	faults := []error{usable(cmp.Or(reader.Benchmark, id), file, tasks)}
	var ids, each []string
	for _, t := range tasks {
		_, err := benchmark.ReadTests(file, t, "")
		faults, ids = append(faults, err), append(ids, t.ID)
	}
	scorer := func(t benchmark.Task) string {
		if judgedBlind(t) {
			return t.Scorer + " without an answer"
		}
		return t.Scorer
	}
	groups := group.By(tasks, scorer)
	slices.SortStableFunc(groups, func(a, b []benchmark.Task) int { return len(b) - len(a) })
	for _, g := range groups {
		each = append(each, fmt.Sprintf("%d %s", len(g), scorer(g[0])))
	}
	content = fmt.Sprintf("%d tasks of %s: %s", len(tasks), id, strings.Join(each, ", "))
	if want, ofPaper := PaperIDs()[id]; ofPaper && !unpublished {
		if err := upstream.Compare(ids, want, nil); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w (--unpublished checks it without those)", file, err))
		}
		groups, _ := PaperGroups(id)
		content += "; the published ids in order; " + AskedIn(groups[0], benchmark.PromptDigest(tasks))
	}
	return tasks, content, errors.Join(faults...)
}

// PaperBenchmark is a benchmark of the paper and where its tasks come from.
type PaperBenchmark struct {
	Benchmark string   `json:"benchmark"`
	Title     string   `json:"title"`
	Tasks     int      `json:"tasks"`
	Scorer    string   `json:"scorer"`
	Dataset   string   `json:"dataset"`
	Revision  string   `json:"revision"`
	Files     []string `json:"files"`
	Format    string   `json:"format"`
	Gated     bool     `json:"gated"`
	Licence   string   `json:"licence"`
	Selection string   `json:"selection"`

	which string // the selection, for people
}

// PaperList is benchmarks of the paper, those of one source following one another.
type PaperList []PaperBenchmark

// PaperBenchmarks are all of them.
func PaperBenchmarks() (all PaperList) {
	ids := PaperIDs()
	for _, g := range upstream.Groups() {
		all = append(all, PaperBenchmark{
			Benchmark: g.ID, Title: g.Title, Tasks: len(ids[g.ID]), Scorer: g.Scorer(),
			Dataset: g.Source.Dataset, Revision: g.Source.Revision, Files: g.Source.Files, Format: strings.TrimPrefix(path.Ext(g.Source.Files[0]), "."),
			Gated: g.Source.Gated, Licence: g.Source.Licence, Selection: string(g.Selection), which: g.Which(),
		})
	}
	return all
}

// Text writes a table of the benchmarks.
func (l PaperList) Text(w io.Writer) error {
	grid, tasks := table.Grid{Heads: []string{"<benchmark", "tasks", "<scorer", "<dataset", "<terms", "<which tasks"}}, 0
	for _, b := range l {
		tasks += b.Tasks
		terms := "open"
		if b.Gated {
			terms = "accept them first"
		}
		grid.Add(b.Benchmark, strconv.Itoa(b.Tasks), b.Scorer, b.Dataset, terms, b.which)
	}
	grid.Notes = []string{fmt.Sprintf("%d tasks in all; --json has revisions, files and licences", tasks)}
	return grid.Write(w)
}
