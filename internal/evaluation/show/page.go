package show

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"speceval/internal/evaluation"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/figure"
)

//go:embed page.html.tmpl
var layout string

// sheet is what every page has: warnings, a headline with what it means, facts, and plots.
type sheet struct {
	Guard, Title, About string
	Style               template.CSS
	Warnings            []string
	Headline            string
	Below               []string // what it means
	Facts               []Line
	Plots               []plot
}

// plot is a plot of tasks or of what they differ in.
type plot struct {
	Art     template.HTML
	Wide    int // pixels below which it scrolls
	Caption string
}

func newSheet(title, about string) sheet {
	return sheet{Guard: display.PageGuard(""), Style: template.CSS(display.PageStyle), Title: title, About: about}
}

// write writes a page by the template of its kind, evaluation or comparison. It loads nothing
// else.
func write(w io.Writer, kind string, page any) error {
	all, err := template.New("").Parse(layout)
	if err != nil {
		return err
	}
	return all.ExecuteTemplate(display.NewEscapingWriter(w), kind, page)
}

// Page is the page of a complete evaluation.
type Page struct {
	*evaluation.Stored
	Prompt func(task int) string // nil where another program has run the rollouts
}

// evaluationPage is the page of an evaluation as its template reads it.
type evaluationPage struct {
	sheet
	Tasks  []task
	All    string // how many tasks there are, where not all are listed, and what has them
	Mean   string // what is the mean of a task
	NoText string // why there are no answers; "": there are
}

// bar is a row with a value and its interval, in percent of the width of an axis.
type bar struct {
	Name           string
	Low, At, Width float64
	Shown          string // the value
	Count          string // of rollouts
}

// newBar is the bar of an interval on an axis.
func newBar(i interval, low, high float64) bar {
	of := func(x float64) float64 { return 100 * (min(max(x, low), high) - low) / (high - low) }
	return bar{Low: of(i.low), At: of(i.at), Width: of(i.high) - of(i.low)}
}

// task is a task with its pass rate, and some answers.
type task struct {
	evaluation.Task
	bar
	rate    interval
	Prompt  string
	Answers []answer
}

// Bounds of what a page has, in bytes, so that it stays below 500 kB.
const (
	mostBytes = 440_000
	rowBytes  = 530 // of a task besides its name and texts
	mostTasks = 500 // that are listed, and places of a plot
	mostName  = 120
)

// Write writes the page. It is an error if the stored answers cannot be read; without one of
// their files they are left out, and the page says so.
func (p Page) Write(w io.Writer) error {
	r := p.Result
	v := evaluationPage{sheet: newSheet(fmt.Sprintf("%s with %s: %.4f ± %.4f", r.Benchmark, r.Model, r.Estimate, r.StandardError), about(r)), Mean: "pass rate"}
	if evaluation.Graded(r.Rows) {
		v.Mean = "mean reward"
	}
	v.Headline = fmt.Sprintf("%.4f ± %.4f on these tasks", r.Estimate, r.StandardError)
	v.Below = []string{fmt.Sprintf("95%% interval %.4f to %.4f, for the error of rollouts on these %d tasks.", r.Interval[0], r.Interval[1], r.Tasks), SampleError(r.SampleError) + "."}
	v.Warnings = slices.Clone(p.Altered)
	var first []Line
	for _, l := range Lines(r, p.Folder)[1:] {
		switch l.Label {
		case warning, "note":
			v.Warnings = append(v.Warnings, l.Text)
		case "Uniform", "tokens", "cost", "time":
			first = append(first, l)
		case "other tasks", "files": // the head has the one, and the page lies beside the other
		default:
			v.Facts = append(v.Facts, l)
		}
	}
	v.Facts = append(first, v.Facts...)
	all := make([]task, len(r.Rows))
	for i, row := range r.Rows {
		e := taskError(row)
		t := task{Task: row, rate: interval{row.Mean, max(0, row.Mean-1.96*e), min(1, row.Mean+1.96*e)}}
		t.bar = newBar(t.rate, 0, 1)
		t.Name, t.Shown, t.Count = bounded(row.ID, mostName, false), fmt.Sprintf("%.3f ± %.3f", row.Mean, e), fmt.Sprint(row.Rollouts())
		all[i] = t
	}
	byMean := func(a, b task) int { return cmp.Compare(a.Mean, b.Mean) }
	slices.SortStableFunc(all, byMean)
	v.Tasks = slices.Clone(all)
	if len(all) > mostTasks {
		slices.SortStableFunc(v.Tasks, func(a, b task) int { return b.Rollouts() - a.Rollouts() })
		v.Tasks = v.Tasks[:mostTasks]
		slices.SortStableFunc(v.Tasks, byMean)
		v.All = fmt.Sprintf("%d of %s tasks are listed, those with most rollouts; all are in %s.", len(v.Tasks), display.Thousands(len(all)), evaluation.ResultFile)
	}
	switch {
	case r.Outside():
		v.NoText = "The answers are with the program that has run the rollouts."
	case p.Needs(evaluation.RolloutsFile, evaluation.ScoresFile) != nil:
		v.NoText = "No answers are at hand: the folder lacks the files of them."
	default:
		if err := p.addAnswers(v.Tasks); err != nil {
			return err
		}
	}
	rates, counts := make([]interval, len(all)), make([]interval, len(all))
	for i, t := range all {
		n := float64(t.Rollouts())
		rates[i], counts[i] = t.rate, interval{n, n, n}
	}
	top, bottom := across("", v.Mean, rates, figure.Blue), across("tasks, by "+v.Mean, "rollouts", counts, figure.Vermilion)
	figure.Cover(&top.Y, 0, 1)
	figure.Cover(&bottom.Y, 0)
	top.X.Tick.Length, top.X.Tick.Label.Font.Size = 0, 0
	caption := fmt.Sprintf("Each task by its %s: posterior mean and 95%% interval above, rollouts below.", v.Mean)
	if err := v.plot(caption, len(all), top, bottom); err != nil {
		return err
	}
	return write(w, "evaluation", v)
}

// interval is a value with an interval around it.
type interval struct{ at, low, high float64 }

// across is a panel of values in their order, with their intervals. Of more than there are places
// for, neighbours share one: with the mean of their values, and the ends of their intervals.
func across(x, y string, all []interval, ink color.RGBA) *figure.Panel {
	p, places := figure.NewPanel("", x, y), min(len(all), mostTasks)
	var at plotter.XYs
	for k := range places {
		here := all[k*len(all)/places : (k+1)*len(all)/places]
		joint := here[0]
		joint.at = 0
		for _, i := range here {
			joint.low, joint.high, joint.at = min(joint.low, i.low), max(joint.high, i.high), joint.at+i.at/float64(len(here))
		}
		x := float64(k + 1)
		if joint.low < joint.high {
			p.Series("", "", figure.Style{Ink: figure.SkyBlue, Width: 0.8}, plotter.XYs{{X: x, Y: joint.low}, {X: x, Y: joint.high}})
		}
		at = append(at, plotter.XY{X: x, Y: joint.at})
	}
	p.Series("", "", figure.Style{Ink: ink, Marker: draw.CircleGlyph{}, Size: vg.Length(max(0.6, min(2, 150/float64(places))))}, at)
	figure.Cover(&p.X, 0, float64(places+1))
	return p
}

// plot adds a plot of panels, one above the other, of a number of tasks.
func (s *sheet) plot(caption string, tasks int, panels ...*figure.Panel) error {
	f := figure.Figure{Title: caption, Width: 440, Height: 110 * float64(len(panels))}
	for _, p := range panels {
		f.Panels = append(f.Panels, []*figure.Panel{p})
	}
	if tasks > mostTasks {
		caption += fmt.Sprintf(" Of %s tasks, neighbours share a place: the mean of their values, and the ends of their intervals.", display.Thousands(tasks))
	}
	var svg strings.Builder
	err := figure.Inline(&svg, f)
	s.Plots = append(s.Plots, plot{template.HTML(svg.String()), int(math.Round(f.Width)), caption})
	return err
}
