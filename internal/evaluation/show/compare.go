package show

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"

	"speceval/internal/evaluation"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/figure"
)

// Comparison is two or more results on the same tasks. Its numbers are in the order in which
// they were named; where one of them is named by a number, from 1.
type Comparison struct {
	Evaluations []string  `json:"evaluations"` // as they were named
	Estimates   []float64 `json:"estimates"`
	Errors      []float64 `json:"standard_errors"`
	Budgets     []int     `json:"budgets"`
	Rollouts    []int     `json:"rollouts"`
	Tiers       [][]int   `json:"tiers"` // the best first; an evaluation is in the tier before unless it is apart from the first of that

	*Pair        // of two; nil of more
	Pairs []Pair `json:"pairs,omitempty"` // of more than two

	Results  []*evaluation.Result `json:"-"`
	Warnings []string             `json:"-"` // about files that were read
}

// Pair is the difference of two evaluations of a comparison.
type Pair struct {
	Of            [2]int            `json:"of"`
	Difference    float64           `json:"difference"` // first minus second
	StandardError float64           `json:"standard_error"`
	Interval      [2]float64        `json:"interval"` // 95%, for these tasks
	Apart         bool              `json:"apart"`    // 0 is outside, at an error rate of 5% for all pairs of the comparison together
	Tasks         *OverTasks        `json:"tasks"`    // for what the tasks are a sample of; null where they are of one cluster
	Resolves      float64           `json:"resolves"` // difference that is found four times in five with these budgets
	Losses        evaluation.Losses `json:"losses"`   // of both, and what they can have done to the difference
	Resolve       *Resolution       `json:"resolve"`  // null unless asked for
	Coupled       *Coupled          `json:"coupled,omitempty"`
}

// Coupled is two evaluations whose rollouts come in pairs of one seed.
type Coupled struct {
	Correlation float64 `json:"correlation"` // of the rewards of a pair, over the pairs of a task
	Factor      float64 `json:"factor"`      // variance of the difference, of as many independent rollouts 1
}

// Resolution is the need for finding a difference four times in five.
type Resolution struct {
	Difference float64 `json:"difference"`
	Budgets    [2]int  `json:"budgets"`  // of each, in rollouts per task
	Rollouts   int     `json:"rollouts"` // of both, in all
}

// OverTasks is a difference where the tasks are a sample of what they stand for. Both
// models had the same ones, so that what makes a task hard for both cancels.
type OverTasks struct {
	StandardError float64    `json:"standard_error"`
	Interval      [2]float64 `json:"interval"`    // 95%
	Correlation   float64    `json:"correlation"` // of the two models, over samples of tasks
	Unpaired      float64    `json:"unpaired"`    // the standard error on two samples of tasks
	Clusters      int        `json:"clusters"`    // independent draws
}

// SetTiers sets the tiers by the pairs, which must all be there.
func (c *Comparison) SetTiers() {
	apart := func(a, b int) bool {
		return slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.Apart && (p.Of == [2]int{a, b} || p.Of == [2]int{b, a}) })
	}
	for _, n := range c.ranked() {
		if k := len(c.Tiers) - 1; k >= 0 && !apart(c.Tiers[k][0], n) {
			c.Tiers[k] = append(c.Tiers[k], n)
		} else {
			c.Tiers = append(c.Tiers, []int{n})
		}
	}
}

// ranked are the numbers of the evaluations, the one with the greatest mean first.
func (c *Comparison) ranked() (order []int) {
	for n := range c.Evaluations {
		order = append(order, n+1)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Estimates[b-1], c.Estimates[a-1]) })
	return order
}

// fewPairs is how many differences of more than two evaluations are shown unless all are asked for.
const fewPairs = 10

// Text writes the comparison for people, with some differences or all.
func (c *Comparison) Text(w io.Writer, all bool) error {
	var b strings.Builder
	if c.Pair != nil {
		for i, name := range c.Evaluations {
			fmt.Fprintf(&b, "%d  %.4f ± %.4f  %s\n", i+1, c.Estimates[i], c.Errors[i], display.EscapedLine(name))
		}
		b.WriteString("\n")
		for _, l := range c.Pair.lines() {
			fmt.Fprintf(&b, "  %-15s %s\n", l.Label, strings.ReplaceAll(l.Text, "\n", "\n                  "))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	b.WriteString("tier  mean             rollouts\n")
	for k, tier := range c.Tiers {
		for _, n := range tier {
			fmt.Fprintf(&b, "%4d  %.4f ± %.4f  %8d  %d  %s\n", k+1, c.Estimates[n-1], c.Errors[n-1], c.Rollouts[n-1], n, display.EscapedLine(c.Evaluations[n-1]))
		}
	}
	fmt.Fprintf(&b, "\n%s\n\n", c.tiersText())
	shown := c.Pairs
	if !all && len(shown) > fewPairs {
		shown = shown[:fewPairs]
	}
	for _, p := range shown {
		fmt.Fprintf(&b, "  %2d − %-2d  %+.4f ± %.4f, 95%% interval %+.4f to %+.4f", p.Of[0], p.Of[1], p.Difference, p.StandardError, p.Interval[0], p.Interval[1])
		if p.Tasks != nil {
			fmt.Fprintf(&b, "; for other tasks ± %.4f", p.Tasks.StandardError)
		}
		b.WriteString(map[bool]string{true: ": apart\n", false: "\n"}[p.Apart])
		if p.Resolve != nil {
			fmt.Fprintf(&b, "           to find %g take %d and %d rollouts per task, %d in all\n", p.Resolve.Difference, p.Resolve.Budgets[0], p.Resolve.Budgets[1], p.Resolve.Rollouts)
		}
		if p.Losses.AskedAgain > 0 {
			fmt.Fprintf(&b, "           %s\n", AgainText(p.Losses, "difference"))
		}
	}
	if len(shown) < len(c.Pairs) {
		fmt.Fprintf(&b, "  %d more differences: --all\n", len(c.Pairs)-len(shown))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tiersText says what tiers are.
func (c *Comparison) tiersText() string {
	return fmt.Sprintf("In a tier no evaluation differs from the first one, at an error rate of 5%% for all %d differences together.", len(c.Pairs))
}

// lines are the facts about a difference, the difference first.
func (p *Pair) lines() (all []Line) {
	line := func(label, format string, args ...any) { all = append(all, Line{label, fmt.Sprintf(format, args...)}) }
	verdict := "0 is inside: these rollouts do not tell them apart"
	if p.Interval[0] > 0 || p.Interval[1] < 0 {
		verdict = "0 is outside: they differ"
	}
	line("difference", "%+.4f ± %.4f, 95%% interval %+.4f to %+.4f\n%s", p.Difference, p.StandardError, p.Interval[0], p.Interval[1], verdict)
	if p.Losses.AskedAgain > 0 {
		line("lost", "%s", AgainText(p.Losses, "difference"))
	}
	if c := p.Coupled; c != nil {
		line("coupled", "rollouts of one seed correlate by %+.2f: the variance is %.2f of the one of\nindependent rollouts", c.Correlation, c.Factor)
	}
	if t := p.Tasks; t != nil {
		line("other tasks", "± %.4f, %+.4f to %+.4f, for what these %d tasks, or clusters of them, are a\nsample of;\n± %.4f if each model had tasks of its own", t.StandardError, t.Interval[0], t.Interval[1], t.Clusters, t.Unpaired)
	}
	line("these budgets", "find a difference of %.4f four times in five", p.Resolves)
	if r := p.Resolve; r != nil {
		line(fmt.Sprintf("to find %-7.4g", r.Difference), "take %d and %d rollouts per task, %d in all; no more, since the\nallocation gets better with the budget", r.Budgets[0], r.Budgets[1], r.Rollouts)
	}
	return all
}

// comparisonPage is the page of a comparison as its template reads it.
type comparisonPage struct {
	sheet
	Ends    [2]string // of the axis of the means
	Tiers   []tier
	Pairs   []Pair
	Hidden  int // pairs
	Numbers []int
	Tasks   []compared
	All     string // how many tasks there are, where not all are listed
}

// tier is one of the tiers.
type tier struct {
	Number int
	Bars   []bar
}

// compared is a task with the pass rates of all, and the difference of two.
type compared struct {
	bar
	Rates []string

	spread float64
}

// Page writes the comparison as a page that loads nothing else.
func (c *Comparison) Page(w io.Writer) error {
	first := c.Results[0]
	v := comparisonPage{sheet: newSheet("Comparison on "+first.Benchmark, fmt.Sprintf("%d evaluations of %d tasks of %s", len(c.Results), first.Tasks, first.Benchmark))}
	v.Warnings = slices.Clone(c.Warnings)
	for i, r := range c.Results {
		for _, l := range Lines(r, "") {
			if l.Label == warning || l.Label == "note" {
				v.Warnings = append(v.Warnings, fmt.Sprintf("%d: %s", i+1, l.Text))
			}
		}
	}
	if p := c.Pair; p != nil {
		v.Headline = fmt.Sprintf("%+.4f ± %.4f: %s", p.Difference, p.StandardError, map[bool]string{true: "they differ", false: "no difference is shown"}[p.Apart])
		v.Below = []string{fmt.Sprintf("The first less the second; 95%% interval %+.4f to %+.4f, for the error of rollouts on these %d tasks.", p.Interval[0], p.Interval[1], first.Tasks)}
		for _, l := range p.lines()[1:] {
			if l.Text = strings.ReplaceAll(l.Text, "\n", " "); l.Label == "lost" {
				v.Warnings = append(v.Warnings, l.Text)
			} else {
				v.Facts = append(v.Facts, l)
			}
		}
	} else {
		v.Headline = fmt.Sprintf("%s of %d evaluations", display.Count(len(c.Tiers), "tier", "tiers"), len(c.Results))
		v.Below = []string{c.tiersText()}
	}
	v.means(c)
	v.Pairs = c.Pairs[:min(len(c.Pairs), mostPairs)]
	v.Hidden = len(c.Pairs) - len(v.Pairs)
	if err := v.tasks(c); err != nil {
		return err
	}
	return write(w, "comparison", v)
}

// mostPairs is how many differences a page has.
const mostPairs = 200

// means sets the tiers with their means, on one axis from the least end of an interval to the
// greatest.
func (v *comparisonPage) means(c *Comparison) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range c.Results {
		low, high = min(low, r.Interval[0]), max(high, r.Interval[1])
	}
	margin := max(0.005, 0.05*(high-low))
	low, high = max(0, low-margin), min(1, high+margin)
	v.Ends = [2]string{fmt.Sprintf("%.3f", low), fmt.Sprintf("%.3f", high)}
	for k, numbers := range c.Tiers {
		t := tier{Number: k + 1}
		for _, n := range numbers {
			r := c.Results[n-1]
			b := newBar(interval{r.Estimate, r.Interval[0], r.Interval[1]}, low, high)
			b.Name, b.Count = fmt.Sprintf("%d  %s", n, bounded(c.Evaluations[n-1], mostName, true)), display.Thousands(r.Rollouts)
			b.Shown = fmt.Sprintf("%.4f ± %.4f", r.Estimate, r.StandardError)
			t.Bars = append(t.Bars, b)
		}
		v.Tiers = append(v.Tiers, t)
	}
}

// tasks sets the tasks, those in which the evaluations differ most first, and the plot of the
// differences of the two with the greatest means, or of the only two as they were named.
func (v *comparisonPage) tasks(c *Comparison) error {
	of := [2]int{1, 2}
	if c.Pair == nil {
		of = [2]int(c.ranked()[:2])
		for n := range c.Results {
			v.Numbers = append(v.Numbers, n+1)
		}
	}
	a, b := c.Results[of[0]-1], c.Results[of[1]-1]
	all, differences := make([]compared, a.Tasks), make([]interval, a.Tasks)
	for i, x := range a.Rows {
		y := b.Rows[i]
		d, e := x.Mean-y.Mean, 1.96*math.Hypot(taskError(x), taskError(y))
		differences[i] = interval{d, max(-1, d-e), min(1, d+e)}
		t, low, high := compared{bar: newBar(differences[i], -1, 1)}, 1.0, 0.0
		t.Name, t.Shown = bounded(x.ID, mostName, false), fmt.Sprintf("%+.3f ± %.3f", d, e/1.96)
		t.Count = fmt.Sprintf("%d, %d", x.Rollouts(), y.Rollouts())
		for _, r := range c.Results {
			mean := r.Rows[i].Mean
			low, high = min(low, mean), max(high, mean)
			t.Rates = append(t.Rates, fmt.Sprintf("%.3f", mean))
		}
		t.spread = high - low
		all[i] = t
	}
	slices.SortStableFunc(all, func(a, b compared) int { return cmp.Compare(b.spread, a.spread) })
	v.Tasks = all[:min(len(all), mostTasks, 300_000/(rowBytes/2+30*len(v.Numbers)))]
	if len(v.Tasks) < len(all) {
		v.All = fmt.Sprintf("%d of %s tasks are listed, by the largest difference.", len(v.Tasks), display.Thousands(len(all)))
	}
	slices.SortFunc(differences, func(a, b interval) int { return cmp.Compare(a.at, b.at) })
	panel := across("tasks, by difference", "difference", differences, figure.Blue)
	figure.Cover(&panel.Y, -0.1, 0.1)
	panel.Series("", "", figure.Style{Ink: figure.Grey, Width: 0.5, Dash: figure.Dotted}, plotter.XYs{{X: 0}, {X: panel.X.Max}})
	caption := fmt.Sprintf("Each task by the difference of its pass rates, %d less %d: posterior means, with 95%% intervals.", of[0], of[1])
	return v.plot(caption, len(all), panel)
}
