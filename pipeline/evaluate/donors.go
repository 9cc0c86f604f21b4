package evaluate

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/evaluation"
	"speceval/method/estimate"
)

// donors reads what is known of the benchmark's tasks. The evaluation of the model under
// the seed is none of it; model is "" where no model is evaluated yet.
func (b *Benchmark) donors(k evaluation.Spec, model string, seed uint64) (all []evaluation.Donor, err error) {
	all = append(all, b.inline...)
	for _, word := range k.Prior {
		found, err := b.Archive.Sources(word, k.Reward)
		if err == nil {
			found, err = b.ofBenchmark(found)
		}
		if err != nil {
			return nil, requestf("--prior %s: %w", word, err)
		}
		for _, s := range found {
			if s.Setup != nil && !b.outside && s.Setup.Asked["prompts"] != b.tasks.Prompts().SHA256 { // a worse donor, and no estimate is biased by it
				b.warn(s.Path + " asked other prompts for these tasks: it helps as far as they are as hard as these; the estimate is unbiased all the same")
			}
			exported, r := s.Seed != nil && *s.Seed == seed, s.Result
			if exported && s.Model == model || r != nil && r.Model == model && r.Seed == seed && (s.Setup != nil || !r.Outside()) {
				return nil, requestf("--prior %s: it has rollouts of this evaluation, %s under seed %d: they would count twice; take another --seed", word, model, seed)
			}
			if k.Coupled && (exported || r != nil && r.Coupled && r.Seed == seed) { // its luck would tell what this one's rollouts will be
				return nil, requestf("--prior %s: its rollouts share seeds with this evaluation, so that an allocation by them would bias it; take another --seed, or leave --coupled out", word)
			}
			d := b.donor(s, model)
			if !slices.ContainsFunc(d.Rollouts, func(n int) bool { return n > 0 }) {
				return nil, requestf("--prior %s: %s has none of the tasks of %s: are they of another benchmark?", word, d.Name, b.tasks.ID)
			}
			if slices.ContainsFunc(all, func(other evaluation.Donor) bool { return other.Source == d.Source && other.Name == d.Name }) {
				return nil, requestf("--prior %s: it is there twice", word)
			}
			all = append(all, d)
		}
	}
	return all, nil
}

// ofBenchmark are the sources that may be of these tasks. Profiles have the benchmark's name, but
// other programs may call it as they like where a file has no other; and logs and evaluations
// have names of their own: what counts is whether they have the tasks.
func (b *Benchmark) ofBenchmark(all []Source) ([]Source, error) {
	var others []string
	alike := !slices.ContainsFunc(all, func(s Source) bool { return s.Benchmark != all[0].Benchmark })
	found := slices.DeleteFunc(slices.Clone(all), func(s Source) bool {
		others = append(others, s.Name)
		return s.profiled && s.Benchmark != b.tasks.ID && !(b.outside && alike)
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("it has no profile of %s, but of %s", b.tasks.ID, firstNames(others))
	}
	return found, nil
}

// donor is a source as what is known of the tasks.
func (b *Benchmark) donor(s Source, model string) evaluation.Donor {
	d := evaluation.Donor{Name: s.Name, Source: s.Path, Same: s.Model == model, Counts: b.counts()}
	at := make(map[string]int, len(b.tasks.Tasks))
	for i, t := range b.tasks.Tasks {
		at[t.ID] = i
	}
	most := 0 // stages of a task
	for _, stages := range s.Stages {
		most = max(most, len(stages))
	}
	first, last, graded := b.counts(), b.counts(), false
	for i, id := range s.IDs {
		task, there := at[id]
		if !there {
			continue
		}
		set(d.Counts, task, estimate.Sum(s.Stages[i]))
		for k, stage := range s.Stages[i] {
			graded = graded || stage.Squares != stage.Rewards
			switch k {
			case 0:
				set(first, task, stage)
			case most - 1:
				set(last, task, stage)
			}
		}
	}
	if fixed := !graded && !s.Allocated && (s.Result == nil || s.Result.Extends == ""); fixed {
		d.Fixed = append(d.Fixed, first)
		if most > 1 {
			d.Fixed = append(d.Fixed, last)
		}
	}
	return d
}

// counts are of no rollouts yet.
func (b *Benchmark) counts() evaluation.Counts {
	n := len(b.tasks.Tasks)
	return evaluation.Counts{Passes: make([]int, n), Rollouts: make([]int, n)}
}

// set sets the counts of a task.
func set(c evaluation.Counts, task int, s estimate.Stage) {
	c.Rollouts[task], c.Passes[task] = s.Rollouts, int(math.Round(s.Rewards))
}
