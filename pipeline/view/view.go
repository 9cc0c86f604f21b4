// Package view serves a page about an output folder: the evaluations and units of the pipeline
// in it, running ones and complete ones. It changes nothing.
package view

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/internal/terminal/display"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/evaluate"
	"speceval/pipeline/status"
)

//go:embed view.html.tmpl
var layout string

//go:embed view.js
var script string

// View is the page as an HTTP handler.
type View struct {
	Archive evaluate.Archive
	Prior   *neyman.Prior                  // of the tasks
	Units   func() (*status.Status, error) // of the pipeline; a nil Status where none has run

	mu     sync.Mutex
	reader *evaluate.Reader
}

// page is the data of the template: a folder, or one of its evaluations.
type page struct {
	Guard       string
	Style       template.CSS
	Script      template.HTML
	Out         string
	Evaluations []*line
	Units       *status.Status
	Fault       error // of the units
	One         *line // nil: all
}

// line is an evaluation. What is provisional is by complete stages.
type line struct {
	evaluate.Listed
	Mean              *evaluation.Provisional
	Provisional       bool
	All               int // rollouts that it is to have
	Tokens, Cost, Age string
	Why               string // where the next rollouts go
	Facts             []show.Line
	Report            bool // there is a page of it
	Tasks             []task
}

// task is the knowledge of a task, and the number of its next rollouts.
type task struct {
	ID                     string
	Scored, Selected, Next int
	Rate, Spread           float64 // posterior mean, and standard deviation of a rollout
	Width, Rest            float64 // of its bar: scored and to come, in percent
}

// ServeHTTP answers requests to this machine by its own name or address, so that no page of
// another site can read what is served.
func (v *View) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host != "localhost" && !net.ParseIP(host).IsLoopback() {
		http.Error(w, "this page is for this machine alone", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "this page only shows", http.StatusMethodNotAllowed)
		return
	}
	p := page{Guard: display.PageGuard(script, "'self'"), Style: template.CSS(display.PageStyle), Script: template.HTML("<script>" + script + "</script>"), Out: v.Archive.Config.Experiment.Out}
	lines, err := v.lines()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	p.Evaluations = lines
	switch r.URL.Path {
	case "/":
		p.Units, p.Fault = v.Units()
	case "/evaluation", "/report":
		at := slices.IndexFunc(p.Evaluations, func(l *line) bool { return l.Name == r.URL.Query().Get("name") })
		if at < 0 {
			http.Error(w, "there is no such evaluation in "+p.Out, http.StatusNotFound)
			return
		}
		if p.One = p.Evaluations[at]; r.URL.Path == "/report" {
			http.ServeFile(w, r, filepath.Join(p.One.Folder, evaluation.PageFile))
			return
		}
		if err := v.detail(p.One); err != nil {
			p.One.Fault = err
		}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	out := display.NewEscapingWriter(w)
	if err := template.Must(template.New("view").Parse(layout)).Execute(out, p); err != nil {
		fmt.Fprintln(w, template.HTMLEscapeString(err.Error()))
	}
}

// lines are the evaluations: running ones first, then all others by name.
func (v *View) lines() (all []*line, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reader == nil {
		v.reader = v.Archive.Reader()
	}
	listed, err := v.reader.List()
	for _, l := range listed {
		all = append(all, newLine(l))
	}
	first := func(l *line) int { return map[bool]int{true: 0, false: 1}[l.State == running] }
	slices.SortStableFunc(all, func(a, b *line) int { return first(a) - first(b) })
	return all, err
}

// The states of evaluations that are not complete.
const (
	running = "running"
	paused  = "paused"
)

// newLine is an evaluation as it is shown.
func newLine(e evaluate.Listed) *line {
	l := &line{Listed: e}
	switch e.State {
	case evaluate.Complete:
		r := e.Stored.Result
		l.Mean, l.All = &evaluation.Provisional{Value: r.Estimate, StandardError: r.StandardError}, r.Rollouts
		if n := r.Tokens.Completion + r.Tokens.Wasted; n > 0 { // another program may tell none
			l.Tokens = display.ThreeDigits(n)
		}
		if r.Cost != nil {
			l.Cost = fmt.Sprintf("$%.4g", r.Cost.Dollars)
		}
		_, missing := os.Lstat(filepath.Join(e.Folder, evaluation.PageFile))
		l.Report, l.Facts = missing == nil, show.Lines(r, e.Folder)
	case evaluate.NotComplete:
		if l.State = paused; dag.Holder(e.Folder) != "" {
			l.State = running
		}
		p := e.Progress
		l.Mean, l.Provisional, l.Rollouts, l.All = p.Mean, true, p.Pilots+p.Continuations, e.Rollouts-e.Setup.Extends.All()
		if l.Rollouts == 0 {
			l.Why = "No rollout is scored yet."
		}
		if !p.At.IsZero() {
			l.Tokens, l.Age = display.ThreeDigits(p.Tokens), p.At.Format(time.DateTime)
		}
		if p.Dollars > 0 {
			l.Cost = fmt.Sprintf("$%.4g", p.Dollars)
		}
	}
	return l
}

// detail sets what is known of the tasks of an evaluation that is not complete.
func (v *View) detail(l *line) error {
	p := l.Progress
	if p == nil || len(p.Tasks) != len(l.Setup.TaskIDs) {
		return nil
	}
	l.Why = why(l.Setup, p.Stage)
	observed, rewards, most := make([]int, len(p.Tasks)), make([]float64, len(p.Tasks)), 1
	for i, t := range p.Tasks {
		observed[i], rewards[i], most = t.Scored, t.Rewards, max(most, t.Scored, t.Selected)
	}
	posterior, err := v.Prior.Update(observed, rewards)
	if err != nil {
		return err
	}
	for i, t := range p.Tasks {
		next := max(0, t.Selected-t.Scored)
		row := task{ID: l.Setup.TaskIDs[i], Scored: t.Scored, Selected: t.Selected, Next: next, Width: 100 * float64(t.Scored) / float64(most), Rest: 100 * float64(next) / float64(most)}
		mean, variance := posterior.Moments(i)
		row.Rate, row.Spread = mean, math.Sqrt(variance)
		l.Tasks = append(l.Tasks, row)
	}
	slices.SortStableFunc(l.Tasks, func(a, b task) int { return cmp.Or(b.Next-a.Next, b.Selected-a.Selected) })
	return nil
}

// why says where the next rollouts go in a stage, and why.
func why(s *evaluation.Setup, stage int) string {
	stages := 1 + max(1, len(s.Design.Fractions))
	switch {
	case s.Design.Pilots == s.Budget:
		return fmt.Sprintf("Every task is given %d rollouts.", s.Budget)
	case stage == 0 && s.Extends == nil:
		return fmt.Sprintf("Stage 1 of %d, the pilot: every task is given %d rollouts.", stages, s.Design.Pilots)
	}
	return fmt.Sprintf("Stage %d of %d: tasks are given rollouts by what each still adds to the error of the mean. Tasks whose rollouts vary most, by the posterior of all complete stages, get most.", min(stage+1, stages), stages)
}

// Check is an error if a folder is none that can be viewed.
func Check(out string) error {
	info, err := os.Stat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not there: name the output folder of runs or evaluations, or begin one first", out)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is no folder: name the output folder of runs or evaluations", out)
	}
	return err
}

// Listen listens at a port of this machine; 0: a free one.
func Listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil && strings.Contains(err.Error(), "in use") {
		err = fmt.Errorf("port %d is in use: name another with --port, 0 for a free one", port)
	}
	return l, err
}
