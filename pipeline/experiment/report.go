package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"speceval/data"
	"speceval/internal/profile"
	"speceval/internal/store/files"
	"speceval/internal/table"
	"speceval/internal/typeset"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/report/stored"
)

// reportSettings returns the settings of the report stage, without its TeX engine.
func reportSettings(cfg *config.Config, c profileStages, runs dag.Stage) (stored.Settings, error) {
	live, err := liveResults(cfg, c, runs)
	return stored.Settings{
		Live:          live,
		Published:     c.published,
		Budgets:       cfg.Experiment.Budgets,
		Pairs:         c.pairs,
		LeftOut:       c.leftOut,
		CaseStudy:     stored.CaseStudy{Profile: cfg.Replay.CaseStudy.Profile, Budget: cfg.Replay.CaseStudy.Budget},
		Targets:       data.PaperTargets(),
		Architectures: data.Architectures(),
		Measurements:  data.Measurements(),
		Systems:       runs.Satisfied == "",
		Staged:        hasUnit(runs, stored.BenefitRef.Unit),
		Memory:        new(stored.Memory),
	}, err
}

// liveResults is what the experiment measures of its own, by the units that its
// stages have.
func liveResults(cfg *config.Config, c profileStages, runs dag.Stage) (stored.Live, error) {
	onServers := cfg.Systems.Engine == config.EngineVLLM
	live := stored.Live{
		Timed:     onServers && hasUnit(runs, "runs"),
		Predicted: onServers && hasUnit(runs, "predictions"),
		Scored:    slices.Max(append(slices.Clone(cfg.Systems.ScoredRepeats), 0)) > 0 && hasUnit(runs, "runs"),
		Rollouts:  map[string]stored.Rollouts{},
	}
	for _, p := range c.pairs {
		id := p.Benchmark + "/" + p.Model
		if i := slices.IndexFunc(c.generate.Units, func(u dag.Unit) bool { return u.ID == id }); i >= 0 {
			live.Rollouts[p.Name()] = stored.Rollouts{By: dag.Ref{Stage: c.generate.Name, Unit: id}, Files: c.generate.Units[i].Outputs}
		}
	}
	if cfg.Report.Second == "" {
		return live, nil
	}
	names := map[string]bool{}
	for _, p := range c.pairs {
		names[p.Name()] = true
	}
	var err error
	if live.Second, err = readSecond(cfg.Report.Second, names); err != nil {
		return live, fmt.Errorf("report.second: %w", err)
	}
	return live, nil
}

// readSecond reads the profiles of a second generation from a CSV or Parquet file,
// for the pairs of an experiment by their names. A file that is not there has none.
// Profiles of another benchmark or model are an error that names them.
func readSecond(path string, names map[string]bool) (*stored.Second, error) {
	s := &stored.Second{Path: path}
	data, err := files.ReadInput(path, files.Profiles)
	if errors.Is(err, fs.ErrNotExist) {
		s.Source = stored.SourceOf("second generation: not there", nil)
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s.Source = stored.SourceOf("second generation", data)
	if s.Profiles, err = profile.Parse(data, path); err != nil {
		return nil, err
	}
	for _, p := range s.Profiles {
		if !names[p.Name()] {
			return nil, fmt.Errorf("%s has a profile of %s, which this experiment does not evaluate: name the file of a second generation of its own benchmarks and models", path, p.Name())
		}
	}
	return s, nil
}

func hasUnit(s dag.Stage, id string) bool {
	return slices.ContainsFunc(s.Units, func(u dag.Unit) bool { return u.ID == id })
}

// pdfFile is the report as it is printed, in the output folder.
const pdfFile = "report.pdf"

// texEngine is the TeX engine that sets the report in the folder out, nil where
// there is none or none is wanted, with what the user should know of it.
func texEngine(cfg *config.Config, out string, look func(string) (string, error), environment []string) (*typeset.Engine, []string) {
	old := ""
	if _, err := os.Stat(filepath.Join(out, pdfFile)); err == nil {
		old = fmt.Sprintf("the %s in %s is of an earlier run", pdfFile, out)
	}
	if cfg.Report.PDF == config.PDFNever {
		return nil, slices.DeleteFunc([]string{old}, func(note string) bool { return note == "" })
	}
	engine, err := typeset.Find(context.Background(), look, environment)
	var lack *typeset.NoEngineError
	if errors.As(err, &lack) {
		note := fmt.Sprintf("report.tex is written without %s, since %v; or set it elsewhere (cd %s && pdflatex report.tex, twice)", pdfFile, lack, out)
		return nil, []string{strings.TrimSuffix(note+"; "+old, "; ")}
	}
	return engine, nil
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

// PaperBenchmarks are all benchmarks of the paper, those of one source following
// one another.
func PaperBenchmarks() ([]PaperBenchmark, error) {
	groups, err := PaperGroups()
	if err != nil {
		return nil, err
	}
	ids, err := PaperIDs()
	if err != nil {
		return nil, err
	}
	var all []PaperBenchmark
	for _, g := range groups {
		source := g.Source
		all = append(all, PaperBenchmark{
			Benchmark: g.ID, Title: g.Title, Tasks: len(ids[g.ID]), Scorer: g.Scorer(), Dataset: source.Dataset, Revision: source.Revision,
			Files: source.Files, Format: strings.TrimPrefix(path.Ext(source.Files[0]), "."), Gated: source.Gated, Licence: source.Licence, Selection: string(g.Selection), which: g.Which(),
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
