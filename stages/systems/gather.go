package systems

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/pipeline/dag"
)

// gathering makes the stage's measurements of its runs.
type gathering struct {
	simulated, measured []*setting
	scored              []*setting
}

// Gathered is the unit that writes measurement.File and measurement.RepeatsFile.
var Gathered = dag.Ref{Stage: name, Unit: "measurements"}

// Runs is the unit that writes measurement.RunsFile.
var Runs = dag.Ref{Stage: name, Unit: "runs"}

func (g gathering) unit() dag.Unit {
	u := dag.Unit{
		ID:      Gathered.Unit,
		Sources: []dag.Source{{Name: "coefficients of the FLOP proxy", SHA256: g.coefficients()}},
		Outputs: []string{measurement.File, measurement.RepeatsFile},
		Run:     g.run,
	}
	if g.drawn() {
		u.Config = g.measured[0].Slice(drawnKey)
	}
	for _, s := range g.simulated {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: simulatedKind + "/" + s.id()})
	}
	for _, s := range g.measured {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: measuredKind + "/" + s.id()})
	}
	return u
}

// coefficients is the digest of what the FLOP proxy knows of the models.
func (g gathering) coefficients() string {
	h := sha256.New()
	for _, s := range slices.Concat(g.simulated, g.measured) {
		a, _ := s.architecture(s.pair.Model) // checked before
		fmt.Fprintln(h, a)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// run is the unit. Runs over HTTP on the simulated fleet take the place of those
// under the virtual clock: one provenance must not mix the two.
func (g gathering) run(_ context.Context, job *dag.Job) error {
	measured, err := gathered(job, g.measured, measuredKind)
	if err != nil {
		return err
	}
	simulated, err := gathered(job, g.simulated, simulatedKind)
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
	if err := writeMeasurements(job, measurement.RepeatsFile, all, g.drawn()); err != nil {
		return err
	}
	return writeMeasurements(job, measurement.File, measurement.Means(all), g.drawn())
}

// gathered reads the runs of all settings of a kind.
func gathered(job *dag.Job, settings []*setting, kind string) ([]measurement.Repeat, error) {
	var all []measurement.Repeat
	for _, s := range settings {
		rows, err := readRows[measurement.Run](job, s.runsFile(kind))
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

// runsUnit gathers every execution of the stage.
func (g gathering) runsUnit() dag.Unit {
	u := dag.Unit{ID: Runs.Unit, Needs: []dag.Ref{plansRef}, Outputs: []string{measurement.RunsFile}}
	kinds := []struct {
		kind     string
		settings []*setting
	}{{simulatedKind, g.simulated}, {measuredKind, g.measured}, {scoredKind, g.scored}}
	for _, k := range kinds {
		for _, s := range k.settings {
			u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: k.kind + "/" + s.id()})
		}
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		weights, err := stageWeights(job)
		if err != nil {
			return err
		}
		var all []measurement.Run
		for _, k := range kinds {
			for _, s := range k.settings {
				rows, err := readRows[measurement.Run](job, s.runsFile(k.kind))
				if err != nil {
					return err
				}
				for i := range rows {
					r := &rows[i]
					r.Weigh(weights[settingKey{r.Benchmark, r.Model, r.ReferenceBudget}])
				}
				all = append(all, rows...)
			}
		}
		job.Provenance(provenanceOf(all))
		return writeRows(job, measurement.RunsFile, measurement.RunSchema, all)
	}
	return u
}

// settingKey names a setting in rows of files.
type settingKey struct {
	benchmark, model string
	budget           int32
}

// stageWeights are those of HBN's designs, by setting.
func stageWeights(job *dag.Job) (map[settingKey]float64, error) {
	rows, err := readRows[planRow](job, plansFile)
	weights := make(map[settingKey]float64)
	for _, r := range rows {
		weights[settingKey{r.Benchmark, r.Model, r.Budget}] = r.Weight
	}
	return weights, err
}

// provenanceOf is what a file of runs says of itself: measured if any is.
func provenanceOf(runs []measurement.Run) string {
	for _, r := range runs {
		if r.Provenance == measurement.Measured {
			return measurement.Measured
		}
	}
	return measurement.Simulated
}
