package systems

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
)

// gatherSeconds is the seconds of one core for reading a setting, as measured.
const gatherSeconds = 0.003

// gather is a unit that reads all settings.
func (s *Settings) gather(id string, outputs ...string) dag.Unit {
	return dag.Unit{ID: id, Outputs: outputs, Cost: gatherSeconds * float64(len(s.Pairs)*len(s.Budgets))}
}

// executed is the settings by the kinds of their units.
type executed map[string][]*setting

// units are the units of some kinds, with the files of their executions.
func (e executed) units(kinds ...string) (needs []dag.Ref, runs []string) {
	for _, kind := range kinds {
		for _, s := range e[kind] {
			needs, runs = append(needs, s.ref(kind)), append(runs, s.runsFile(kind))
		}
	}
	return needs, runs
}

// coefficients is the coefficients of the models in the FLOP proxy.
func (e executed) coefficients(kinds ...string) []dag.Source {
	h := sha256.New()
	for _, kind := range kinds {
		for _, s := range e[kind] {
			a, _ := s.architecture(s.pair.Model) // checked before
			fmt.Fprintln(h, a)
		}
	}
	return []dag.Source{{Name: "coefficients of the FLOP proxy", SHA256: fmt.Sprintf("%x", h.Sum(nil))}}
}

// measurementsUnit makes the stage's measurements of its runs under coupled rewards. Runs
// over HTTP on the simulated fleet take the place of those under the virtual clock: one
// provenance must not mix the two.
func (s *Settings) measurementsUnit(e executed) dag.Unit {
	u := s.gather("measurements", measurement.File, measurement.RepeatsFile)
	u.Sources = e.coefficients(simulatedKind, measuredKind)
	u.Needs, _ = e.units(simulatedKind, measuredKind)
	drawn := len(e[measuredKind]) > 0 && s.Measured.Drawn != nil
	if drawn {
		u.Config = s.Slice(drawnKey)
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		measured, err := costs(job, e[measuredKind], measuredKind)
		if err != nil {
			return err
		}
		simulated, err := costs(job, e[simulatedKind], simulatedKind)
		if err != nil {
			return err
		}
		provenance := measurement.Simulated
		if len(measured) > 0 {
			provenance = measured[0].Provenance
			for _, r := range measured {
				if r.Provenance != provenance {
					return fmt.Errorf("%s__model=%s at budget %d ran on %s replicas, others on %s ones: one experiment is either; run those of one kind again", r.Benchmark, r.Model, r.ReferenceBudget, r.Provenance, provenance)
				}
			}
			if provenance == measurement.Simulated {
				job.Note("runs over HTTP on the simulated fleet take the place of those under the virtual clock")
				simulated = nil
			}
		}
		job.Provenance(provenance)
		all := append(simulated, measured...)
		if err := writeMeasurements(job, measurement.RepeatsFile, all, drawn); err != nil {
			return err
		}
		return writeMeasurements(job, measurement.File, measurement.Means(all), drawn)
	}
	return u
}

// writeMeasurements writes rows, and whether runs on servers had drawn lengths.
func writeMeasurements[T any](job *dag.Job, output string, rows []T, drawn bool) error {
	footer := job.Footer(measurement.Schema)
	if drawn {
		footer[measurement.LengthsKey] = measurement.LengthsDrawn
	}
	return job.Write(output, len(rows), func(w io.Writer) error { return rowfile.Write(w, rows, footer) })
}

// costs reads the runs of all settings of a kind.
func costs(job *dag.Job, settings []*setting, kind string) ([]measurement.Repeat, error) {
	var all []measurement.Repeat
	for _, s := range settings {
		rows, err := dag.ReadRows[measurement.Run](job, s.runsFile(kind))
		if err != nil {
			return nil, err
		}
		architecture, err := s.architecture(s.pair.Model)
		if err != nil {
			return nil, err
		}
		for _, strategy := range policy.Strategies {
			for _, row := range rows {
				if row.Strategy == strategy.Name {
					all = append(all, row.Costs(architecture))
				}
			}
		}
	}
	return all, nil
}

// runsUnit gathers every execution of the stage, with the estimates that HBN's weights
// make of them.
func (s *Settings) runsUnit(e executed) dag.Unit {
	u := s.gather("runs", measurement.RunsFile)
	needs, runs := e.units(simulatedKind, measuredKind, scoredKind)
	u.Needs = append([]dag.Ref{plansRef}, needs...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		plans, err := dag.ReadRows[hbnPlan](job, plansFile)
		if err != nil {
			return err
		}
		weights := make(map[settingKey]float64)
		for _, p := range plans {
			weights[p.settingKey] = p.Weight
		}
		all, err := dag.ReadRows[measurement.Run](job, runs...)
		if err != nil {
			return err
		}
		provenance := measurement.Simulated
		for i := range all {
			r := &all[i]
			r.Weigh(weights[settingKey{r.Benchmark, r.Model, r.ReferenceBudget}])
			if r.Provenance == measurement.Measured {
				provenance = measurement.Measured
			}
		}
		job.Provenance(provenance)
		return dag.WriteRows(job, measurement.RunsFile, measurement.RunSchema, all)
	}
	return u
}

// benefitUnit gathers the executions of the timed policies, and of Uniform in the same
// settings.
func (s *Settings) benefitUnit(e executed) dag.Unit {
	u := s.gather("benefit", measurement.BenefitFile)
	u.Sources, u.Provenance = e.coefficients(simulatedKind), measurement.Simulated
	u.Needs, _ = e.units(simulatedKind, stagedKind)
	u.Run = func(_ context.Context, job *dag.Job) error {
		var all []measurement.Benefit
		for _, s := range e[simulatedKind] {
			architecture, err := s.architecture(s.pair.Model)
			if err != nil {
				return err
			}
			uniform, err := dag.ReadRows[measurement.Run](job, s.runsFile(simulatedKind))
			if err != nil {
				return err
			}
			for _, r := range uniform {
				if r.Strategy == policy.UniformAtBudget.Name && int(r.Repeat) < s.stagedRepeats() {
					of := measurement.Of{Policy: policy.Uniform.Name, Donors: policy.Uniform.Donors.Name, Equivalent: r.Budget}
					all = append(all, measurement.Benefit{Of: of, Repeat: r.Costs(architecture)})
				}
			}
			rows, err := dag.ReadRows[measurement.PolicyRun](job, s.runsFile(stagedKind))
			if err != nil {
				return err
			}
			for _, r := range rows {
				all = append(all, measurement.Benefit{Of: r.Of, Repeat: r.Costs(architecture)})
			}
		}
		return dag.WriteRows(job, measurement.BenefitFile, measurement.BenefitSchema, all)
	}
	return u
}
