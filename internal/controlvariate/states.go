package controlvariate

import "math"

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

// learn estimates from the trajectories of one half how likely a task is to be
// stopped in a state: the share of those that are, of all that come there, in
// similar states.
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
