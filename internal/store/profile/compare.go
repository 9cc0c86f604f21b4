package profile

import (
	"cmp"
	"math"
	"slices"
)

// Comparison is two profiles of one benchmark and model side by side. Values in
// pairs are of the first and of the second.
type Comparison struct {
	Agree     bool   `json:"agree"`   // they have tasks in common and differ neither in one of them nor in the mean
	Verdict   string `json:"verdict"` // the same in words, for those who show it
	NTasks    int    `json:"n_tasks"`
	Differing int    `json:"differing"` // tasks

	Benchmark string     `json:"benchmark"`
	Model     string     `json:"model"`
	Scorer    [2]string  `json:"scorer"`
	TestedK   [2]int     `json:"tested_k"` // 0 where tasks differ in it
	Mean      [2]float64 `json:"mean"`     // success probability, over the tasks of both

	// Bias is the first mean less the second, and SE its standard error, as
	// those of a task. P is its p-value, and Biased says whether that is too
	// small for chance.
	Bias   float64 `json:"difference"`
	SE     float64 `json:"se"`
	P      float64 `json:"p"`
	Biased bool    `json:"differs"`

	Only  [2][]string      `json:"only_in"` // ids of the tasks that the other one lacks
	Tasks []TaskDifference `json:"tasks"`
}

// TaskDifference is a task of both profiles.
type TaskDifference struct {
	TaskID   string     `json:"task_id"`
	Passes   [2]int     `json:"passes"`
	Rollouts [2]int     `json:"rollouts"`
	Rate     [2]float64 `json:"rate"` // passes over rollouts

	// Difference is the first rate less the second. SE is the standard error
	// that it has if both estimate the same probability,
	//
	//	√( p(1−p) (1/K₁ + 1/K₂) ),  p = passes of both / (K₁ + K₂),
	//
	// and Z their ratio, 0 if both are 0.
	Difference float64 `json:"difference"`
	SE         float64 `json:"se"`
	Z          float64 `json:"z"`

	P       float64 `json:"p"`       // p-value
	Differs bool    `json:"differs"` // it is too small for chance
}

// Compare compares the tasks that two profiles of one benchmark and model have
// in common, by their ids and in the order of the first. level is the false
// alarm rate: two profiles that count rollouts of the same success
// probabilities disagree with at most this probability.
//
// If the success probability of a task is the same in both, each of its rollouts is equally
// likely to have passed, so that the passes of the first, given the passes of both, follow a
// hypergeometric distribution; p-values are twice its tail (Fisher's exact test), and hold
// for any number of rollouts. The p-value of the bias comes from the passes of all tasks
// together, given the passes of both task by task; their distribution is the convolution of
// these. Half of the level goes to the bias; the other half is divided among the tasks by
// Holm's procedure (1979).
func Compare(a, b Profile, level float64) Comparison {
	c := Comparison{
		Benchmark: a.Benchmark, Model: a.Model,
		Scorer: [2]string{a.Scorer, b.Scorer}, TestedK: [2]int{a.TestedK, b.TestedK}, Only: [2][]string{{}, {}},
	}
	places := make(map[string]int, b.N())
	for j, id := range b.TaskIDs {
		places[id] = j
	}
	for i, id := range a.TaskIDs {
		j, common := places[id]
		if !common {
			c.Only[0] = append(c.Only[0], id)
			continue
		}
		delete(places, id)
		c.Tasks = append(c.Tasks, task(id, [2]int{a.PassCounts[i], b.PassCounts[j]}, [2]int{a.Rollouts(i), b.Rollouts(j)}))
	}
	for _, id := range b.TaskIDs {
		if _, left := places[id]; left {
			c.Only[1] = append(c.Only[1], id)
		}
	}
	c.overall()
	c.Biased = c.P <= level/2
	for k, i := range c.bySurprise() { // the smallest p-value against level/n, the next one against level/(n−1)
		if c.Tasks[i].P > level/2/float64(len(c.Tasks)-k) {
			break
		}
		c.Tasks[i].Differs = true
		c.Differing++
	}
	c.NTasks = len(c.Tasks)
	c.Agree = c.NTasks > 0 && !c.Biased && c.Differing == 0
	return c
}

func task(id string, passes, rollouts [2]int) TaskDifference {
	n1, n2 := float64(rollouts[0]), float64(rollouts[1])
	t := TaskDifference{
		TaskID: id, Passes: passes, Rollouts: rollouts,
		Rate: [2]float64{float64(passes[0]) / n1, float64(passes[1]) / n2},
		P:    shared(rollouts[0], rollouts[1], passes[0]+passes[1]).surprise(passes[0]),
	}
	p := float64(passes[0]+passes[1]) / (n1 + n2)
	t.Difference = t.Rate[0] - t.Rate[1]
	t.SE = math.Sqrt(p * (1 - p) * (1/n1 + 1/n2))
	if t.SE > 0 {
		t.Z = t.Difference / t.SE
	}
	return t
}

// exactVariance is how much variance of the passes of all tasks is worth a
// convolution. Above it their distribution is as good as normal: with a skewness
// of 1/50 at most, a tail at four standard deviations is off by a fifth.
const exactVariance = 2500

// overall finds means, bias and its p-value.
func (c *Comparison) overall() {
	c.P = 1
	if len(c.Tasks) == 0 {
		return
	}
	passes, expected, variance := 0, 0.0, 0.0
	for _, t := range c.Tasks {
		n1, n2 := t.Rollouts[0], t.Rollouts[1]
		c.Mean[0] += t.Rate[0]
		c.Mean[1] += t.Rate[1]
		c.SE += t.SE * t.SE
		passes += t.Passes[0]
		expected += float64(float64(t.Passes[0]+t.Passes[1]) * float64(n1) / float64(n1+n2))
		all, both := float64(n1+n2), float64(t.Passes[0]+t.Passes[1])
		variance += float64(n1) * float64(n2) * both * (all - both) / (all * all * max(all-1, 1))
	}
	n := float64(len(c.Tasks))
	c.Mean[0] /= n
	c.Mean[1] /= n
	c.SE = math.Sqrt(c.SE) / n
	c.Bias = c.Mean[0] - c.Mean[1]
	if variance > exactVariance { // of a normal law, where a count stands for the half on its either side
		c.P = math.Erfc(max(0, math.Abs(float64(passes)-expected)-0.5) / math.Sqrt(2*variance))
		return
	}
	laws := make([]law, len(c.Tasks))
	for i, t := range c.Tasks {
		laws[i] = shared(t.Rollouts[0], t.Rollouts[1], t.Passes[0]+t.Passes[1])
	}
	c.P = sum(laws).surprise(passes)
}

// bySurprise is the places of the tasks, the smallest p-value first.
func (c *Comparison) bySurprise() []int {
	order := make([]int, len(c.Tasks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := c.Tasks[i], c.Tasks[j]
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(math.Abs(b.Difference), math.Abs(a.Difference)))
	})
	return order
}

// Worst is the tasks, the most surprising difference first.
func (c *Comparison) Worst() []TaskDifference {
	tasks := make([]TaskDifference, 0, len(c.Tasks))
	for _, i := range c.bySurprise() {
		tasks = append(tasks, c.Tasks[i])
	}
	return tasks
}
