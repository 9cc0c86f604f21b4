package replay

import (
	"context"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// CaseStudy is the profile that is looked at closely (paper, Appendix C.2).
type CaseStudy struct {
	Profile     string // its name; there is no study where it is not among the pairs
	Budget      int    // rollouts per task of the sampling distributions
	Repetitions int    // simulated evaluations of each policy, at least 2
}

// Keys of the configuration that the case study reads.
const (
	keyCaseProfile     = "replay.case_study.profile"
	keyCaseBudget      = "replay.case_study.budget"
	keyCaseRepetitions = "replay.case_study.repetitions"
)

// caseUnits are those of the case study, none where its profile is not
// evaluated or its budget not replayed.
func (b *builder) caseUnits() []dag.Unit {
	at := slices.IndexFunc(b.pairs, func(p pair.Pair) bool { return p.Name() == b.CaseStudy.Profile })
	if at < 0 || !slices.Contains(b.Budgets, b.CaseStudy.Budget) {
		return nil
	}
	return []dag.Unit{b.caseUnit(b.pairs[at])}
}

// caseUnit simulates evaluations of one profile at one budget. There are no
// estimates of a profile that turns out to be degenerate.
func (b *builder) caseUnit(of pair.Pair) dag.Unit {
	u := dag.Unit{
		ID: "case_study", Needs: []dag.Ref{twoStageRef},
		Config:  b.Slice(keySeed, keyOrder, keyCaseProfile, keyCaseBudget, keyCaseRepetitions),
		Outputs: []string{variance.EstimatesFile}, Provenance: "computed", Cost: caseSeconds * float64(b.CaseStudy.Repetitions) / paperCase,
	}
	of.Feed(&u)
	at := b.seeded(&u)
	u.Run = func(ctx context.Context, job *dag.Job) error {
		var rows []variance.Estimates
		p, ratios, prior, err := b.underDesigns(job, of)
		i := slices.IndexFunc(ratios, func(r variance.Ratio) bool {
			return r.Policy == policy.HBN.Name && int(r.Budget) == b.CaseStudy.Budget
		})
		if err == nil && i >= 0 {
			rows, err = caseStudy(ctx, p, ratios[i], prior, b.CaseStudy.Repetitions, at)
		}
		if err != nil {
			return err
		}
		return writeRows(job, variance.EstimatesFile, "case_study.v1", rows)
	}
	return u
}
