// Package profile holds task-probability profiles: for one benchmark and one
// model, how many of K scored rollouts passed, task by task. A profile
// estimates the probabilities p_i of the paper (Section 4.1) and is all that
// the replay knows of a benchmark and a model.
package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Profile is the task-probability profile of one benchmark and one model, its
// tasks in task_index order. It has at least two tasks.
type Profile struct {
	Benchmark string
	Model     string
	Scorer    string // version of the scorer that counted, may be empty

	TaskIDs    []string // unique
	PassCounts []int    // rollouts whose reward is 1, 0 to Rollouts, one per task
	TestedK    int      // scored rollouts per task, at least 1; 0 if tasks differ in it: see Rollouts
	Tested     []int    // scored rollouts of each task where they differ, nil otherwise

	// Rewards and Squares are the sums of rewards and of their squares, one per
	// task; nil if every reward is 0 or 1.
	Rewards, Squares []float64

	// PromptTokens and CompletionTokens are sums over a task's rollouts, −1 where
	// they were not counted; nil if they were of no task.
	PromptTokens, CompletionTokens []int64

	Source    string // where the rollouts are from, may be empty
	Allocated bool   // what was seen of a task decided how many rollouts it has
}

// N is the number of tasks.
func (p Profile) N() int { return len(p.PassCounts) }

// Name is "<benchmark>__model=<model>", the name that the published
// measurements use.
func (p Profile) Name() string { return p.Benchmark + "__model=" + p.Model }

// Rollouts is how many scored rollouts task i has.
func (p Profile) Rollouts(i int) int {
	if p.Tested != nil {
		return p.Tested[i]
	}
	return p.TestedK
}

// Graded reports whether there are rewards between 0 and 1.
func (p Profile) Graded() bool { return p.Rewards != nil }

// Reward is the sum of the rewards of task i, its passes if they are not graded.
func (p Profile) Reward(i int) float64 {
	if p.Graded() {
		return p.Rewards[i]
	}
	return float64(p.PassCounts[i])
}

// P is the estimated success probability of task i, or its mean reward: its
// rewards over its rollouts.
func (p Profile) P(i int) float64 { return p.Reward(i) / float64(p.Rollouts(i)) }

// Mean is the benchmark's mean, the average probability of its tasks (μ).
func (p Profile) Mean() float64 {
	if p.Graded() || p.Tested != nil {
		sum := 0.0
		for i := range p.PassCounts {
			sum += p.P(i)
		}
		return sum / float64(p.N())
	}
	sum := 0
	for _, count := range p.PassCounts {
		sum += count
	}
	return float64(sum) / float64(p.TestedK) / float64(p.N())
}

// Variance is the variance of a reward of task i: p(1−p), or of graded rewards the
// mean of their squares less the square of their mean.
func (p Profile) Variance(i int) float64 {
	q := p.P(i)
	if !p.Graded() {
		return float64(q * (1 - q)) // the conversion forbids a fused multiply-add
	}
	v := p.Squares[i]/float64(p.Rollouts(i)) - float64(q*q)
	if v < rounding {
		return 0
	}
	return v
}

// rounding is the largest rounding error of sums of equal rewards, in a variance that is 0.
const rounding = 1e-12

// VarianceSum is the sum of Variance over the tasks, N²·b times the variance of the
// Uniform estimator at a budget of b rollouts per task. It is 0, exactly, if
// and only if the profile is degenerate: every rollout of a task went the same
// way, and variance ratios are undefined.
func (p Profile) VarianceSum() float64 {
	sum := 0.0
	for i := range p.PassCounts {
		sum += p.Variance(i)
	}
	return sum
}

// SHA256 is the lower-case hex digest of what the profile says: benchmark,
// model, task ids and counts, whatever file they came from. It is
// not the digest of the release's own profile file.
func (p Profile) SHA256() string {
	type equal struct {
		Form, Benchmark, Model string
		TestedK                int
		TaskIDs                []string
		PassCounts             []int
	}
	var said any = equal{"profile/1", p.Benchmark, p.Model, p.TestedK, p.TaskIDs, p.PassCounts}
	if p.Tested != nil || p.Graded() || p.Allocated {
		said = struct {
			equal
			Tested           []int
			Rewards, Squares []float64
			Allocated        bool
		}{equal{"profile/2", p.Benchmark, p.Model, p.TestedK, p.TaskIDs, p.PassCounts}, p.Tested, p.Rewards, p.Squares, p.Allocated}
	}
	content, err := json.Marshal(said)
	if err != nil { // strings and finite numbers always marshal
		panic(err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Replayable is an error, which names the profile, if it is not one of independent
// passes and failures: what it says of the tasks can be a prior, and nothing that
// takes its pass rates for probabilities may use it.
func (p Profile) Replayable() error {
	const remedy = "give it to `speceval evaluate --prior`, which takes it as it is"
	switch {
	case p.Allocated:
		return fmt.Errorf("profile %s is of an allocation: a task's rollouts depend on what was seen of it, which biases its pass rate; %s", p.Name(), remedy)
	case p.Graded():
		return fmt.Errorf("profile %s has rewards between 0 and 1: this needs passes and failures; %s", p.Name(), remedy)
	}
	return nil
}

// Evaluated divides profiles by the paper's rule (Section 4.1): a degenerate
// profile, one of zero variance, cannot be evaluated and is set aside. That
// nothing is left, or that there was nothing, is an error.
func Evaluated(all []Profile) (kept, degenerate []Profile, err error) {
	for _, p := range all {
		if p.VarianceSum() > 0 {
			kept = append(kept, p)
		} else {
			degenerate = append(degenerate, p)
		}
	}
	if len(kept) == 0 {
		return nil, degenerate, fmt.Errorf("none of the %d profiles can be evaluated: a profile needs a task that some rollouts pass and others fail", len(all))
	}
	return kept, degenerate, nil
}

// law is the probability distribution of a count: p[i] is the probability of
// from+i. What is less than negligible times the most probable is left out.
type law struct {
	from int
	p    []float64
}

const negligible = 1e-20

// shared is the law of how many of s passes belong to the first file, if of n1
// and n2 rollouts each is as likely to be among the passes as any other: the
// hypergeometric distribution. It follows from the recurrence
//
//	p(a+1) / p(a) = (s−a)(n1−a) / ((a+1)(n2−s+a+1))
//
// in both directions from the most probable count.
func shared(n1, n2, s int) law {
	least, most := max(0, s-n2), min(s, n1)
	mode := int(float64(s+1) * (float64(n1+1) / float64(n1+n2+2)))
	mode = min(max(mode, least), most)
	ratio := func(a int) float64 {
		return float64(s-a) * float64(n1-a) / (float64(a+1) * float64(n2-s+a+1))
	}
	var below []float64
	from := mode
	for value := 1.0; from > least; from-- {
		if value /= ratio(from - 1); value < negligible {
			break
		}
		below = append(below, value)
	}
	slices.Reverse(below)
	p := append(below, 1)
	for a, value := mode, 1.0; a < most; a++ {
		if value *= ratio(a); value < negligible {
			break
		}
		p = append(p, value)
	}
	total := 0.0
	for _, x := range p {
		total += x
	}
	for i := range p {
		p[i] /= total
	}
	return law{from, p}
}

// plus is the law of the sum of independent counts.
func (l law) plus(other law) law {
	p := make([]float64, len(l.p)+len(other.p)-1)
	for i, a := range l.p {
		for j, b := range other.p {
			p[i+j] += float64(a * b) // the conversion forbids a fused multiply-add
		}
	}
	most := slices.Max(p)
	first, last := 0, len(p)
	for p[first] < negligible*most {
		first++
	}
	for p[last-1] < negligible*most {
		last--
	}
	return law{l.from + other.from + first, p[first:last]}
}

// sum is the law of the sum of all, halves first: laws of the same width are
// quickest to add.
func sum(laws []law) law {
	switch len(laws) {
	case 0:
		return law{0, []float64{1}}
	case 1:
		return laws[0]
	}
	half := len(laws) / 2
	return sum(laws[:half]).plus(sum(laws[half:]))
}

// surprise is the two-sided p-value of a count: twice the probability of what
// is at least as far on its side. Under the law it is below any x with a
// probability of at most x.
func (l law) surprise(count int) float64 {
	below, above := 0.0, 0.0
	for i, p := range l.p {
		if l.from+i <= count {
			below += p
		}
	}
	for i := len(l.p) - 1; i >= 0; i-- { // the small ones first
		if l.from+i >= count {
			above += l.p[i]
		}
	}
	return min(1, 2*min(below, above))
}
