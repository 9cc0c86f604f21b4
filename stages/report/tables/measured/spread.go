package measured

import (
	"fmt"

	"speceval/internal/agreement"
	"speceval/internal/profile"
	"speceval/internal/repeats"
	"speceval/internal/rollout"
	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Spread is how sampled profiles spread from 0 to 1, and how long the responses are.
var Spread = &model.Table{
	Base: "profile_spread", Label: "tab:profile-spread",
	Reads:   stored.Reads{Units: []dag.Ref{stored.LengthsRef}, Profiles: true},
	Has:     func(s *stored.Settings) bool { return len(s.Live.Rollouts) > 0 },
	Chapter: "The sampled profiles",
	Remarks: []string{`<ref profile_spread> has how the tasks spread from never passed to always passed, and how long the responses are.`},
	Make:    makeSpread,
}

// nearEnds is how near to 0 or 1 a pass probability is near the end.
const nearEnds = 0.1

// class is tasks by pass probability.
type class struct {
	name, words string
	head        table.Head
	has         func(p float64) bool
}

var classes = []class{
	{"never", "Tasks that none of the K rollouts passes.", head("0"), func(p float64) bool { return p == 0 }},
	{"rarely", "Tasks with a pass probability above 0 and of at most 0.1.", table.Head{Plain: "≤ 0.1", TeX: `$\le0.1$`}, func(p float64) bool { return p > 0 && p <= nearEnds }},
	{"between", "Tasks with a pass probability above 0.1 and below 0.9.", head("between"), func(p float64) bool { return p > nearEnds && p < 1-nearEnds }},
	{"mostly", "Tasks with a pass probability of at least 0.9 and below 1.", table.Head{Plain: "≥ 0.9", TeX: `$\ge0.9$`}, func(p float64) bool { return p >= 1-nearEnds && p < 1 }},
	{"always", "Tasks that all of the K rollouts pass.", head("1"), func(p float64) bool { return p == 1 }},
}

func makeSpread(src *stored.Source) (*model.Sheet, error) {
	rows, err := src.Profiles()
	if err != nil {
		return nil, err
	}
	lengths, err := src.Lengths()
	if err != nil {
		return nil, err
	}
	n := model.CountKey(model.ByTasks, "n_tasks", model.TasksWords, func(i int) int32 { return int32(rows[i].N()) })
	n.Head = table.Head{Plain: "N", TeX: "$N$"}
	s := &model.Sheet{Rows: len(rows), Title: "The sampled profiles: how many tasks are passed never, with a probability p of at most 0.1, in between, of at least 0.9, and always, among K rollouts of each; " +
		"the mean ± its standard error, the sum of variances, and how long the responses are."}
	s.Add(profileKeys(func(i int) (string, string) { return rows[i].Benchmark, rows[i].Model })...)
	s.Add(n, count("rollouts", "The rollouts «K» of each task.", table.Head{Plain: "K", TeX: "$K$"}, table.Head{}, func(i int) int { return rows[i].TestedK }))
	for _, c := range classes {
		s.Add(count(c.name, c.words, c.head, table.Head{Plain: "Tasks by pass probability p", TeX: "Tasks by pass probability $p$"}, func(i int) int {
			return tasksWith(rows[i], func(task int) bool { return c.has(rows[i].P(task)) })
		}))
	}
	s.Add(estimated(
		model.Column{Name: "mean", Words: "The mean of the pass probabilities, which an evaluation estimates.", Head: head("Mean"), Format: percent(2)},
		model.Column{Name: "mean_se", Role: model.Error, Words: "The standard error of mean: «√(Σ p(1−p)/K)/N¦(\\sum_i p_i(1-p_i)/K)^{1/2}/N»."},
		func(i int) agreement.Estimate { return repeats.MeanOf(rows[i]) })...)
	s.Add(model.Column{Name: "variance_sum", Words: "«Σ p(1−p)¦\\sum_i p_i(1-p_i)»: over «N²b¦N^2b» it is the variance of Uniform (Eq. 1).",
		Head: table.Head{Plain: "Σ p(1−p)", TeX: `$\sum p(1-p)$`}, Format: decimals(2), Cell: numbers(func(i int) float64 { return rows[i].VarianceSum() })})
	s.Add(lengthColumns(func(i int) rollout.Lengths { return lengths[[2]string{rows[i].Benchmark, rows[i].Model}] })...)
	for tenth := range 10 {
		to := fmt.Sprintf("below %.1f", float64(tenth+1)/10)
		if tenth == 9 {
			to = "of at most 1"
		}
		s.Add(count(fmt.Sprintf("tenth_%d", tenth+1), fmt.Sprintf("Tasks with a pass probability of at least %.1f and %s.", float64(tenth)/10, to), table.Head{}, table.Head{}, func(i int) int {
			return tasksWith(rows[i], func(task int) bool { return min(9, 10*rows[i].PassCounts[task]/rows[i].Rollouts(task)) == tenth })
		}))
	}
	return s, nil
}

// tasksWith counts the tasks of a profile for which something holds.
func tasksWith(p profile.Profile, holds func(task int) bool) (n int) {
	for i := range p.N() {
		if holds(i) {
			n++
		}
	}
	return n
}

// lengthColumns are the lengths of responses, missing where none are stored.
func lengthColumns(lengths func(row int) rollout.Lengths) []model.Column {
	column := func(name, words, above string, of func(rollout.Lengths) int32) model.Column {
		return model.Column{Name: name, Words: words + ", reasoning included. Of ‹" + stored.LengthsFile + "›.",
			Head: head(above), Group: head("Response length (tokens)"),
			Cell: func(i int) table.Cell {
				l := lengths(i)
				if len(l) == 0 {
					return table.Missing()
				}
				return table.Integer(of(l))
			}}
	}
	return []model.Column{
		column("length_median", "The median of the tokens of a response", "median", func(l rollout.Lengths) int32 { return l.Quantile(0.5) }),
		column("length_p99", "The 99th percentile of the tokens of a response", "99%", func(l rollout.Lengths) int32 { return l.Quantile(0.99) }),
		column("length_max", "The tokens of the longest response", "most", func(l rollout.Lengths) int32 { return l[len(l)-1].Tokens }),
	}
}
