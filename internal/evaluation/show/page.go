package show

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"speceval/internal/display"
	"speceval/internal/evaluation"
	"speceval/internal/figure"
	"speceval/internal/rollout"
)

//go:embed page.html.tmpl
var layout string

// Page is the page of a complete evaluation.
type Page struct {
	*evaluation.Stored
	Prompt func(task int) string // nil where another program has run the rollouts
}

// view is a page as its template reads it.
type view struct {
	Guard, About string
	Sample       string // error over what the tasks are a sample of
	Style        template.CSS
	*evaluation.Result
	Warnings []string
	Facts    []Line
	Plot     template.HTML
	Wide     int // pixels below which the plot scrolls
	Tasks    []task
	Graded   bool
	NoText   string // why there are no answers; "": there are
}

// task is a task with its pass rate, 95% interval of it in percent, and some answers.
type task struct {
	evaluation.Task
	Count          int
	Error          float64
	Low, At, Width float64
	Prompt         string
	Answers        []answer
}

// answer is an answer with its verdict.
type answer struct {
	Number        int // from 1
	Verdict, Kind string
	Text          string
}

// Write writes the page, which loads nothing else. It is an error if the stored answers
// cannot be read; without one of their files they are left out, and the page says so.
func (p Page) Write(w io.Writer) error {
	r := p.Result
	v := view{Guard: display.PageGuard(""), About: about(r), Sample: SampleError(r.SampleError), Style: template.CSS(display.PageStyle), Result: r, Warnings: p.Said, Graded: evaluation.Graded(r.Rows)}
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
	v.Tasks = make([]task, len(r.Rows))
	for i, row := range r.Rows {
		t := task{Task: row, Count: row.Rollouts(), Error: taskError(row)}
		t.Low = 100 * max(0, row.Mean-1.96*t.Error)
		t.At, t.Width = 100*row.Mean, 100*min(1, row.Mean+1.96*t.Error)-t.Low
		v.Tasks[i] = t
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
	slices.SortStableFunc(v.Tasks, func(a, b task) int { return cmp.Compare(a.Mean, b.Mean) })
	if err := v.draw(); err != nil {
		return err
	}
	parsed, err := template.New("page").Parse(layout)
	if err != nil {
		return err
	}
	out := display.NewEscapingWriter(w)
	return parsed.Execute(out, v)
}

// Bounds of what a page has of prompts and answers, in bytes, so that it stays below 500 kB.
const (
	mostBytes   = 440_000
	rowBytes    = 560 // of a task besides its texts
	answerBytes = 100 // of an answer besides its text
	leastText   = 200 // of an answer
	mostText    = 2000
	mostAnswers = 20 // of a task
)

// addAnswers adds the prompts and the first answers of all tasks.
func (p Page) addAnswers(tasks []task) error {
	room := max(0, mostBytes/len(tasks)-rowBytes)
	prompt := min(mostText, room/3)
	room -= prompt
	answers := max(1, min(mostAnswers, room/(leastText+answerBytes), slices.MaxFunc(tasks, func(a, b task) int { return a.Count - b.Count }).Count))
	each := max(0, min(mostText, room/answers-answerBytes))
	shown := func(id rollout.ID) bool {
		return int(id.Task) < len(tasks) && int(id.Rollout) < min(answers, tasks[id.Task].Count)
	}
	for i := range tasks {
		tasks[i].Prompt = bounded(p.Prompt(i), prompt, false)
	}
	verdicts := make(map[rollout.ID]*rollout.Score)
	for v, err := range rollout.Scores(filepath.Join(p.Folder, evaluation.ScoresFile)) {
		if err != nil {
			return err
		}
		if shown(v.ID()) {
			verdicts[v.ID()] = v
		}
	}
	for r, err := range rollout.Rollouts([]string{filepath.Join(p.Folder, evaluation.RolloutsFile)}) {
		if err != nil {
			return err
		}
		if v := verdicts[r.ID()]; v != nil {
			t := &tasks[r.TaskIndex]
			t.Answers = append(t.Answers, newAnswer(r, v, each))
		}
	}
	return nil
}

// newAnswer is an answer of about a number of bytes at most.
func newAnswer(r *rollout.Rollout, v *rollout.Score, most int) answer {
	text := r.Text
	if strings.TrimSpace(text) == "" {
		text = fmt.Sprintf("(no answer after %d characters of thinking)", utf8.RuneCountInString(r.Reasoning))
	}
	a := answer{Number: int(r.Rollout) + 1, Verdict: "failed", Kind: "bad", Text: bounded(text, most, true)}
	switch {
	case v.Correct:
		a.Verdict, a.Kind = "passed", "good"
	case v.Partial > 0:
		a.Verdict, a.Kind = fmt.Sprintf("reward %.3g", v.Partial), "noise"
	}
	for _, said := range []string{v.Answer, v.Note} {
		if said != "" {
			a.Verdict += ": " + bounded(said, most/2, false)
		}
	}
	return a
}

// bounded cuts a text to about a number of bytes of a page: its end, or its beginning, is kept.
func bounded(text string, most int, end bool) string {
	text = strings.TrimSpace(text)
	if len(template.HTMLEscapeString(text)) <= most {
		return text
	}
	runes, size := []rune(text), 0
	if end {
		slices.Reverse(runes)
	}
	for i, r := range runes {
		if size += len(template.HTMLEscapeString(string(r))); size > most {
			runes = append(runes[:i], '…')
			break
		}
	}
	if end {
		slices.Reverse(runes)
	}
	return string(runes)
}

// draw sets the plot: pass rates with their intervals, and the rollouts below them.
func (v *view) draw() error {
	rates := figure.NewPanel("", "", "pass rate")
	counts := figure.NewPanel("", "tasks, by pass rate", "rollouts")
	figure.Cover(&rates.Y, 0, 1)
	figure.Cover(&counts.Y, 0)
	rates.X.Tick.Length, rates.X.Tick.Label.Font.Size = 0, 0
	var at, spent plotter.XYs
	size := max(0.6, min(2, 150/float64(len(v.Tasks))))
	for i, t := range v.Tasks {
		x := float64(i + 1)
		rates.Series("", "", figure.Style{Ink: figure.SkyBlue, Width: 0.8}, plotter.XYs{{X: x, Y: t.Low / 100}, {X: x, Y: (t.Low + t.Width) / 100}})
		at = append(at, plotter.XY{X: x, Y: t.Mean})
		spent = append(spent, plotter.XY{X: x, Y: float64(t.Count)})
	}
	dots := figure.Style{Ink: figure.Blue, Marker: draw.CircleGlyph{}, Size: vg.Length(size)}
	rates.Series("", "", dots, at)
	dots.Ink = figure.Vermilion
	counts.Series("", "", dots, spent)
	f := figure.Figure{
		Base: "tasks", Title: "pass rates of the tasks with 95% intervals, and their rollouts", Width: 440, Height: 220,
		Panels: [][]*figure.Panel{{rates}, {counts}},
	}
	for _, p := range []*figure.Panel{rates, counts} {
		figure.Cover(&p.X, 0, float64(len(v.Tasks)+1))
	}
	var svg strings.Builder
	v.Wide = int(math.Round(f.Width))
	err := figure.Inline(&svg, f)
	v.Plot = template.HTML(svg.String())
	return err
}
