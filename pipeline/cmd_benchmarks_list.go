package main

import (
	"fmt"
	"slices"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/table"
	"speceval/internal/upstream"
	"speceval/pipeline/experiment"
)

// listedGroup is a benchmark as the list shows it.
type listedGroup struct {
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
}

func runBenchmarksList(s *session, words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	groups, err := experiment.PaperGroups()
	if err != nil {
		return err
	}
	definitions, err := benchmark.Parse(data.Benchmarks(), data.BenchmarksName)
	if err != nil {
		return err
	}
	var all []listedGroup
	for _, g := range groups {
		i := slices.IndexFunc(definitions, func(d benchmark.Definition) bool { return d.ID == g.ID })
		if i < 0 {
			return fmt.Errorf("%s has no benchmark %s", data.BenchmarksName, g.ID)
		}
		d, source := definitions[i], g.Source
		all = append(all, listedGroup{
			Benchmark: g.ID, Title: d.Title, Tasks: d.NTasks, Scorer: d.Family, Dataset: source.Dataset, Revision: source.Revision,
			Files: source.Files, Format: source.Format, Gated: source.Gated, Licence: source.Licence, Selection: string(g.Selection),
		})
	}
	if s.json {
		return writeJSON(s.stdout, all)
	}
	return s.printGroups(all, groups)
}

func (s *session) printGroups(all []listedGroup, groups []upstream.Group) error {
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
			table.Text(g.Benchmark), table.Integer(g.Tasks), table.Text(g.Scorer), table.Text(g.Dataset), table.Text(groups[i].Which()),
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
	if err := table.WriteText(s.stdout, benchmarks); err != nil {
		return err
	}
	fmt.Fprintln(s.stdout)
	return table.WriteText(s.stdout, sources)
}
