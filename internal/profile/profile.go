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
)

// Profile is the task-probability profile of one benchmark and one model, its
// tasks in task_index order. It has at least two tasks.
type Profile struct {
	Benchmark string
	Model     string
	Scorer    string // version of the scorer that counted, may be empty

	TaskIDs    []string // unique
	PassCounts []int    // rollouts that passed, 0 to TestedK, one per task
	TestedK    int      // scored rollouts per task, at least 1
}

// N is the number of tasks.
func (p Profile) N() int { return len(p.PassCounts) }

// Name is "<benchmark>__model=<model>", the name that the published
// measurements use.
func (p Profile) Name() string { return p.Benchmark + "__model=" + p.Model }

// P is the estimated success probability of task i, its passes over TestedK.
func (p Profile) P(i int) float64 { return float64(p.PassCounts[i]) / float64(p.TestedK) }

// Mean is the benchmark's mean, the average probability of its tasks (μ).
func (p Profile) Mean() float64 {
	sum := 0
	for _, count := range p.PassCounts {
		sum += count
	}
	return float64(sum) / float64(p.TestedK) / float64(p.N())
}

// VarianceSum is Σ p(1−p) over the tasks, N²·b times the variance of the
// Uniform estimator at a budget of b rollouts per task. It is 0, exactly, if
// and only if the profile is degenerate: every rollout of a task went the same
// way, and variance ratios are undefined.
func (p Profile) VarianceSum() float64 {
	sum := 0.0
	for i := range p.PassCounts {
		q := p.P(i)
		sum += float64(q * (1 - q)) // the conversion forbids a fused multiply-add
	}
	return sum
}

// SHA256 is the lower-case hex digest of what the profile says: benchmark,
// model, tested_k, task ids and counts, whatever file they came from. It is
// not the digest of the release's own profile file.
func (p Profile) SHA256() string {
	content, err := json.Marshal(struct {
		Form, Benchmark, Model string
		TestedK                int
		TaskIDs                []string
		PassCounts             []int
	}{"profile/1", p.Benchmark, p.Model, p.TestedK, p.TaskIDs, p.PassCounts})
	if err != nil { // strings and integers always marshal
		panic(err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
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
