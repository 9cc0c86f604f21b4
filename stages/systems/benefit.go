package systems

import (
	"context"

	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/pipeline/dag"
)

// Benefit is the unit that writes measurement.BenefitFile.
var Benefit = dag.Ref{Stage: name, Unit: "benefit"}

// benefitUnit gathers the executions of the timed policies, and of Uniform in the same
// settings.
func (g gathering) benefitUnit() dag.Unit {
	u := dag.Unit{
		ID:         Benefit.Unit,
		Sources:    []dag.Source{{Name: "coefficients of the FLOP proxy", SHA256: gathering{simulated: g.simulated}.coefficients()}},
		Outputs:    []string{measurement.BenefitFile},
		Provenance: measurement.Simulated,
		Run:        g.gatherBenefit,
	}
	for _, s := range g.simulated {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: simulatedKind + "/" + s.id()}, dag.Ref{Stage: name, Unit: stagedKind + "/" + s.id()})
	}
	return u
}

func (g gathering) gatherBenefit(_ context.Context, job *dag.Job) error {
	var all []measurement.Benefit
	for _, s := range g.simulated {
		architecture, err := s.architecture(s.pair.Model)
		if err != nil {
			return err
		}
		uniform, err := readRows[measurement.Run](job, s.runsFile(simulatedKind))
		if err != nil {
			return err
		}
		for _, r := range uniform {
			if r.Strategy == policy.UniformAtBudget.Name && int(r.Repeat) < s.stagedRepeats() {
				of := measurement.Of{Policy: policy.Uniform.Name, Donors: policy.Uniform.Donors.Name, Equivalent: r.Budget}
				all = append(all, measurement.Benefit{Of: of, Repeat: r.Costs(architecture)})
			}
		}
		rows, err := readRows[measurement.PolicyRun](job, s.runsFile(stagedKind))
		if err != nil {
			return err
		}
		for _, r := range rows {
			all = append(all, measurement.Benefit{Of: r.Of, Repeat: r.Costs(architecture)})
		}
	}
	return writeRows(job, measurement.BenefitFile, measurement.BenefitSchema, all)
}
