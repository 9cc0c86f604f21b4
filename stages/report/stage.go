package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"speceval/internal/profile"
	"speceval/internal/table"
	"speceval/internal/typeset"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// version is the stage's code version: raise it when the same inputs give
// other tables.
const version = 2

// Settings is what the stage needs to know of the experiment.
type Settings struct {
	// Published says that the profiles are the paper's own; tables then carry
	// its numbers beside the obtained ones.
	Published bool
	Budgets   []int       // rollouts per task
	Pairs     []pair.Pair // what is evaluated, in canonical order

	// LeftOut are profiles of the corpus that are known to have no variance, and
	// so are not evaluated.
	LeftOut []profile.Profile

	CaseStudy CaseStudy // what Figure 2 shows

	// Systems says that the experiment has a systems stage, whose runs
	// Tables 2 to 4 then have beside the published ones.
	Systems bool

	Live Live // what was measured here, beside what was predicted

	Targets       []byte // the paper's numbers, as ParseTargets reads them
	Architectures []byte // CSV, as flops.Parse reads it
	Measurements  []byte // the published runs, as measurement.Parse reads them

	Configuration map[string]string // that the document shows: key to canonical value
	TeX           *typeset.Engine   // that sets the document; nil: there is none, or none is wanted
}

// Stage is the report: a unit for each table and each figure, one for the
// numbers that a text quotes, one for the facts of the experiment that verdicts
// need, and those of the document.
func Stage(settings Settings) dag.Stage {
	units := []dag.Unit{experimentUnit(settings)}
	for _, kind := range settings.tables() {
		units = append(units, tableUnit(settings, kind))
	}
	for _, kind := range settings.figures() {
		units = append(units, figureUnit(settings, kind))
	}
	if unit := settings.lengthsUnit(); unit != nil {
		units = append(units, *unit)
	}
	return dag.Stage{
		Name:    "report",
		About:   "tables, figures, documents and verdicts from stored results",
		Version: version,
		Units:   append(append(units, numbersUnit(settings)), settings.documentUnits()...),
	}
}

// tableUnit is the unit of a table.
func tableUnit(s Settings, kind tableKind) dag.Unit {
	u := dag.Unit{
		ID:         kind.base,
		Wants:      kind.wants,
		Outputs:    []string{"tables/" + kind.base + ".csv", "tables/" + kind.base + ".tex"},
		Provenance: "computed",
		Sources:    kind.sources,
	}
	if kind.provenance != "" {
		u.Provenance = kind.provenance
	}
	if kind.compared {
		u.Config = map[string]string{"report.paper_columns": strconv.FormatBool(s.Published)}
		if s.Published {
			u.Sources = append(u.Sources, source("data/paper_targets.toml", s.Targets))
		}
	}
	if kind.runs {
		s.addRuns(&u)
	}
	s.addProfiles(&u, kind.profiles)
	if kind.config != nil {
		u.Config = kind.config
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		sheet, err := s.sheet(kind, job.Input)
		if err != nil {
			return err
		}
		return writeSheet(job, sheet)
	}
	return u
}

// numbersUnit is the unit of the numbers that a text quotes.
func numbersUnit(s Settings) dag.Unit {
	u := dag.Unit{
		ID: "numbers", Needs: []dag.Ref{experimentRef}, Wants: append([]dag.Ref{designsRef, ratiosRef, searchRef}, s.caseWants()...), Config: s.caseConfig(),
		Outputs: []string{numbersFile}, Provenance: "computed",
		Run: func(_ context.Context, job *dag.Job) error {
			macros, err := allNumbers(job.Input, s)
			if err != nil {
				return err
			}
			return job.Write(numbersFile, -1, func(w io.Writer) error {
				return writeMacros(w, origin(job), macros)
			})
		},
	}
	s.addRuns(&u)
	return u
}

// allNumbers is the macros of the variance study, and of Tables 2 to 4 where
// the experiment has them.
func allNumbers(in locate, s Settings) ([]macro, error) {
	res, err := readResults(in)
	if err != nil {
		return nil, err
	}
	macros, err := numbers(res)
	if err != nil {
		return nil, err
	}
	more, err := otherNumbers(in, s, res)
	macros = append(macros, more...)
	if err != nil || !s.hasCosts() {
		return macros, err
	}
	costs, err := readCosts(in, s)
	if err != nil {
		return nil, err
	}
	costs.Results = res
	more, err = costNumbers(costs)
	return append(macros, more...), err
}

// otherNumbers is the macros of the corpus, of TS-Neyman and of the case study.
func otherNumbers(in locate, s Settings, res Results) ([]macro, error) {
	path, err := in(experimentFile)
	if err != nil {
		return nil, err
	}
	facts, err := readExperiment(path)
	if err != nil {
		return nil, err
	}
	search, err := readSearch(in)
	if err != nil {
		return nil, err
	}
	means, err := hbnMeans(res)
	if err != nil {
		return nil, err
	}
	study, err := s.readCase(in)
	return slices.Concat(experimentNumbers(facts), tsNumbers(search, means), caseNumbers(study)), err
}

// experimentUnit is the unit that stores the facts of the experiment.
func experimentUnit(s Settings) dag.Unit {
	u := dag.Unit{
		ID: "experiment",
		Config: map[string]string{
			"experiment.budgets":   fmt.Sprint(s.Budgets),
			"report.paper_columns": strconv.FormatBool(s.Published),
		},
		Outputs:    []string{experimentFile},
		Provenance: "computed",
	}
	maps.Copy(u.Config, s.caseConfig())
	if compared := s.compared(); len(compared) > 0 {
		u.Config["report.compared"] = fmt.Sprint(compared)
	}
	for _, p := range s.Pairs {
		p.Feed(&u)
	}
	for _, p := range s.LeftOut {
		u.Sources = append(u.Sources, dag.Source{Name: "profile " + p.Name(), SHA256: p.SHA256()})
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		facts, err := newExperiment(s, job)
		if err != nil {
			return err
		}
		return job.Write(experimentFile, -1, facts.write)
	}
	return u
}

// paper is the paper's numbers, nil unless the profiles are the paper's.
func (s Settings) paper() (*Targets, error) {
	if !s.Published {
		return nil, nil
	}
	t, err := ParseTargets(s.Targets)
	return &t, err
}

// source is an input from outside the output folder, by its content.
func source(name string, data []byte) dag.Source {
	sum := sha256.Sum256(data)
	return dag.Source{Name: name, SHA256: hex.EncodeToString(sum[:])}
}

// writeSheet writes both forms of a table. The first line of the LaTeX says
// where it comes from; CSV has no comments.
func writeSheet(job *dag.Job, s Sheet) error {
	err := job.Write("tables/"+s.Base+".csv", len(s.Data.Rows), func(w io.Writer) error {
		return table.CSV(w, s.Data)
	})
	if err != nil {
		return err
	}
	return job.Write("tables/"+s.Base+".tex", -1, func(w io.Writer) error {
		return table.LaTeX(w, s.Print, origin(job))
	})
}

// origin is the first comment of a LaTeX file: where it comes from.
func origin(job *dag.Job) string {
	return fmt.Sprintf("command: %s; commit: %s; key: %s", job.Command(), job.Commit(), job.Key())
}
