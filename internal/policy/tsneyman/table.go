package tsneyman

import (
	"math"

	"speceval/internal/policy/seed"
)

// row holds the hazards of one state of a task in a window. The state is the
// number of rollouts n and the smaller of passes and failures: p(1−p) has the
// same law if passes and failures change places.
type row struct {
	mass [levels]uint64 // hazard of each cell
	posterior
	splits     [levels]int32     // of each cell; 0: not known yet
	next       [2]int32          // rows after one more rollout, by what it adds to less; 0: not known yet
	neighbours [directions]int32 // rows of the state in neighbouring windows; 0: not known yet
	n, less    int32
	window     int32
}

// table keeps the rows and splits that have been needed so far. What they hold
// depends on the prior strength, the state and the window only.
type table struct {
	alpha   float64
	windows []window
	numbers map[windowKey]int32
	rows    []row   // from 1
	splits  []split // from 1
	byState map[state]int32
}

// state is the state of a task in a window.
type state struct{ window, n, less int32 }

// mostRows and mostSplits bound the table: above, it is emptied and fills again.
// A row has 312 bytes, and up to 40 in the map, a split 64.
const mostRows, mostSplits = 1 << 16, 1 << 17

func newTable(alpha float64) *table {
	return &table{
		alpha: alpha, numbers: make(map[windowKey]int32), byState: make(map[state]int32),
		rows:   make([]row, 1, mostRows+mostRows/16), // all at once: growing, it would lie there twice
		splits: make([]split, 1, mostSplits+1),
	}
}

// empty forgets rows and splits, but not windows.
func (t *table) empty() {
	t.rows, t.splits = t.rows[:1], t.splits[:1]
	clear(t.byState)
}

// window is the number of a window.
func (t *table) window(p windowKey) int32 {
	if w, ok := t.numbers[p]; ok {
		return w
	}
	t.windows = append(t.windows, newWindow(p))
	w := int32(len(t.windows) - 1)
	t.numbers[p] = w
	return w
}

// row finds the row of a state.
func (t *table) row(window, n, less int32) int32 {
	of := state{window, n, less}
	if i, known := t.byState[of]; known {
		return i
	}
	r := row{n: n, less: less, window: window, posterior: newPosterior(t.alpha, n, less)}
	above := uint64(0)
	for l, depth := range t.windows[window].depth {
		h := max(r.hazard(r.at(depth)), above)
		r.mass[l], above = h-above, h
	}
	t.rows = append(t.rows, r)
	i := int32(len(t.rows) - 1)
	t.byState[of] = i
	return i
}

// after is the row after one more rollout of the state of row i, which adds more
// to the smaller count.
func (t *table) after(i, more int32) int32 {
	r := &t.rows[i]
	if j := r.next[more&1]; j != 0 {
		return j
	}
	j := t.row(r.window, r.n+1, r.less+more)
	t.rows[i].next[more&1] = j
	return j
}

// neighbourRow is the row of the state of row i in the neighbouring window.
func (t *table) neighbourRow(i int32, direction int, window int32) int32 {
	r := &t.rows[i]
	j := t.row(window, r.n, r.less)
	t.rows[i].neighbours[direction] = j
	return j
}

// States holds what is known of the states of a task: its rollouts n and passes
// S. It serves any number of profiles, and is not safe for concurrent use.
type States struct {
	alpha  float64
	groups []uint16 // of each state, [n(n+1)/2 + S]

	// Of learn: how likely a task is stopped in a state of a group, how many rollouts a
	// task may have (reach), and up to how many rollouts there are states (top).
	stop       [balance * scores]float64
	reach, top int

	// Of expect.
	from, low []int32   // by n: where the row starts in steps, and its first S
	steps     []float64 // by state of the task
	next, now []float64
}

// NewStates takes the prior strength of the policy, by which states are alike.
func NewStates(alpha float64) *States { return &States{alpha: alpha} }

const (
	scores  = 256 // groups by score
	balance = 10  // groups by the smaller of passes and failures

	// longest bounds the rollouts of a state, and with them memory and time. Of a task
	// with more, all later outcomes have the same coefficient: only precision is lost.
	longest = 4096
)

// group puts together states in which a task is about as likely to be stopped:
// of similar score p(1−p)/n², at the posterior mean, and a similar number of the
// rarer outcome, which says how uncertain that is.
func (s *States) group(n, passes int) uint16 {
	rare := min(passes, n-passes)
	kind := rare
	if rare > 3 {
		kind = min(2+int(math.Log2(float64(rare))), balance-1)
	}
	square := float64(n) * float64(n)
	depth := math.Log(square * square / ((float64(rare) + s.alpha + 0.3) * (float64(n-rare) + s.alpha)))
	return uint16(kind*scores + min(max(int(depth*perUnit), 0), scores-1))
}

const perUnit = 10

// grow makes room for states of up to most rollouts.
func (s *States) grow(most int) {
	for len(s.groups) < (most+1)*(most+2)/2 {
		n := int(math.Sqrt(float64(2 * len(s.groups))))
		for passes := range n + 1 {
			s.groups = append(s.groups, s.group(n, passes))
		}
	}
}

// learn estimates from the trajectories of one half how likely a task is to be stopped in a
// state: the share of stops among all visits to similar states.
func (s *States) learn(t Trajectories, half int) {
	var seen, stopped [balance * scores]float64
	top := 0
	for at := half; at < t.draws(); at += 2 {
		t.Begin(at)
		for i, rollouts := range t.Rollouts[at*len(t.P) : (at+1)*len(t.P)] {
			n := min(int(rollouts), longest)
			top = max(top, int(rollouts))
			s.grow(n)
			passes := 0
			for j := range n {
				if j >= t.Warm {
					seen[s.groups[j*(j+1)/2+passes]]++
				}
				if t.Pass(i, j) {
					passes++
				}
			}
			g := s.groups[n*(n+1)/2+passes]
			seen[g]++
			if int(rollouts) <= longest {
				stopped[g]++
			}
		}
	}
	s.reach = top + top/4 + 8
	s.top = min(s.reach, longest)
	s.grow(s.top)
	s.smooth(&seen, &stopped)
}

// smooth takes the shares of neighbouring scores together, and where few were seen
// those of all kinds. Before the first score that was seen no task is stopped; after
// the last, as at the last.
func (s *States) smooth(seen, stopped *[balance * scores]float64) {
	const reach, prior = 8, 1.0
	var weights [2*reach + 1]float64
	for d := range weights {
		weights[d] = math.Exp(-float64((d-reach)*(d-reach)) / 4)
	}
	near := func(of *[balance * scores]float64, kind, score int) (sum float64) {
		from, to := max(score-reach, 0), min(score+reach+1, scores)
		for k, x := range of[kind*scores+from : kind*scores+to] {
			sum += weights[from-score+reach+k] * x
		}
		return sum
	}
	var present [balance]bool // kinds
	for g, x := range seen {
		present[g/scores] = present[g/scores] || x > 0
	}
	common := 0.0
	for score := range scores {
		var all, ends [balance]float64
		sum, sumEnds := 0.0, 0.0
		for kind := range balance {
			if present[kind] {
				all[kind], ends[kind] = near(seen, kind, score), near(stopped, kind, score)
				sum += all[kind]
				sumEnds += ends[kind]
			}
		}
		if sum > 0.1 {
			common = sumEnds / sum
		}
		for kind := range balance {
			s.stop[kind*scores+score] = (ends[kind] + prior*common) / (all[kind] + prior)
		}
	}
}

// Outcomes fixes the outcome of every rollout of a trajectory: rollout j of task
// i passes or not, whatever the order in which rollouts happen, so that all
// policies and prior strengths meet the same outcomes (common random numbers).
type Outcomes struct {
	limits []uint64 // by task: how many of 2^63 words pass
	random seed.Stream
}

// NewOutcomes takes the success probabilities of a fixed profile, each within
// [0, 1]. There are no outcomes before Begin.
func NewOutcomes(probabilities []float64) *Outcomes {
	limits := make([]uint64, len(probabilities))
	for i, p := range probabilities {
		limits[i] = uint64(math.Ldexp(p, 63)) // exact where p is a multiple of 2^-63, so for 0, 1 and k/1024
	}
	return &Outcomes{limits: limits}
}

// Begin starts a new trajectory. Equal streams give equal outcomes.
func (o *Outcomes) Begin(random seed.Stream) { o.random = random }

// Tasks is the number of tasks.
func (o *Outcomes) Tasks() int { return len(o.limits) }

// Pass says whether rollout j of a task passes, both counted from 0 and rollout below 2^32.
// The probability is the profile's: 0 and 1 are certain.
func (o *Outcomes) Pass(task, rollout int) bool {
	return o.random.Word(uint64(task)<<32|uint64(rollout))>>1 < o.limits[task]
}
