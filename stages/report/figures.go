package report

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"speceval/internal/figure"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
)

// figureKind is a figure of the report: what it is made of, and how.
type figureKind struct {
	base   string    // file name in figures/, without extension
	wants  []dag.Ref // units that it reads, as far as they have run
	config map[string]string

	profiles bool // it reads the profiles of all pairs

	// make makes the figure of stored results.
	make func(in locate) (figure.Figure, error)
}

// figures is the figures of the report, in the paper's order. There is none of
// the case study where its profile is not evaluated: NoCaseStudy says so.
func (s Settings) figures() []figureKind {
	kinds := []figureKind{{base: "figure1_pair_distribution", wants: []dag.Ref{ratiosRef}, make: makePairs}}
	if s.hasCase() {
		kinds = append(kinds, figureKind{
			base: "figure2_case_study", wants: append([]dag.Ref{ratiosRef}, s.caseWants()...),
			config: s.caseConfig(), make: s.makeCase,
		})
	}
	if len(s.Live.Rollouts) > 0 {
		kinds = append(kinds, figureKind{base: spreadFigure, wants: []dag.Ref{lengthsRef}, profiles: true, make: s.drawSpread})
	}
	return kinds
}

// figureUnit is the unit of a figure, in all its forms.
func figureUnit(s Settings, kind figureKind) dag.Unit {
	path := "figures/" + kind.base
	u := dag.Unit{
		ID: kind.base, Wants: kind.wants, Config: kind.config, Provenance: "computed",
		Outputs: []string{path + ".csv", path + ".pdf", path + ".svg"},
	}
	s.addProfiles(&u, kind.profiles)
	u.Run = func(_ context.Context, job *dag.Job) error {
		f, err := kind.make(job.Input)
		if err != nil {
			return err
		}
		if err := job.Write(path+".csv", len(f.Data.Rows), func(w io.Writer) error { return figure.CSV(w, f) }); err != nil {
			return err
		}
		if err := job.Write(path+".pdf", -1, func(w io.Writer) error { return figure.PDF(w, f) }); err != nil {
			return err
		}
		return job.Write(path+".svg", -1, func(w io.Writer) error { return figure.SVG(w, f) })
	}
	return u
}

func makePairs(in locate) (figure.Figure, error) {
	ratios, err := readRatios(in, variance.RatiosFile)
	if err != nil {
		return figure.Figure{}, err
	}
	if path, err := in.there(variance.RatiosFile); path == "" {
		return pairsFrame(figure.Panel{Instead: notReplayed}), err
	}
	return pairFigure(ratios)
}

func (s Settings) makeCase(in locate) (figure.Figure, error) {
	study, err := s.readCase(in)
	if err != nil {
		return figure.Figure{}, err
	}
	return caseFigure(study)
}

// caseConfig is the part of the configuration that the case study's units read.
func (s Settings) caseConfig() map[string]string {
	return map[string]string{
		"replay.case_study.profile": strconv.Quote(s.CaseStudy.Profile),
		"replay.case_study.budget":  fmt.Sprint(s.CaseStudy.Budget),
	}
}
