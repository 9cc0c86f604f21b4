package experiment

import (
	"fmt"
	"io"
	"slices"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/table"
)

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

// PaperBenchmarks are all benchmarks of the paper, those of one source following
// one another.
func PaperBenchmarks() ([]PaperBenchmark, error) {
	groups, err := PaperGroups()
	if err != nil {
		return nil, err
	}
	definitions, err := benchmark.Parse(data.Benchmarks(), data.BenchmarksName)
	if err != nil {
		return nil, err
	}
	var all []PaperBenchmark
	for _, g := range groups {
		i := slices.IndexFunc(definitions, func(d benchmark.Definition) bool { return d.ID == g.ID })
		if i < 0 {
			return nil, fmt.Errorf("%s has no benchmark %s", data.BenchmarksName, g.ID)
		}
		d, source := definitions[i], g.Source
		all = append(all, PaperBenchmark{
			Benchmark: g.ID, Title: d.Title, Tasks: d.NTasks, Scorer: d.Family, Dataset: source.Dataset, Revision: source.Revision,
			Files: source.Files, Format: source.Format, Gated: source.Gated, Licence: source.Licence, Selection: string(g.Selection), which: g.Which(),
		})
	}
	return all, nil
}

// WriteBenchmarks writes a table of benchmarks and one of their sources.
func WriteBenchmarks(w io.Writer, all []PaperBenchmark) error {
	left := func(name string) table.Column { return table.Column{Name: name, Align: table.Left} }
	benchmarks := table.Table{
		Title:   "Benchmarks",
		Columns: []table.Column{left("benchmark"), {Name: "tasks"}, left("scorer"), left("dataset"), left("which tasks")},
	}
	sources := table.Table{
		Title:   "Their sources",
		Columns: []table.Column{left("dataset"), left("revision"), left("files"), left("licence"), left("gated")},
	}
	tasks := 0
	for i, g := range all {
		tasks += g.Tasks
		benchmarks.Rows = append(benchmarks.Rows, []table.Cell{
			table.Text(g.Benchmark), table.Integer(g.Tasks), table.Text(g.Scorer), table.Text(g.Dataset), table.Text(g.which),
		})
		if i > 0 && all[i-1].Dataset == g.Dataset {
			continue
		}
		files, gated := g.Files[0], ""
		if n := len(g.Files); n > 1 {
			files += fmt.Sprintf(" and %d more", n-1)
		}
		if g.Gated {
			gated = "accept its terms"
		}
		sources.Rows = append(sources.Rows, []table.Cell{
			table.Text(g.Dataset), table.Text(g.Revision), table.Text(files), table.Text(g.Licence), table.Text(gated),
		})
	}
	benchmarks.Notes = []string{fmt.Sprintf("%d tasks in all", tasks)}
	if err := table.WriteText(w, benchmarks); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return table.WriteText(w, sources)
}
