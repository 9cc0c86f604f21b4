package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"speceval/internal/flops"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// version is the stage's code version: raise it when the same inputs give
// other tables.
const version = 1

// Settings is what the stage needs to know of the experiment.
type Settings struct {
	// Published says that the profiles are the paper's own; tables then carry
	// its numbers beside the obtained ones.
	Published bool
	Budgets   []int       // rollouts per task
	Pairs     []pair.Pair // what is evaluated, in canonical order

	// Systems says that the experiment has a systems stage, whose runs
	// Tables 2 to 4 then have beside the published ones.
	Systems bool

	Targets       []byte // the paper's numbers, as ParseTargets reads them
	Architectures []byte // CSV, as flops.Parse reads it
	Measurements  []byte // the published runs, as measurement.Parse reads them
}

// Stage is the report: a unit for each table, and one for the facts of the
// experiment that verdicts need. There are no tables of costs where neither
// published runs nor a systems stage would fill them.
func Stage(settings Settings) dag.Stage {
	designs := dag.Ref{Stage: "replay", Unit: "designs"}
	ratios := dag.Ref{Stage: "replay", Unit: "ratios"}
	units := []dag.Unit{
		experimentUnit(settings),
		tableUnit(settings, "table1_variance", []dag.Ref{designs, ratios}, buildVariance),
	}
	if settings.hasCosts() {
		units = append(units,
			costUnit(settings, computeTable),
			costUnit(settings, timeTable),
			costUnit(settings, benefitTable, designs, ratios))
	}
	return dag.Stage{
		Name:    "report",
		About:   "tables and verdicts from stored results",
		Version: version,
		Units: append(units,
			tableUnit(settings, "table5_hbn_schedule", []dag.Ref{designs}, buildSchedule(hbnSchedule)),
			tableUnit(settings, "table6_en_schedule", []dag.Ref{designs}, buildSchedule(enSchedule)),
			flopUnit(settings),
			tableUnit(settings, "robustness", []dag.Ref{ratios}, buildRobustness),
			profilesUnit(settings, ratios),
			numbersUnit(settings, designs, ratios),
		),
	}
}

// build makes a table of stored results. paper is nil unless the profiles are
// the paper's.
type build func(in locate, paper *Targets) (Sheet, error)

// tableUnit is the unit of a table made from stored results.
func tableUnit(s Settings, base string, needs []dag.Ref, make build) dag.Unit {
	u := dag.Unit{
		ID:         base,
		Config:     map[string]string{"report.paper_columns": strconv.FormatBool(s.Published)},
		Needs:      needs,
		Outputs:    []string{"tables/" + base + ".csv", "tables/" + base + ".tex"},
		Provenance: "computed",
	}
	if s.Published {
		u.Sources = []dag.Source{source("data/paper_targets.toml", s.Targets)}
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		paper, err := s.paper()
		if err != nil {
			return err
		}
		sheet, err := make(job.Input, paper)
		if err != nil {
			return err
		}
		return writeSheet(job, sheet)
	}
	return u
}

// flopUnit is the unit of Table 7, which comes from model configurations and
// not from stored results.
func flopUnit(s Settings) dag.Unit {
	u := tableUnit(s, "table7_flop_coefficients", nil, func(_ locate, paper *Targets) (Sheet, error) {
		archs, err := flops.Parse(s.Architectures, architecturesFile)
		return FLOPTable(archs, paper), err
	})
	u.Sources = append(u.Sources, source(architecturesFile, s.Architectures))
	u.Provenance = "published"
	return u
}

// profilesUnit is the unit of the per-profile ratios, of which the paper
// prints none.
func profilesUnit(s Settings, ratios dag.Ref) dag.Unit {
	u := tableUnit(s, "profile_ratios", []dag.Ref{ratios}, buildProfiles)
	u.Config, u.Sources = nil, nil
	return u
}

// numbersUnit is the unit of the numbers that a text quotes.
func numbersUnit(s Settings, needs ...dag.Ref) dag.Unit {
	u := dag.Unit{
		ID: "numbers", Needs: needs, Outputs: []string{numbersFile}, Provenance: "computed",
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
	if err != nil || !s.hasCosts() {
		return macros, err
	}
	costs, err := readCosts(in, s)
	if err != nil {
		return nil, err
	}
	costs.Results = res
	more, err := costNumbers(costs)
	return append(macros, more...), err
}

const architecturesFile = "data/architectures.csv"

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
	for _, p := range s.Pairs {
		p.Feed(&u)
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

func buildVariance(in locate, paper *Targets) (Sheet, error) {
	res, err := readResults(in)
	if err != nil {
		return Sheet{}, err
	}
	return VarianceTable(res, paper)
}

func buildSchedule(kind scheduleKind) build {
	return func(in locate, paper *Targets) (Sheet, error) {
		designs, err := readDesigns(in)
		return scheduleTable(kind, designs, paper), err
	}
}

func buildRobustness(in locate, paper *Targets) (Sheet, error) {
	ratios, err := readRatios(in, variance.RatiosFile)
	return RobustnessTable(ratios, paper), err
}

func buildProfiles(in locate, _ *Targets) (Sheet, error) {
	ratios, err := readRatios(in, variance.RatiosFile)
	return ProfileTable(ratios), err
}
