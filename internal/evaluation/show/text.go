// Package show shows the result of an evaluation to people: as text, and as an HTML page.
package show

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/servers/ending"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
	"speceval/method/estimate"
)

// fewTasks is how many tasks are shown unless all are asked for.
const fewTasks = 5

// Line is a fact about a result.
type Line struct{ Label, Text string }

// missed is how far, relative to it, the error is above the one that was asked for before this is said.
const missed = 1.02

// warning is the label of what a user has to know before anything else.
const warning = "WARNING"

// Lines are the facts about a result in a folder, the mean first.
func Lines(r *evaluation.Result, folder string) (all []Line) {
	line := func(label, format string, args ...any) { all = append(all, Line{label, fmt.Sprintf(format, args...)}) }
	line("mean", "%.4f ± %.4f, 95%% interval %.4f to %.4f", r.Estimate, r.StandardError, r.Interval[0], r.Interval[1])
	said := r.Answers.Lines(0)
	for _, text := range said {
		label := "answers"
		if slices.Contains(r.Answers.Lines(ending.Warned), text) {
			label = warning
		}
		line(label, "%s", text)
	}
	spent := float64(r.Rollouts) / float64(r.Tasks)
	if r.Design.Risk != nil && r.Gain() < 0 {
		line(warning, "this run did worse than Uniform, which needs %.1f rollouts per task for this error, and %.1f were spent. With few tasks, a small budget or a tight limit, or where all tasks are about as hard, take --policy uniform", r.Uniform.Budget, spent)
	}
	if r.Stop != nil && r.Stop.StandardError > 0 && r.StandardError > missed*r.Stop.StandardError {
		line("target", "± %.4g was asked for and not reached: the rollouts were less certain than expected, or a limit came first. `speceval evaluate extend` lowers the error", r.Stop.StandardError)
	}
	if c := r.Cost; c != nil && c.Reported && r.Stop != nil && r.Stop.Dollars > 0 && c.Dollars > 1.05*r.Stop.Dollars {
		line(warning, "the servers report a cost of $%.4g, and the limit of $%g counted by --price: take their prices", c.Dollars, r.Stop.Dollars)
	}
	for _, p := range r.PassK {
		line(p.Name(), "%.4f ± %.4f, 95%% interval %.4f to %.4f", p.Estimate, p.StandardError, p.Interval[0], p.Interval[1])
	}
	for _, p := range r.Suite {
		line(p.Benchmark, "%.4f ± %.4f by %d rollouts, with weight %.3g", p.Estimate, p.StandardError, p.Rollouts, p.Weight)
	}
	if text := Floor(r.Design); text != "" {
		line("floor", "%s", text)
	}
	line("other tasks", "%s", SampleError(r.SampleError))
	line("rollouts", "%s", rolloutsText(r))
	var asked []string
	for _, key := range slices.Sorted(maps.Keys(r.Asked)) {
		if name, is := strings.CutPrefix(key, "sampling."); is {
			asked = append(asked, name+" "+r.Asked[key])
		}
	}
	if asked != nil {
		line("sampling", "%s", strings.Join(asked, ", "))
	}
	if r.Known != nil {
		line("donors", "%s", knownText(r.Known))
	}
	var lost []string
	if n := r.Losses.Continued; n > 0 {
		lost = append(lost, display.Count(n, "rollout", "rollouts")+" continued from what was seen")
	}
	if r.Losses.AskedAgain > 0 {
		lost = append(lost, AgainText(r.Losses, "mean"))
	}
	if len(lost) > 0 {
		line("lost", "%s", strings.Join(lost, "; "))
	}
	if !r.Outside() || r.Tokens != (evaluation.Tokens{}) {
		line("tokens", "%s", tokensText(r))
	}
	if text := costText(r); text != "" {
		line("cost", "%s", text)
	}
	if !r.Outside() {
		text := display.Duration(r.Seconds)
		if r.Barrier >= 0.05 { // as it is shown
			text += fmt.Sprintf(", with places empty for %s before the last allocation", display.Duration(r.Barrier))
		}
		if r.Sessions > 1 {
			text += fmt.Sprintf(", in %d runs", r.Sessions)
		}
		line("time", "%s", text)
	}
	if u := r.Uniform; r.Design.Risk != nil {
		text := fmt.Sprintf("would have needed %.1f rollouts per task for this error (%.1f to %.1f)", u.Budget, u.Interval[0], u.Interval[1])
		if r.Gain() == 0 {
			text += fmt.Sprintf(": no gain over the %.4g that were spent can be claimed", spent)
		}
		line("Uniform", "%s", text)
	}
	line("files", "%s", folder)
	for _, note := range r.Notes {
		if !slices.Contains(said, note) {
			line("note", "%s", note)
		}
	}
	return all
}

// about says what a result is of: its budget or goal in words, too.
func about(r *evaluation.Result) string {
	spent := fmt.Sprintf("%d rollouts per task on average", r.Budget)
	if r.Stop != nil {
		spent = r.Stop.Words()
	}
	if r.Extends != "" {
		spent += ", those of " + r.Extends + " among them"
	}
	return fmt.Sprintf("%s with %s: %s, %s, seed %d (%s)", r.Benchmark, r.Model, r.Policy, spent, r.Seed, r.Provenance)
}

// Text writes a result for people, with some tasks or all. Folder is the folder of the
// evaluation.
func Text(w io.Writer, r *evaluation.Result, folder string, all bool) error {
	var b strings.Builder
	b.WriteString(display.EscapedLine(about(r)) + "\n\n")
	for _, l := range Lines(r, folder) {
		fmt.Fprintf(&b, "  %-12s %s\n", l.Label, display.EscapedLine(l.Text))
	}
	if _, err := fmt.Fprintln(w, b.String()); err != nil {
		return err
	}
	g := tasksTable(r, all)
	return g.Write(w)
}

// knownText is the weight of donors and their saving, in words.
func knownText(k *evaluation.Known) string {
	var parts []string
	for _, d := range k.Donors {
		parts = append(parts, fmt.Sprintf("%s weighs %.2f", d.Source, d.Weight))
	}
	if k.Mean > 0 {
		parts = append(parts, fmt.Sprintf("their mean %.2f", k.Mean))
	}
	text := fmt.Sprintf("%s, none %.2f", strings.Join(parts, ", "), k.None)
	switch {
	case k.Saved >= 0.005:
		text += fmt.Sprintf("; without them this error takes about %.0f%% more rollouts", 100*k.Saved)
	case k.Saved <= -0.005:
		text += fmt.Sprintf("; without them this error would have taken about %.0f%% fewer rollouts", -100*k.Saved)
	}
	return text
}

func rolloutsText(r *evaluation.Result) string {
	text := fmt.Sprintf("%d of %d tasks", r.Rollouts, r.Tasks)
	if r.Design.Pilots > 0 && r.Design.Risk != nil {
		least, most := r.Rows[0].Continuations, r.Rows[0].Continuations
		for _, t := range r.Rows {
			least, most = min(least, t.Continuations), max(most, t.Continuations)
		}
		text += fmt.Sprintf(": a pilot of %d each, then %d to %d more", r.Design.Pilots, least, most)
		if k := len(r.Design.Fractions); k > 1 {
			text += fmt.Sprintf(" in %d stages", k)
		}
	}
	if r.Extra > 0 {
		text += fmt.Sprintf("; %d more discarded", r.Extra)
	}
	if r.Lost > 0 {
		text += fmt.Sprintf("; %s", display.Count(r.Lost, "request was lost when a run ended", "requests were lost when runs ended"))
	}
	return text
}

// AgainText says what rollouts that were asked for again can have done to a number.
func AgainText(l evaluation.Losses, to string) string {
	return fmt.Sprintf("%s asked again, for which the %s may be too high by %.4f at most, or too low by %.4f",
		display.Count(l.AskedAgain, "rollout", "rollouts"), to, l.TooHigh, l.TooLow)
}

func tokensText(r *evaluation.Result) string {
	t, limit := r.Tokens, ""
	if r.Stop != nil && r.Stop.Tokens > 0 {
		limit = fmt.Sprintf("; %d in all, of %d at most", t.All, r.Stop.Tokens)
	}
	if t.Untold > 0 {
		return fmt.Sprintf("not told of %s", display.Count(t.Untold, "rollout", "rollouts")) + limit
	}
	return fmt.Sprintf("%s of answers and %s of prompts; %s more wasted", display.ThreeDigits(t.Completion), display.ThreeDigits(t.Prompt), display.ThreeDigits(t.Wasted)) + limit
}

// costText is the cost of all requests in words; "" where it is not known.
func costText(r *evaluation.Result) string {
	if r.Cost == nil {
		return ""
	}
	text := fmt.Sprintf("$%.4g, by the prices of tokens", r.Cost.Dollars)
	if r.Cost.Reported {
		text = fmt.Sprintf("$%.4g, as the servers report", r.Cost.Dollars)
	}
	if r.Extends != "" {
		text += ", for what was added"
	}
	if r.Stop != nil && r.Stop.Dollars > 0 {
		text += fmt.Sprintf("; of $%g at most", r.Stop.Dollars)
	}
	return text
}

// tasksTable lists the tasks, the one with most rollouts first.
func tasksTable(r *evaluation.Result, all bool) table.Grid {
	rows, earned := slices.Clone(r.Rows), "%.0f"
	g := table.Grid{
		Title: "The tasks", Heads: []string{"<task", "rollouts", "passed", "pass rate", "±"},
		Notes: []string{"Pass rates are posterior means, which lean to those of the other tasks; ± is the standard deviation of a rollout over the root of their number."},
	}
	if !all && len(rows) > fewTasks {
		slices.SortStableFunc(rows, func(a, b evaluation.Task) int { return b.Rollouts() - a.Rollouts() })
		rows = rows[:fewTasks]
		g.Title = fmt.Sprintf("The tasks that the budget went to; --all shows all %d", len(r.Rows))
	}
	if evaluation.Graded(r.Rows) {
		g.Heads[2], g.Heads[3], earned = "rewards", "mean", "%.2f"
		g.Notes[0] = "Means are posterior ones, which lean to those of the other tasks; ± is at most the standard deviation of a rollout over the root of their number, that of rewards of 0 and 1."
	}
	for _, row := range rows {
		all := estimate.Sum(row.Stages)
		g.Add(row.ID, fmt.Sprint(all.Rollouts), fmt.Sprintf(earned, all.Rewards), fmt.Sprintf("%.3f", row.Mean), fmt.Sprintf("%.3f", taskError(row)))
	}
	return g
}

// taskError is the standard error of a task's pass rate.
func taskError(t evaluation.Task) float64 {
	return math.Sqrt(t.Variance / float64(t.Rollouts()))
}

// SampleError is an error over what the tasks are a sample of, in words.
func SampleError(e evaluation.SampleError) string {
	if e.Clusters < 2 {
		return "all tasks are of one cluster: what they stand for cannot be told from them"
	}
	draws := map[bool]string{true: "clusters", false: "tasks"}[e.Clustered]
	return fmt.Sprintf("± %.4f, %.4f to %.4f, for what these %d %s are a sample of", e.StandardErrorTasks, e.IntervalTasks[0], e.IntervalTasks[1], e.Clusters, draws)
}

// Stages is how the rollouts of an evaluation are spent, in words.
func Stages(s *evaluation.Setup) string {
	after := max(1, len(s.Design.Fractions))
	switch {
	case s.Design.Pilots == s.Budget:
		return cmp.Or(s.Used, s.Policy)
	case s.Extends != nil:
		return fmt.Sprintf("%s in %d stages", s.Policy, after)
	}
	return fmt.Sprintf("%s with a pilot of %d each, in %d stages", s.Policy, s.Design.Pilots, after+1)
}

// Floor is the floors of a suite's benchmarks and their price in words; "" without floors.
func Floor(d evaluation.Design) string {
	if d.FreeRisk == nil || len(d.Cells) == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g rollouts per task of every benchmark at least, expected to cost %.1f%% of the variance of the mean (--floor 0 goes without)",
		float64(d.Cells[0].Least)/float64(d.Cells[0].Tasks), 100*max(0, *d.Risk / *d.FreeRisk - 1))
}

// Spending is the limit of an evaluation, in words: 480 rollouts.
func Spending(s *evaluation.Setup) string {
	all, before := len(s.TaskIDs)*s.Budget, s.Extends.All()
	switch {
	case s.Stop != nil:
		return s.Stop.Words()
	case s.Extends != nil:
		return fmt.Sprintf("%d rollouts after the %d of %s", all-before, before, s.Extends.Name)
	}
	return fmt.Sprintf("%d rollouts", all)
}
