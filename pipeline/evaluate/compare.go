package evaluate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/internal/terminal/display"
	"speceval/method/estimate"
)

// Compare compares the evaluations, logs and profiles that words name, each with each, and says
// what it takes to find the difference resolve unless that is 0. It is a *RequestError if their
// tasks differ or if two have rollouts in common.
func (a Archive) Compare(words []string, resolve float64) (*show.Comparison, error) {
	if _, err := standardError(evaluation.Spec{Resolve: resolve}); err != nil {
		return nil, err
	}
	c, warn := new(show.Comparison), a.Warn
	a.Warn = func(message string) {
		c.Warnings = append(c.Warnings, message)
		Archive{Warn: warn}.warn(message)
	}
	for _, word := range words {
		sources, err := a.Sources(word, "")
		if err != nil {
			return nil, err
		}
		for _, s := range sources {
			r, err := a.resultOf(s)
			if err != nil {
				return nil, err
			}
			if c.Results = append(c.Results, r); s.Setup != nil {
				s.Path = word
			}
			c.Evaluations = append(c.Evaluations, s.Path)
		}
	}
	called := make(map[string]bool)
	for _, r := range c.Results {
		if r.Benchmark != "" {
			called[r.Benchmark] = true
		}
	}
	if err := aligned(c.Results); err != nil {
		return nil, err
	}
	if len(called) > 1 {
		a.Warn("they are of the same tasks by their ids, and call the benchmark differently: " + strings.Join(slices.Sorted(maps.Keys(called)), ", "))
	}
	a.warnOfRules(c.Results, c.Evaluations)
	for _, r := range c.Results {
		c.Estimates, c.Errors = append(c.Estimates, r.Estimate), append(c.Errors, r.StandardError)
		c.Budgets, c.Rollouts = append(c.Budgets, r.Budget), append(c.Rollouts, r.Rollouts)
	}
	rate := 0.05 / float64(len(c.Results)*(len(c.Results)-1)) // of each end of the interval of a pair
	for i := range c.Results {
		for k := i + 1; k < len(c.Results); k++ {
			p, err := a.pairOf(c, i, k, rate, resolve)
			if err != nil {
				return nil, err
			}
			c.Pairs = append(c.Pairs, *p)
		}
	}
	c.SetTiers()
	if len(c.Results) == 2 {
		c.Pair, c.Pairs = &c.Pairs[0], nil
	}
	return c, nil
}

// difference is the difference of two results on these tasks, by pairs of rollouts where both are
// coupled. names are the evaluations'.
func (a Archive) difference(results [2]*evaluation.Result, names [2]string) (d estimate.Bounded, coupled *show.Coupled) {
	first, second := results[0], results[1]
	d = first.Mean().Bounded().Minus(second.Mean().Bounded())
	if !first.Coupled || !second.Coupled || first.Seed != second.Seed {
		return d, nil
	}
	by, err := a.coupled(names)
	if err != nil {
		a.warn(fmt.Sprintf("%s and %s share seeds, but not as pairs: %v; the error of their difference takes their rollouts as independent, and is too large where they have their luck together", names[0], names[1], err))
		return d, nil
	}
	return by.Bounded, &show.Coupled{Correlation: by.Correlation, Factor: by.Factor}
}

// coupled is the difference of two evaluations by pairs of rollouts; the error says why they have none.
func (a Archive) coupled(names [2]string) (d estimate.Difference, err error) {
	var both [2]*evaluation.Stored
	for k, name := range names {
		if both[k], err = (Archive{Config: a.Config}).Stored(name); err != nil {
			return d, err
		}
	}
	pairs, err := evaluation.PairsOf(both[0], both[1])
	if err != nil {
		return d, err
	}
	return estimate.DifferenceOf(a.Prior(), pairs)
}

// pairOf is the difference of two of the results.
func (a Archive) pairOf(c *show.Comparison, i, k int, rate, resolve float64) (*show.Pair, error) {
	first, second := c.Results[i], c.Results[k]
	d, coupled := a.difference([2]*evaluation.Result{first, second}, [2]string{c.Evaluations[i], c.Evaluations[k]})
	p := &show.Pair{
		Of: [2]int{i + 1, k + 1}, Difference: d.Value, StandardError: d.StandardError, Interval: [2]float64{d.Low, d.High},
		Resolves: estimate.Resolved(d.StandardError), Losses: lossesOf(first, second), Coupled: coupled,
	}
	low, high := d.Low, d.High
	if len(c.Results) > 2 {
		low, high = d.Bounds(rate)
	}
	p.Apart = low > 0 || high < 0
	if paired, err := pairedTasks(first, second, d.StandardError); err != nil {
		return nil, err
	} else if paired != nil {
		p.Tasks = &show.OverTasks{StandardError: paired.StandardError, Interval: [2]float64{paired.Low, paired.High}, Correlation: paired.Correlation, Unpaired: paired.Unpaired, Clusters: paired.Clusters}
	}
	if resolve > 0 {
		r := &show.Resolution{Difference: resolve, Budgets: d.Budgets([2]int{first.Budget, second.Budget}, resolve)}
		r.Rollouts = r.Budgets[0]*first.Tasks + r.Budgets[1]*second.Tasks
		p.Resolve = r
	}
	return p, nil
}

// aligned is an error unless all results are of the same tasks, and none shares rollouts with
// another. Those of other programs are put into the order of tasks of the first that is not. Those
// that tell no clusters of the tasks have the clusters that others tell.
func aligned(all []*evaluation.Result) error {
	if len(all) < 2 {
		return requestf("there is nothing to compare with: name two or more evaluations, logs or profiles")
	}
	first := all[max(0, slices.IndexFunc(all, func(r *evaluation.Result) bool { return !r.Outside() }))]
	var ids []string
	for _, t := range first.Rows {
		ids = append(ids, t.ID)
	}
	for i, r := range all {
		all[i] = inOrder(r, ids, first.Benchmark)
		if r = all[i]; first.Benchmark != r.Benchmark || !slices.EqualFunc(first.Rows, r.Rows, func(x, y evaluation.Task) bool { return x.ID == y.ID }) {
			return requestf("they are of different tasks: %s with %d, %s with %d", cmp.Or(first.Benchmark, "counts"), len(first.Rows), cmp.Or(r.Benchmark, "counts"), len(r.Rows))
		}
		if !slices.EqualFunc(first.Rows, r.Rows, func(x, y evaluation.Task) bool { return x.Share == y.Share }) {
			return requestf("the tasks of %s weigh differently in them: evaluate with the same --weight", r.Benchmark)
		}
		for _, other := range all[:i] {
			// Rollouts of another program, and logs of ours, follow from no seed: all are shared where both
			// say the same of each task. A profile says less of grades than its log, and calls org/model
			// org__model.
			same := func(x, y evaluation.Task) bool {
				return x.ID == y.ID && x.Rollouts() == y.Rollouts() && x.Estimate == y.Estimate
			}
			outside, seeds := other.Outside() || r.Outside(), other.Seed == r.Seed
			switch {
			case strings.ReplaceAll(other.Model, "/", "__") != strings.ReplaceAll(r.Model, "/", "__"):
			case seeds && (!outside || other.Extends+r.Extends != ""):
				return requestf("both are of %s under seed %d and share rollouts: their difference has no error; evaluate one again under another --seed", r.Model, r.Seed)
			case outside && slices.EqualFunc(other.Rows, r.Rows, same) && r.Model == "":
				return requestf("both have the same counts of every task and name no model: as the same rollouts, their difference has no error; if they are of two models, name these in a column model, with benchmark and task_index")
			case outside && slices.EqualFunc(other.Rows, r.Rows, same):
				return requestf("both share rollouts of %s, by the counts of every task: their difference has no error", r.Model)
			}
		}
	}
	at := slices.IndexFunc(all, func(r *evaluation.Result) bool { return r.Clustered })
	for _, r := range all {
		if at >= 0 && r.Outside() && !r.Clustered {
			r.Clusters, r.Clustered = all[at].Clusters, true
			for k := range r.Rows {
				r.Rows[k].Cluster = all[at].Rows[k].Cluster
			}
		}
	}
	return nil
}

// warnOfRules warns of evaluations that were asked otherwise than the first one, or whose answers were
// scored by other right answers or scorers. Other programs tell none.
func (a Archive) warnOfRules(all []*evaluation.Result, names []string) {
	first := -1
	for i, r := range all {
		if r.Rules == "" {
			continue
		}
		if first < 0 {
			first = i
		}
		var keys []string
		for _, key := range slices.Sorted(maps.Keys(r.Asked)) {
			if there, is := all[first].Asked[key]; is && there != r.Asked[key] && key != "model" {
				keys = append(keys, key)
			}
		}
		if keys != nil {
			a.warn(fmt.Sprintf("%s and %s were asked with different %s, which may make their difference", names[first], names[i], display.And(keys)))
		}
		if r.Rules != all[first].Rules {
			a.warn(fmt.Sprintf("%s and %s were scored by different right answers or scorers: `speceval evaluate rescore` makes them alike", names[first], names[i]))
		}
	}
}

// inOrder is the result of another program with its tasks in the order of others, whatever
// it calls the benchmark; r itself if it is no other program's or of other tasks.
func inOrder(r *evaluation.Result, ids []string, benchmark string) *evaluation.Result {
	if !r.Outside() || len(ids) != len(r.Rows) {
		return r
	}
	rows := make(map[string]evaluation.Task, len(ids))
	for _, t := range r.Rows {
		rows[t.ID] = t
	}
	ordered := *r
	ordered.Benchmark, ordered.Rows = benchmark, make([]evaluation.Task, len(ids))
	for i, id := range ids {
		t, there := rows[id]
		if !there {
			return r
		}
		t.Index = int32(i)
		ordered.Rows[i] = t
	}
	return &ordered
}

// pairedTasks is the difference over what the tasks are a sample of; nil where they are
// all of one cluster. own is its standard error on these tasks.
func pairedTasks(a, b *evaluation.Result, own float64) (*estimate.Paired, error) {
	if a.Clusters < 2 {
		return nil, nil
	}
	first := estimate.Sample{Shares: a.Shares(), Clusters: a.ClusterOf(), Own: a.StandardError * a.StandardError}
	second := estimate.Sample{Own: b.StandardError * b.StandardError}
	for i := range a.Rows {
		first.Values, second.Values = append(first.Values, a.Rows[i].Estimate), append(second.Values, b.Rows[i].Estimate)
	}
	p, err := first.Minus(second, own*own)
	return &p, err
}

// againLine is the line about rollouts that were asked for again; "" where there are none.
func againLine(l evaluation.Losses, label, to string) string {
	if l.AskedAgain == 0 {
		return ""
	}
	return fmt.Sprintf("  %s %s\n", label, show.AgainText(l, to))
}

// lossesOf are the losses behind a difference.
func lossesOf(a, b *evaluation.Result) (l evaluation.Losses) {
	l.Add(a.Losses, 1)
	l.Add(b.Losses, -1)
	return l
}
