package replay

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// redrawn is a profile with other pass counts, as another run of its rollouts
// of each task might have given them: Binomial(K, p̂), independent. A profile that
// turns out degenerate is drawn again, since it would not have been evaluated.
func redrawn(p profile.Profile, random *seed.Stream) profile.Profile {
	most := 0
	for i := range p.N() {
		most = max(most, p.Rollouts(i))
	}
	path := make([]uint64, pilot.PathWords(most))
	other := p
	other.PassCounts = make([]int, p.N())
	for {
		for i := range other.PassCounts {
			k := p.Rollouts(i)
			own := path[:pilot.PathWords(k)]
			pilot.Bernoulli(own, k, p.P(i), random)
			other.PassCounts[i] = pilot.Successes(own, k)
		}
		if other.VarianceSum() > 0 {
			return other
		}
	}
}

// together is how many redrawn profiles, at least, meet the same draws. More
// would replay the profile itself less often, for the shift, but on fewer draws
// in all; and what a profile's change is worth varies with the draw.
const together = 8

// resampled replays the designs of one profile on redrawn ones.
type resampled struct {
	designs       []variance.Design
	continuations []policy.Continuation
	rollouts      int // of the longest pilot
	draws         int
	errors        []pooled             // by design
	analytic      map[choice][]float64 // ratios of allocations known beforehand
	policies      policy.List
}

// newResampled takes the designs from the ratios of a profile.
func newResampled(policies policy.List, ratios []variance.Ratio, prior *neyman.Prior, draws int) (*resampled, error) {
	s := &resampled{policies: policies, draws: draws, analytic: map[choice][]float64{}}
	for _, r := range ratios {
		if r.M == nil {
			continue // analytic
		}
		d := variance.Design{Policy: r.Policy, Donors: r.Donors, NTasks: r.NTasks, Budget: r.Budget, Alpha: r.Alpha, M: *r.M, W: *r.W}
		own := policy.Bench{Prior: prior} // so that it keeps its tables
		c, err := continuation(policies, d, &own)
		if err != nil {
			return nil, err
		}
		s.designs = append(s.designs, d)
		s.continuations = append(s.continuations, c)
		s.rollouts = max(s.rollouts, int(d.M))
	}
	s.errors = make([]pooled, len(s.designs))
	return s, nil
}

// resample finds out what of the error of a profile's ratios, given in full,
// comes from its pass probabilities being estimates: the ratio of every policy,
// with its design held as it is, on so many redrawn profiles, replayed on so
// many draws each. Groups of them have common random numbers, which they share
// with the profile itself.
func resample(ctx context.Context, policies policy.List, p profile.Profile, ratios []variance.Ratio, prior *neyman.Prior, resamples, draws int, at seed.Seed) ([]variance.ProfileError, error) {
	s, err := newResampled(policies, ratios, prior, draws)
	if err != nil {
		return nil, err
	}
	random := at.Child("profiles").Stream()
	groups := max(1, resamples/together)
	for g := range groups {
		var others []profile.Profile
		for range (g+1)*resamples/groups - g*resamples/groups {
			others = append(others, redrawn(p, &random))
		}
		if err := s.group(ctx, p, others, at.Child("pilots").Index(g).Stream()); err != nil {
			return nil, err
		}
	}
	return s.rows(ratios, resamples), nil
}

// group replays redrawn profiles and the profile itself on the same draws.
func (s *resampled) group(ctx context.Context, p profile.Profile, others []profile.Profile, pilots seed.Stream) error {
	base := make([][]float64, len(s.designs)) // ratio of the profile itself: [design][draw]
	tables := make([]*crossed, len(s.designs))
	for k := range s.designs {
		base[k] = make([]float64, s.draws)
		tables[k] = newCrossed(len(others), s.draws)
	}
	if err := s.replay(ctx, p, pilots, func(k, draw int, ratio float64) { base[k][draw] = ratio }); err != nil {
		return err
	}
	for row, other := range others {
		err := s.replay(ctx, other, pilots, func(k, draw int, ratio float64) {
			tables[k].set(row, draw, ratio-base[k][draw])
		})
		if err != nil {
			return err
		}
		known, err := analytic(s.policies, other, s.designs)
		if err != nil {
			return err
		}
		for _, r := range known {
			s.analytic[choice{r.Key(), r.Budget}] = append(s.analytic[choice{r.Key(), r.Budget}], r.VarianceRatio)
		}
	}
	for k, table := range tables {
		s.errors[k].add(table)
	}
	return nil
}

// replay visits the ratio of every design and draw on a profile.
func (s *resampled) replay(ctx context.Context, p profile.Profile, pilots seed.Stream, visit func(k, draw int, ratio float64)) error {
	of := func(k int) (policy.Continuation, error) { return s.continuations[k], nil }
	return pilot.EachSweep(ctx, probabilities(p), s.draws, s.rollouts, pilot.OwnStreams(pilots, p.N(), s.rollouts), func(sw *pilot.Sweep, first int) error {
		return eachValue(sw, s.designs, of, func(k, draw int, coefficient float64) {
			d := s.designs[k]
			visit(k, first+draw, neyman.Risk(int(d.Budget), int(d.M), d.W, coefficient))
		})
	})
}

// rows are the errors of the given ratios. Those of ratios that are computed
// exactly are the plain standard deviation.
func (s *resampled) rows(ratios []variance.Ratio, resamples int) []variance.ProfileError {
	var rows []variance.ProfileError
	k := 0
	for _, r := range ratios {
		row := variance.ProfileError{
			Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, Budget: r.Budget,
			Policy: r.Policy, Donors: r.Donors, Alpha: r.Alpha, Resamples: int32(resamples),
		}
		if r.M == nil {
			mean, se := pilot.MeanAndError(s.analytic[choice{r.Key(), r.Budget}])
			row.Shift, row.ShiftSE = mean-r.VarianceRatio, se
			row.ProfileSE = se * math.Sqrt(float64(resamples))
		} else {
			row.Draws = int32(s.draws)
			row.ProfileSE = s.errors[k].spread()
			row.Shift, row.ShiftSE = s.errors[k].mean()
			k++
		}
		rows = append(rows, row)
	}
	return rows
}

// Keys of the configuration that the errors of profiles read.
const (
	keyResamples     = "replay.resamples"
	keyResampleDraws = "replay.resample_draws"
)

// resampleID is the unit that redraws a profile.
func resampleID(p pair.Pair) string { return "resample/" + p.Name() }

// resampleUnits are those of the errors that come from the profiles.
func (b *builder) resampleUnits() []dag.Unit {
	gather := dag.Unit{ID: "profile_errors", Outputs: []string{variance.ErrorsFile}, Provenance: "computed"}
	var units []dag.Unit
	for _, p := range b.pairs {
		units = append(units, b.resampleUnit(p))
		gather.Needs = append(gather.Needs, dag.Ref{Stage: name, Unit: resampleID(p)})
		for _, known := range b.counted() {
			units = append(units, b.stagesResampleUnit(known, p))
			gather.Needs = append(gather.Needs, dag.Ref{Stage: name, Unit: stagesResampleID(known, p)})
		}
	}
	gather.Run = func(_ context.Context, job *dag.Job) error {
		all, err := ofEachPair[variance.ProfileError](job, b.pairs, func(p pair.Pair) string { return partFile(resampleID(p)) })
		if err != nil {
			return err
		}
		for _, known := range b.counted() {
			more, err := ofEachPair[variance.ProfileError](job, b.pairs, func(p pair.Pair) string { return partFile(stagesResampleID(known, p)) })
			if err != nil {
				return err
			}
			all = append(all, more...)
		}
		sortRows(b.policies, all, func(e variance.ProfileError) rowKey { return rowKey{e.Benchmark, e.Model, e.Budget, e.Key()} })
		return writeRows(job, variance.ErrorsFile, "profile_errors.v2", all)
	}
	return append(units, gather)
}

// resampleUnit finds the errors of one profile's ratios under the designs as
// they are stored. There are none where the profile is degenerate.
func (b *builder) resampleUnit(of pair.Pair) dag.Unit {
	id := resampleID(of)
	u := b.unit(id, b.Slice(keySeed, keyOrder, keyResamples, keyResampleDraws))
	u.Cost = resampleSeconds * float64(b.Resamples*b.ResampleDraws) / paperResamples
	u.Needs = []dag.Ref{twoStageRef}
	of.Feed(&u)
	at := b.seeded(&u)
	u.Run = func(ctx context.Context, job *dag.Job) error {
		var rows []variance.ProfileError
		p, ratios, prior, err := b.underDesigns(job, of)
		if err == nil && len(ratios) > 0 {
			rows, err = resample(ctx, b.policies, p, ratios, prior, b.Resamples, b.ResampleDraws, at)
		}
		if err != nil {
			return err
		}
		return writeRows(job, partFile(id), "profile_errors.v2", rows)
	}
	return u
}

// underDesigns reads what there is to work with on one profile under the designs
// as they are stored: it, its ratios, none if it is degenerate, and the prior.
func (b *builder) underDesigns(job *dag.Job, of pair.Pair) (p profile.Profile, ratios []variance.Ratio, prior *neyman.Prior, err error) {
	if p, err = of.Profile(job); err != nil {
		return p, nil, nil, err
	}
	if ratios, err = twoStageRatios(job, of); err != nil {
		return p, nil, nil, err
	}
	prior, err = neyman.NewPrior(b.QuadratureOrder)
	return p, ratios, prior, err
}

// twoStageRatios are a pair's rows of the unit two_stage, none if its profile is
// degenerate.
func twoStageRatios(job *dag.Job, of pair.Pair) ([]variance.Ratio, error) {
	all, err := readRows[variance.Ratio](job, variance.TwoStageFile)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r variance.Ratio) bool {
		return r.Benchmark != of.Benchmark || r.Model != of.Model
	}), nil
}

// coefficient is a row of a design unit's output: one estimate of the
// continuation coefficient C, the expected Σ v/L over Σ v, of a candidate.
type coefficient struct {
	Alpha       *float64 `parquet:"alpha"` // prior strength; null where there is none
	Budget      int32    `parquet:"budget"`
	M           int32    `parquet:"m"`
	Replicate   int32    `parquet:"replicate"` // replicate of a design, or batch of draws
	Coefficient float64  `parquet:"coefficient"`
}

// writeRows writes the rows of an output as Parquet.
func writeRows[T any](job *dag.Job, output, schema string, rows []T) error {
	return job.Write(output, len(rows), func(w io.Writer) error {
		return rowfile.Write(w, rows, job.Footer(schema))
	})
}

// readRows reads the rows of an input.
func readRows[T any](job *dag.Job, input string) ([]T, error) {
	path, err := job.Input(input)
	if err != nil {
		return nil, err
	}
	rows, _, err := rowfile.ReadFile[T](path)
	return rows, err
}

// ofEachPair reads the rows of one output of each pair, in the pairs' order.
func ofEachPair[T any](job *dag.Job, pairs []pair.Pair, output func(pair.Pair) string) ([]T, error) {
	var all []T
	for _, p := range pairs {
		rows, err := readRows[T](job, output(p))
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// coefficientRows are the estimates of a candidate, of replicate first and on.
func coefficientRows(c pilot.Candidate, alpha *float64, estimates []float64, first int) []coefficient {
	var rows []coefficient
	for r, estimate := range estimates {
		rows = append(rows, coefficient{alpha, int32(c.Budget), int32(c.M), int32(first + r), estimate})
	}
	return rows
}

// gathered are the coefficients of all replicates of one policy and task count,
// for one prior strength: [candidate][replicate].
type gathered [][]float64

func newGathered(cs pilot.Candidates, replicates int) gathered {
	g := make(gathered, len(cs))
	for k := range g {
		g[k] = make([]float64, replicates)
	}
	return g
}

// add adds a share of each row, which must be those of coefficientRows for one
// candidate after the other and some replicates, to what has been gathered.
func (g gathered) add(cs pilot.Candidates, rows []coefficient, share float64) error {
	per := len(rows) / len(cs)
	if len(rows) != per*len(cs) || per == 0 {
		return fmt.Errorf("%d coefficients for %d candidates", len(rows), len(cs))
	}
	for i, row := range rows {
		k := i / per
		if c := cs[k]; int(row.Budget) != c.Budget || int(row.M) != c.M {
			return fmt.Errorf("row %d is of budget %d and m = %d, want %d and %d", i+1, row.Budget, row.M, c.Budget, c.M)
		}
		if row.Replicate < 0 || int(row.Replicate) >= len(g[k]) {
			return fmt.Errorf("row %d is of replicate %d, of %d", i+1, row.Replicate, len(g[k]))
		}
		g[k][row.Replicate] += share * row.Coefficient
	}
	return nil
}
