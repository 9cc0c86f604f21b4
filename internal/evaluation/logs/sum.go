package logs

import (
	"fmt"
	"slices"

	"speceval/method/estimate"
)

// Sum is the logs of one benchmark and model, added up.
type Sum struct {
	Benchmark, Model string
	Logs             []Log
	Tasks            []Counts
	Repeated         int // rollouts that several of the logs have; each counts once
}

// Counts are the rollouts of a task.
type Counts struct {
	ID string
	estimate.Stage
	Passes                         int   // rewards of 1
	PromptTokens, CompletionTokens int64 // −1: not known of all rollouts
}

// Sums adds up the logs to which names gives the same benchmark and model. The log of an
// allocation is a sum of its own: with others it would bias their pass rates.
func Sums(all []Log, names func(*Log) (benchmark, model string, err error)) (sums []*Sum, err error) {
	seen := make(map[string]string) // sources, by digests
	for i := range all {
		l := &all[i]
		key := l.Digest + " " + l.Benchmark + " " + l.Model
		if other, there := seen[key]; there {
			return nil, fmt.Errorf("%s is the same log as %s: its rollouts would count twice; name one of them", l.Source, other)
		}
		seen[key] = l.Source
		benchmark, model, err := names(l)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(sums, func(s *Sum) bool {
			return s.Benchmark == benchmark && s.Model == model && !s.Logs[0].Allocated && !l.Allocated
		})
		if at < 0 {
			at, sums = len(sums), append(sums, &Sum{Benchmark: benchmark, Model: model})
		} else if first := sums[at].Logs[0]; l.Benchmark != first.Benchmark || l.Model != first.Model {
			return nil, fmt.Errorf("%s is of %q with %q and %s of %q with %q, and both would be %s with %s: import them apart",
				l.Source, l.Benchmark, l.Model, first.Source, first.Benchmark, first.Model, benchmark, model)
		}
		sums[at].Logs = append(sums[at].Logs, *l)
	}
	for _, s := range sums {
		if err := s.countRollouts(); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// countRollouts counts the rollouts. One that several logs have counts once: a log of a run that was
// tried again has those of the run before.
func (s *Sum) countRollouts() error {
	at, counted, first := make(map[string]int), make(map[uint64]bool), s.Logs[0]
	for _, l := range s.Logs {
		if l.Scorer != first.Scorer {
			return fmt.Errorf("%s has rewards by %q and %s by %q: choose one with --reward, or import them apart", first.Source, first.Scorer, l.Source, l.Scorer)
		}
		for _, t := range l.Tasks {
			for _, r := range t.Rollouts {
				if r.Identity != 0 && counted[r.Identity] {
					s.Repeated++
					continue
				}
				counted[r.Identity] = true
				i, there := at[t.ID]
				if !there {
					i = len(s.Tasks)
					at[t.ID], s.Tasks = i, append(s.Tasks, Counts{ID: t.ID})
				}
				c := &s.Tasks[i]
				c.Rollouts++
				c.Add(r.Reward)
				if r.Reward == 1 {
					c.Passes++
				}
				c.PromptTokens, c.CompletionTokens = Plus(c.PromptTokens, r.PromptTokens), Plus(c.CompletionTokens, r.CompletionTokens)
			}
		}
	}
	return nil
}

// Plus adds numbers of tokens; −1 is an unknown number.
func Plus(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}
