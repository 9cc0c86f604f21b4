package replay

import (
	"context"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// stagesID is the unit that replays the policies in stages with some donors on a
// profile.
func stagesID(known *policy.Donors, p pair.Pair) string {
	return "stages/" + known.Name + "/" + p.Name()
}

// stagesDifferences is where it keeps the differences to HBN.
func stagesDifferences(known *policy.Donors, p pair.Pair) string {
	return partFile("differences/" + known.Name + "/" + p.Name())
}

// knowing is the donors that policies in stages have.
func (b *builder) knowing() []*policy.Donors {
	return slices.DeleteFunc(slices.Clone(policy.AllDonors), func(d *policy.Donors) bool { return len(b.inStages(d)) == 0 })
}

// stagesUnits are those of all donors and profiles.
func (b *builder) stagesUnits() []dag.Unit {
	var units []dag.Unit
	for _, known := range b.knowing() {
		for _, p := range b.pairs {
			units = append(units, b.stagesUnit(known, p))
		}
	}
	return units
}

// stagesRefs are these units, for those that gather what they write.
func (b *builder) stagesRefs() []dag.Ref {
	var refs []dag.Ref
	for _, known := range b.knowing() {
		for _, p := range b.pairs {
			refs = append(refs, dag.Ref{Stage: name, Unit: stagesID(known, p)})
		}
	}
	return refs
}

// stagesUnit replays the policies in stages that have some donors on one profile. A
// profile without siblings has none to be informed by: it is replayed without, and
// a note says so.
func (b *builder) stagesUnit(known *policy.Donors, of pair.Pair) dag.Unit {
	id := stagesID(known, of)
	u := b.unit(id, b.Slice(keySeed, keyBudgets, keyDraws, keyOrder))
	u.Cost = b.ofDraws(stagesSeconds) * float64(of.N()) / 100
	draws, _ := drawsOf(known, b.Draws)
	u.Cost *= float64(draws) / float64(b.Draws)
	u.Outputs = append(u.Outputs, stagesDifferences(known, of))
	u.Needs = []dag.Ref{designsRef}
	b.feed(&u, known, of)
	at := b.seeded(&u)
	u.Run = func(ctx context.Context, job *dag.Job) error {
		p, err := of.Profile(job)
		if err != nil {
			return err
		}
		var ratios []variance.Ratio
		var differences []variance.Difference
		if p.VarianceSum() > 0 {
			if ratios, differences, err = b.replayStages(ctx, job, known, of, p, at); err != nil {
				return err
			}
		}
		if err := writeRows(job, partFile(id), "ratios.v2", ratios); err != nil {
			return err
		}
		return writeRows(job, stagesDifferences(known, of), "differences.v2", differences)
	}
	return u
}

// feed makes a profile and those of its donors inputs of a unit.
func (b *builder) feed(u *dag.Unit, known *policy.Donors, of pair.Pair) {
	of.Feed(u)
	if known.Siblings {
		for _, p := range pair.Siblings(b.pairs, of) {
			p.Feed(u)
		}
	}
}

// replayStages is the work of the unit.
func (b *builder) replayStages(ctx context.Context, job *dag.Job, known *policy.Donors, of pair.Pair, p profile.Profile, at seed.Seed) ([]variance.Ratio, []variance.Difference, error) {
	sources, err := b.sources(job, of, known)
	if err != nil {
		return nil, nil, err
	}
	prior, err := neyman.NewPrior(b.QuadratureOrder)
	if err != nil {
		return nil, nil, err
	}
	selected, err := selectedDesigns(job, p.N())
	if err != nil {
		return nil, nil, err
	}
	s := &stagesReplay{profile: p, ps: probabilities(p), total: p.VarianceSum(), sources: sources, known: known, prior: prior, at: at}
	s.hbn = designsFor(selected, policy.HBN)
	for _, policy := range b.inStages(known) {
		for _, d := range designsFor(selected, policy) {
			if d.For(p.Benchmark, p.Model) {
				s.runs = append(s.runs, &stagesRun{policy: policy, design: d})
			}
		}
	}
	if err := s.replay(ctx, b.Draws, b.pilots(of)); err != nil {
		return nil, nil, err
	}
	var ratios []variance.Ratio
	var differences []variance.Difference
	for _, r := range s.runs {
		ratio, difference := r.rows(p)
		ratios = append(ratios, ratio)
		if difference != nil {
			differences = append(differences, *difference)
		}
	}
	return ratios, differences, nil
}

// stagesResampleID is the unit that redraws a profile for the policies in stages with
// some donors.
func stagesResampleID(known *policy.Donors, p pair.Pair) string {
	return "resample/" + known.Name + "/" + p.Name()
}

// counted is the donors whose policies have errors that come from the profiles: those
// that are not drawn anew.
func (b *builder) counted() []*policy.Donors {
	return slices.DeleteFunc(b.knowing(), func(d *policy.Donors) bool { return d.Rollouts > 0 })
}

// stagesResampleUnit finds the errors of one profile's ratios that come from it.
func (b *builder) stagesResampleUnit(known *policy.Donors, of pair.Pair) dag.Unit {
	id := stagesResampleID(known, of)
	u := b.unit(id, b.Slice(keySeed, keyResamples, keyResampleDraws))
	u.Cost = stagesResampleSeconds * float64(b.Resamples*b.ResampleDraws) / paperResamples
	u.Needs = []dag.Ref{{Stage: name, Unit: stagesID(known, of)}}
	b.feed(&u, known, of)
	at := b.seeded(&u)
	u.Run = func(ctx context.Context, job *dag.Job) error {
		ratios, err := readRows[variance.Ratio](job, partFile(stagesID(known, of)))
		if err != nil {
			return err
		}
		var rows []variance.ProfileError
		if len(ratios) > 0 {
			if rows, err = b.resampleStages(ctx, job, known, of, ratios, at); err != nil {
				return err
			}
		}
		return writeRows(job, partFile(id), "profile_errors.v2", rows)
	}
	return u
}

// designsFor is the designs of one policy.
func designsFor(all []variance.Design, of *policy.Policy) []variance.Design {
	return slices.DeleteFunc(slices.Clone(all), func(d variance.Design) bool { return d.Key() != of.Key() })
}

// crossed is a table with a row for every redrawn profile and a column for every
// pilot draw: each profile meets the same draws. The value of a cell is a
// common mean, an effect of its row, one of its column, and a rest, all
// uncorrelated, whatever the law of the value (the two-way analysis of variance
// with random effects). What is wanted is the spread of row effects, which no
// column effect can blur.
type crossed struct {
	rows, columns []float64 // sums
	square        float64   // sum of all squares
}

func newCrossed(rows, columns int) *crossed {
	return &crossed{rows: make([]float64, rows), columns: make([]float64, columns)}
}

// set gives a cell its value.
func (c *crossed) set(row, column int, value float64) {
	c.rows[row] += value
	c.columns[column] += value
	c.square += value * value
}

// squares are the mean squares between rows, between columns and of the rest.
// Their expectations, with the variances of the effects and R rows and D
// columns, are rest + D·row, rest + R·column and rest.
func (c *crossed) squares() (row, column, rest float64) {
	r, d := float64(len(c.rows)), float64(len(c.columns))
	mean := total(c.rows) / (r * d)
	between := func(sums []float64, each float64) float64 {
		sum := 0.0
		for _, x := range sums {
			away := x/each - mean
			sum += each * away * away
		}
		return sum
	}
	rows, columns := between(c.rows, d), between(c.columns, r)
	all := c.square - r*d*mean*mean
	return rows / (r - 1), columns / (d - 1), max(0, all-rows-columns) / ((r - 1) * (d - 1))
}

// pooled sums tables of one kind, with equally many columns, that have neither
// rows nor columns in common.
type pooled struct {
	rows, degrees float64
	sum           float64 // of the rows' means
	between, rest float64 // variance of a row's mean, and its part from the rest, by degrees of freedom
	error, least  float64 // variance of sum, and the part that rows alone explain
}

func (p *pooled) add(c *crossed) {
	row, column, rest := c.squares()
	r, d := float64(len(c.rows)), float64(len(c.columns))
	p.rows += r
	p.degrees += r - 1
	p.sum += total(c.rows) / d
	p.between += (r - 1) * row / d
	p.rest += (r - 1) * rest / d
	p.error += r * (row + column - rest) / d
	p.least += r * row / d
}

// spread estimates the standard deviation of the row effects. Its square is
// unbiased but for this: where the rest happens to exceed what is seen between
// rows the spread is zero, which means too small to be seen with these draws.
func (p *pooled) spread() float64 {
	return math.Sqrt(max(0, p.between-p.rest) / p.degrees)
}

// mean is the mean of all cells with its standard error, over other rows and
// other columns.
func (p *pooled) mean() (mean, se float64) {
	return p.sum / p.rows, math.Sqrt(max(p.error, p.least)) / p.rows
}
