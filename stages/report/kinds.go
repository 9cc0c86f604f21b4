package report

import (
	"fmt"

	"speceval/internal/flops"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
)

// tableKind is a table of the report: what it is made of, and how.
type tableKind struct {
	base     string    // file name in tables/, without extension
	wants    []dag.Ref // units that it reads, as far as they have run
	runs     bool      // it reads the runs that readCosts gathers as well
	profiles bool      // it reads the profiles of all pairs
	compared bool      // the paper has it too
	sources  []dag.Source
	config   map[string]string

	provenance string // "computed" where empty

	// make makes the table of stored results. paper is nil unless the profiles
	// are the paper's.
	make func(in locate, paper *Targets) (Sheet, error)
}

// Units that the report is made of.
var (
	designsRef  = dag.Ref{Stage: "replay", Unit: "designs"}
	ratiosRef   = dag.Ref{Stage: "replay", Unit: "ratios"}
	twoStageRef = dag.Ref{Stage: "replay", Unit: "two_stage"}
	searchRef   = dag.Ref{Stage: "replay", Unit: "ts_neyman"}
	errorsRef   = dag.Ref{Stage: "replay", Unit: "profile_errors"}
	pairedRef   = dag.Ref{Stage: "replay", Unit: "differences"}
	caseRef     = dag.Ref{Stage: "replay", Unit: "case_study"}
)

// ownRef is a unit of this stage: a table or a figure by its base name, or another.
func ownRef(unit string) dag.Ref { return dag.Ref{Stage: "report", Unit: unit} }

var experimentRef = ownRef("experiment")

// verdictRefs are the units of other stages that verdicts are made from.
func (s Settings) verdictRefs() []dag.Ref {
	refs := []dag.Ref{designsRef, ratiosRef, twoStageRef, searchRef}
	if s.hasEstimates() {
		refs = append(refs, caseRef)
	}
	return refs
}

const architecturesFile = "data/architectures.csv"

// tables is the tables of the report, in the paper's order. There are no tables
// of costs where neither published runs nor a systems stage would fill them.
func (s Settings) tables() []tableKind {
	designs, ratios := []dag.Ref{designsRef}, []dag.Ref{ratiosRef}
	both := []dag.Ref{designsRef, ratiosRef}
	kinds := []tableKind{
		{base: "table1_variance", wants: both, compared: true, make: makeVariance},
	}
	if s.hasCosts() {
		kinds = append(kinds,
			tableKind{base: computeTable.base, runs: true, compared: true, make: s.makeCosts(computeTable)},
			tableKind{base: timeTable.base, runs: true, compared: true, make: s.makeCosts(timeTable)},
			tableKind{base: benefitTable.base, wants: both, runs: true, compared: true, make: s.makeCosts(benefitTable)})
	}
	kinds = append(kinds,
		tableKind{base: hbnSchedule.base, wants: designs, compared: true, make: makeSchedule(hbnSchedule)},
		tableKind{base: enSchedule.base, wants: designs, compared: true, make: makeSchedule(enSchedule)},
		tableKind{base: "table7_flop_coefficients", compared: true, provenance: "published", make: s.makeFLOPs,
			sources: []dag.Source{source(architecturesFile, s.Architectures)}},
		tableKind{base: tsTable, wants: append([]dag.Ref{searchRef}, both...), compared: true, make: makeTS},
		tableKind{base: "robustness", wants: ratios, compared: true, make: makeRobustness},
		tableKind{base: "profile_ratios", wants: ratios, make: makeProfiles},
		tableKind{base: "error_split", wants: []dag.Ref{designsRef, ratiosRef, errorsRef}, make: makeErrors},
		tableKind{base: "paired_differences", wants: []dag.Ref{ratiosRef, pairedRef}, make: makePaired},
		tableKind{base: "budget_equivalents", wants: both, make: makeEquivalents},
	)
	return append(kinds, s.liveTables()...)
}

// sheet makes a table of stored results. Where some are not there it has fewer
// rows, and notes say which stage has not run.
func (s Settings) sheet(kind tableKind, in locate) (Sheet, error) {
	paper, err := s.paper()
	if err != nil {
		return Sheet{}, err
	}
	var lacking []string
	sheet, err := kind.make(in.noting(&lacking), paper)
	for _, stage := range lacking {
		sheet.Print.Notes = append(sheet.Print.Notes, fmt.Sprintf("Not all is here: the %s stage has not run.", stage))
	}
	return sheet, err
}

func makeVariance(in locate, paper *Targets) (Sheet, error) {
	res, err := readResults(in)
	if err != nil {
		return Sheet{}, err
	}
	return varianceTable(res, paper)
}

func (s Settings) makeCosts(kind costKind) func(locate, *Targets) (Sheet, error) {
	return func(in locate, paper *Targets) (Sheet, error) {
		costs, err := readCosts(in, s)
		if err != nil {
			return Sheet{}, err
		}
		if kind.replayed() {
			if costs.Results, err = readResults(in); err != nil {
				return Sheet{}, err
			}
		}
		return costTable(kind, costs, paper)
	}
}

func makeSchedule(kind scheduleKind) func(locate, *Targets) (Sheet, error) {
	return func(in locate, paper *Targets) (Sheet, error) {
		designs, err := readDesigns(in)
		return scheduleTable(kind, designs, paper), err
	}
}

func (s Settings) makeFLOPs(_ locate, paper *Targets) (Sheet, error) {
	archs, err := flops.Parse(s.Architectures, architecturesFile)
	return flopTable(archs, paper), err
}

func makeTS(in locate, paper *Targets) (Sheet, error) {
	res, err := readResults(in)
	if err != nil {
		return Sheet{}, err
	}
	search, err := readSearch(in)
	if err != nil {
		return Sheet{}, err
	}
	return searchTable(res, search, paper)
}

func makeRobustness(in locate, paper *Targets) (Sheet, error) {
	ratios, err := readRatios(in, variance.RatiosFile)
	return robustnessTable(ratios, paper), err
}

func makeProfiles(in locate, _ *Targets) (Sheet, error) {
	ratios, err := readRatios(in, variance.RatiosFile)
	return profileTable(ratios), err
}

func makeErrors(in locate, _ *Targets) (Sheet, error) {
	res, err := readResults(in)
	if err != nil {
		return Sheet{}, err
	}
	errors, err := readErrors(in)
	if err != nil {
		return Sheet{}, err
	}
	return errorTable(res, errors)
}

func makePaired(in locate, _ *Targets) (Sheet, error) {
	ratios, err := readRatios(in, variance.RatiosFile)
	if err != nil {
		return Sheet{}, err
	}
	stored, err := readDifferences(in)
	if err != nil {
		return Sheet{}, err
	}
	return pairedTable(ratios, stored)
}

func makeEquivalents(in locate, _ *Targets) (Sheet, error) {
	res, err := readResults(in)
	if err != nil {
		return Sheet{}, err
	}
	return equivalentTable(res)
}
