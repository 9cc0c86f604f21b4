package measured

import (
	"cmp"
	"fmt"

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
	Words: `
rollouts       The rollouts K of each task.
never          Tasks that none of the K rollouts passes.
rarely         Tasks with a pass probability above 0 and of at most 0.1.
between        Tasks with a pass probability above 0.1 and below 0.9.
mostly         Tasks with a pass probability of at least 0.9 and below 1.
always         Tasks that all of the K rollouts pass.
mean           The mean of the pass probabilities, which an evaluation estimates.
mean_se        The standard error of mean: √(Σ p(1−p)/K)/N.
variance_sum   Σ p(1−p): over N²b it is the variance of Uniform (Eq. 1).
length_median  The median of the tokens of a response, reasoning included. Of report/lengths.parquet.
length_p99     The 99th percentile of the tokens of a response, reasoning included. Of report/lengths.parquet.
length_max     The tokens of the longest response, reasoning included. Of report/lengths.parquet.
`,
}

type spreadRow struct {
	profileKeys
	NTasks      int         `csv:"n_tasks" head:"N|$N$"`
	Rollouts    int         `csv:"rollouts" head:"K|$K$"`
	Never       int         `csv:"never" head:"0" group:"Tasks by pass probability p|Tasks by pass probability $p$"`
	Rarely      int         `csv:"rarely" head:"≤ 0.1|$\\le0.1$" group:"Tasks by pass probability p|Tasks by pass probability $p$"`
	Between     int         `csv:"between" head:"between" group:"Tasks by pass probability p|Tasks by pass probability $p$"`
	Mostly      int         `csv:"mostly" head:"≥ 0.9|$\\ge0.9$" group:"Tasks by pass probability p|Tasks by pass probability $p$"`
	Always      int         `csv:"always" head:"1" group:"Tasks by pass probability p|Tasks by pass probability $p$"`
	Mean        model.Maybe `csv:"mean" head:"Mean" format:".2%±"`
	MeanSE      model.Maybe `csv:"mean_se"`
	VarianceSum model.Maybe `csv:"variance_sum" head:"Σ p(1−p)|$\\sum p(1-p)$" format:".2"`
	Median      *int32      `csv:"length_median" head:"median" group:"Response length (tokens)"`
	P99         *int32      `csv:"length_p99" head:"99%" group:"Response length (tokens)"`
	Longest     *int32      `csv:"length_max" head:"most" group:"Response length (tokens)"`
	tenths      [10]int
}

// nearEnds is how near to 0 or 1 a pass probability is near the end.
const nearEnds = 0.1

func makeSpread(src *stored.Source) (*model.Sheet, error) {
	all, err := src.Profiles()
	lengths, noLengths := src.Lengths()
	if err := cmp.Or(err, noLengths); err != nil {
		return nil, err
	}
	var rows []spreadRow
	for _, p := range all {
		row := spreadRow{profileKeys: profileKeys{p.Benchmark, model.Checkpoint(p.Model)}, NTasks: p.N(), Rollouts: p.TestedK, VarianceSum: model.Maybe(p.VarianceSum())}
		row.Mean, row.MeanSE = maybe(meanOf(p))
		for i := range p.N() {
			row.tenths[min(9, 10*p.PassCounts[i]/p.Rollouts(i))]++
			switch at := p.P(i); {
			case at == 0:
				row.Never++
			case at <= nearEnds:
				row.Rarely++
			case at < 1-nearEnds:
				row.Between++
			case at < 1:
				row.Mostly++
			default:
				row.Always++
			}
		}
		if l := lengths[[2]string{p.Benchmark, p.Model}]; len(l) > 0 {
			median, p99 := l.Quantile(0.5), l.Quantile(0.99)
			row.Median, row.P99, row.Longest = &median, &p99, &l[len(l)-1].Tokens
		}
		rows = append(rows, row)
	}
	s := model.NewSheet("The sampled profiles: how many tasks are passed never, with a probability p of at most 0.1, in between, of at least 0.9, and always, among K rollouts of each; "+
		"the mean ± its standard error, the sum of variances, and how long the responses are.", rows)
	for tenth := range 10 {
		to := fmt.Sprintf("below %.1f", float64(tenth+1)/10)
		if tenth == 9 {
			to = "of at most 1"
		}
		s.Add(model.Column{Name: fmt.Sprintf("tenth_%d", tenth+1), Words: fmt.Sprintf("Tasks with a pass probability of at least %.1f and %s.", float64(tenth)/10, to),
			Cell: func(i int) table.Cell { return table.Integer(rows[i].tenths[tenth]) }})
	}
	return s, nil
}
