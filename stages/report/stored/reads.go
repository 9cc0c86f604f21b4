package stored

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"

	"speceval/internal/paper"
	"speceval/pipeline/dag"
)

// Units that the report is made of.
var (
	DesignsRef  = dag.Ref{Stage: "replay", Unit: "designs"}
	RatiosRef   = dag.Ref{Stage: "replay", Unit: "ratios"}
	TwoStageRef = dag.Ref{Stage: "replay", Unit: "two_stage"}
	SearchRef   = dag.Ref{Stage: "replay", Unit: "ts_neyman"}
	ErrorsRef   = dag.Ref{Stage: "replay", Unit: "profile_errors"}
	PairedRef   = dag.Ref{Stage: "replay", Unit: "differences"}
	CaseRef     = dag.Ref{Stage: "replay", Unit: "case_study"}

	RunsRef        = dag.Ref{Stage: "systems", Unit: "runs"}
	PredictionsRef = dag.Ref{Stage: "systems", Unit: "predictions"}
	BenefitRef     = dag.Ref{Stage: "systems", Unit: "benefit"}
	CostsRef       = dag.Ref{Stage: "systems", Unit: "measurements"}

	ExperimentRef = Own("experiment")
	LengthsRef    = Own("lengths")
)

// Own is a unit of the report: a table or a figure by its base name, or another.
func Own(unit string) dag.Ref { return dag.Ref{Stage: "report", Unit: unit} }

// Reads is the stored results that something is made of, beside the settings.
type Reads struct {
	Units    []dag.Ref // read as far as they have run
	Runs     bool      // the timed runs, as Source.Costs gathers them
	Profiles bool      // the profiles of all pairs
	Case     bool      // the case study
	Second   bool      // the second generation

	Architectures bool // the constants of the FLOP proxy
	Paper         bool // the paper's numbers, where the profiles are the paper's
}

// Feed makes what is read inputs of a unit.
func (r Reads) Feed(u *dag.Unit, s *Settings) {
	u.Wants = append(u.Wants, r.Units...)
	if r.Architectures {
		u.Sources = append(u.Sources, SourceOf(ArchitecturesFile, s.Architectures))
	}
	if r.Paper {
		configure(u, map[string]string{"report.paper_columns": strconv.FormatBool(s.Published)})
		if s.Published {
			u.Sources = append(u.Sources, SourceOf(paper.File, s.Targets))
		}
	}
	if r.Case {
		s.feedCase(u)
	}
	if r.Runs {
		s.feedRuns(u)
	}
	if second := s.Live.Second; r.Second && second != nil {
		u.Sources = append(u.Sources, second.Source)
		if len(second.Profiles) == 0 { // the tables say where it should be
			configure(u, map[string]string{"report.second": second.Path})
		}
	}
	if r.Profiles {
		for _, p := range s.Pairs {
			p.Feed(u)
		}
	}
}

// feedCase makes the case study an input of a unit, but for the ratios.
func (s *Settings) feedCase(u *dag.Unit) {
	if s.HasCase() {
		u.Wants = append(u.Wants, ExperimentRef)
	}
	if s.HasEstimates() {
		u.Wants = append(u.Wants, CaseRef)
	}
	configure(u, s.CaseConfig())
}

// CaseConfig is the part of the configuration that the case study depends on.
func (s *Settings) CaseConfig() map[string]string {
	return map[string]string{
		"replay.case_study.profile": strconv.Quote(s.CaseStudy.Profile),
		"replay.case_study.budget":  fmt.Sprint(s.CaseStudy.Budget),
	}
}

// feedRuns makes the timed runs inputs of a unit.
func (s *Settings) feedRuns(u *dag.Unit) {
	if s.Published {
		configure(u, map[string]string{"experiment.budgets": fmt.Sprint(s.Budgets)})
		u.Sources = append(u.Sources, SourceOf(MeasurementsFile, s.Measurements))
	}
	if s.Systems {
		u.Wants = append(u.Wants, CostsRef)
	}
}

func configure(u *dag.Unit, keys map[string]string) {
	if u.Config == nil {
		u.Config = map[string]string{}
	}
	maps.Copy(u.Config, keys)
}

// SourceOf is an input from outside the output folder, by its content.
func SourceOf(name string, data []byte) dag.Source {
	sum := sha256.Sum256(data)
	return dag.Source{Name: name, SHA256: hex.EncodeToString(sum[:])}
}
