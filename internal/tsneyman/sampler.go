package tsneyman

import "speceval/internal/seed"

// Sampler runs trajectories of one prior strength. It keeps tables that all
// profiles, warm starts and trajectories share. It is not safe for concurrent
// use.
type Sampler struct {
	race      race
	outcomes  *Outcomes
	spent     int
	rollouts  []int32
	successes []int32
	mostRows  int
}

// NewSampler takes the prior strength: success probabilities are Beta(alpha,
// alpha) before anything is seen. It must be from 10^−6 to 1000.
func NewSampler(alpha float64) *Sampler {
	return &Sampler{race: race{table: newTable(alpha), ziggurat: newZiggurat()}, mostRows: mostRows}
}

// Begin starts a trajectory on given outcomes, with the counts after warm
// rollouts of every task, at least 1. The trajectory depends on the prior
// strength, the outcomes and the stream only, bit for bit: never on what the
// sampler has done before.
func (s *Sampler) Begin(o *Outcomes, warm int, random seed.Stream) {
	s.outcomes = o
	s.rollouts, s.successes = s.rollouts[:0], s.successes[:0]
	for i := range o.Tasks() {
		passes := int32(0)
		for j := range warm {
			if o.Pass(i, j) {
				passes++
			}
		}
		s.rollouts, s.successes = append(s.rollouts, int32(warm)), append(s.successes, passes)
	}
	s.spent = warm * o.Tasks()
	s.race.random = random
	s.race.resize(o.Tasks())
	s.enter(s.race.table.window(around(warm)))
	s.race.follow()
}

// enter looks at all tasks in a window.
func (s *Sampler) enter(window int32) {
	r := &s.race
	r.window = window
	for i, n := range s.rollouts {
		r.at[i] = r.table.row(window, n, min(s.successes[i], n-s.successes[i]))
		r.tasks[i] = r.table.rows[r.at[i]].mass
	}
	r.sum()
}

// Advance steps until all tasks together have had total rollouts. It does
// nothing if they already have.
func (s *Sampler) Advance(total int) {
	for ; s.spent < total; s.spent++ {
		s.step(int(s.race.winner()))
		if s.spent&7 == 0 {
			s.race.follow()
		}
		if t := s.race.table; len(t.rows) > s.mostRows+8*len(s.rollouts) || len(t.splits) > mostSplits {
			t.empty()
			s.enter(s.race.window)
		}
	}
}

// step gives a task a rollout.
func (s *Sampler) step(task int) {
	n, passes := s.rollouts[task], s.successes[task]
	less := min(passes, n-passes)
	if s.outcomes.Pass(task, int(n)) {
		passes++
		s.successes[task] = passes
	}
	n++
	s.rollouts[task] = n
	s.race.change(task, s.race.table.after(s.race.at[task], min(passes, n-passes)-less))
}

// Rollouts counts the rollouts of each task. It is valid until the next call.
func (s *Sampler) Rollouts() []int32 { return s.rollouts }

// Successes counts the passes of each task. It is valid until the next call.
func (s *Sampler) Successes() []int32 { return s.successes }
