// Package comparison compares two files of profiles, pass rate by pass rate, and
// writes what differs as text and as JSON.
package comparison

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"speceval/internal/results/agreement"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/profile"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
)

// File is the profiles of a file.
type File struct {
	Name     string
	Profiles []profile.Profile
}

// Comparison is two files of profiles side by side.
type Comparison struct {
	Files    [2]string
	Profiles []profile.Comparison // of both, in the order of the first
	Only     [2][]string          // names of the profiles that the other lacks
}

// Of compares two files, at agreement.FalseAlarms for all their profiles
// together, of which each has the same part. An error is that no profile is in
// both.
func Of(a, b File) (*Comparison, error) {
	c := &Comparison{Files: [2]string{a.Name, b.Name}}
	find := func(in []profile.Profile, name string) int {
		return slices.IndexFunc(in, func(p profile.Profile) bool { return p.Name() == name })
	}
	var pairs [][2]profile.Profile
	for _, p := range a.Profiles {
		if j := find(b.Profiles, p.Name()); j >= 0 {
			pairs = append(pairs, [2]profile.Profile{p, b.Profiles[j]})
		} else {
			c.Only[0] = append(c.Only[0], p.Name())
		}
	}
	for _, p := range b.Profiles {
		if find(a.Profiles, p.Name()) < 0 {
			c.Only[1] = append(c.Only[1], p.Name())
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("no benchmark and model is in both files:\n%s has %s\n%s has %s",
			a.Name, some(c.Only[0]), b.Name, some(c.Only[1]))
	}
	for _, pair := range pairs {
		c.Profiles = append(c.Profiles, profile.Compare(pair[0], pair[1], agreement.FalseAlarms/float64(len(pairs))))
	}
	return c, nil
}

// Differing is how many profiles do not agree.
func (c *Comparison) Differing() (n int) {
	for i := range c.Profiles {
		if !c.Profiles[i].Agree() {
			n++
		}
	}
	return n
}

// listed is the tasks of a profile to be listed, the worst first: five of a
// profile that differs, one of one that agrees, or all.
func listed(c *profile.Comparison, all bool) []profile.TaskDifference {
	tasks := c.Worst()
	switch {
	case all:
		return tasks
	case c.Agree():
		return tasks[:min(len(tasks), 1)]
	}
	return tasks[:min(len(tasks), 5)]
}

// verdictOn says whether two profiles agree, and on what.
func verdictOn(c *profile.Comparison) string {
	tasks := fmt.Sprintf("%d of %s", c.Differing(), display.Count(len(c.Tasks), "task", "tasks"))
	text := "agrees"
	switch {
	case len(c.Tasks) == 0:
		text = "differs: no task is in both"
	case c.Biased && c.Differing() > 0:
		text = "differs: the mean and " + tasks
	case c.Biased:
		text = "differs: the mean"
	case c.Differing() > 0:
		text = "differs: " + tasks
	}
	for i, file := range [2]string{"the first file", "the second"} {
		if n := len(c.Only[i]); n > 0 {
			text += fmt.Sprintf("; %s only in %s", display.Count(n, "task is", "tasks are"), file)
		}
	}
	return text
}

// rates and differences as they are printed.
var (
	rate       = table.Format{Decimals: 4}
	difference = table.Format{Decimals: 4, Signed: true}
)

// Text writes a table of the profiles and one of tasks, the worst or all.
func (c *Comparison) Text(w io.Writer, all bool) error {
	profiles := table.Table{
		Title: fmt.Sprintf("Pass rates of %s (1) beside those of %s (2)", c.Files[0], c.Files[1]),
		Columns: []table.Column{
			{Name: "benchmark", Align: table.Left}, {Name: "model", Align: table.Left},
			{Name: "tasks"}, {Name: "tested_k 1"}, {Name: "tested_k 2"},
			{Name: "mean 1", Format: rate}, {Name: "mean 2", Format: rate},
			{Name: "difference", Format: difference}, {Name: "verdict", Align: table.Left},
		},
	}
	tasks := table.Table{
		Title: "The tasks that differ most; --all lists every one",
		Columns: []table.Column{
			{Name: "benchmark", Align: table.Left}, {Name: "model", Align: table.Left}, {Name: "task", Align: table.Left},
			{Name: "passes 1"}, {Name: "passes 2"}, {Name: "rate 1", Format: rate}, {Name: "rate 2", Format: rate},
			{Name: "difference", Format: difference}, {Name: "p"}, {Name: "verdict", Align: table.Left},
		},
	}
	if all {
		tasks.Title = "All tasks, those that differ most first"
	}
	for i := range c.Profiles {
		p := &c.Profiles[i]
		var tested [2]table.Cell // missing where tasks differ in it
		for side, k := range p.TestedK {
			if k > 0 {
				tested[side] = table.Integer(k)
			}
		}
		profiles.Rows = append(profiles.Rows, []table.Cell{
			table.Text(p.Benchmark), table.Text(p.Model), table.Integer(len(p.Tasks)), tested[0], tested[1],
			table.Number(p.Mean[0]), table.Number(p.Mean[1]),
			table.Number(p.Bias).PlusMinus(p.SE), table.Text(verdictOn(p)),
		})
		for _, t := range listed(p, all) {
			verdict := ""
			if t.Differs {
				verdict = "differs"
			}
			tasks.Rows = append(tasks.Rows, []table.Cell{
				table.Text(p.Benchmark), table.Text(p.Model), table.Text(t.TaskID),
				table.Integer(t.Passes[0]), table.Integer(t.Passes[1]), table.Number(t.Rate[0]), table.Number(t.Rate[1]),
				table.Number(t.Difference).PlusMinus(t.SE), table.Text(pValue(t.P)), table.Text(verdict),
			})
		}
	}
	profiles.Notes = []string{"± is the standard error of a difference if the success probabilities are the same."}
	for i, names := range c.Only {
		if len(names) > 0 {
			profiles.Notes = append(profiles.Notes, fmt.Sprintf("Only in %s: %s", c.Files[i], some(names)))
		}
	}
	if err := table.WriteText(w, profiles); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if len(tasks.Rows) > 0 {
		if err := table.WriteText(w, tasks); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	n, differing := len(c.Profiles), c.Differing()
	verdict := display.Count(n, "profile agrees", "profiles agree")
	if differing > 0 {
		verdict = fmt.Sprintf("%d of %s", differing, display.Count(n, "profile differs", "profiles differ"))
	}
	_, err := fmt.Fprintf(w, "%s. If all success probabilities are the same, any is said to differ in at most %g %% of such comparisons.\n", verdict, 100*agreement.FalseAlarms)
	return err
}

// pValue is a p-value in two digits.
func pValue(p float64) string {
	switch {
	case p < 1e-16:
		return "< 1e-16"
	case p < 0.001:
		return fmt.Sprintf("%.1e", p)
	}
	return fmt.Sprintf("%.3f", p)
}

// some is the number of profiles and the names of the first.
func some(names []string) string {
	const most = 5
	text := display.Count(len(names), "profile", "profiles")
	if len(names) == 0 {
		return text
	}
	text += ": " + strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += ", …"
	}
	return text
}

// Document is the document of compare --json; pairs are of the first file
// and of the second.
type Document struct {
	Files       [2]string         `json:"files"`
	Agree       bool              `json:"agree"`
	FalseAlarms float64           `json:"false_alarm_rate"` // of the whole comparison
	Profiles    []ProfileDocument `json:"profiles"`
	Only        [2][]string       `json:"only_in"` // names of profiles
}

// ProfileDocument is one profile in a Document. Its tasks are the worst, or all.
type ProfileDocument struct {
	Agree     bool   `json:"agree"`
	Verdict   string `json:"verdict"`
	NTasks    int    `json:"n_tasks"`
	Differing int    `json:"differing"` // tasks
	profile.Comparison
}

// lists are lists that JSON shows as such though they are empty.
func lists(pair [2][]string) [2][]string {
	return [2][]string{append([]string{}, pair[0]...), append([]string{}, pair[1]...)}
}

// JSON writes one document with the tasks, the worst or all.
func (c *Comparison) JSON(w io.Writer, all bool) error {
	document := Document{Files: c.Files, Agree: c.Differing() == 0, FalseAlarms: agreement.FalseAlarms, Only: lists(c.Only)}
	for i := range c.Profiles {
		p := &c.Profiles[i]
		line := ProfileDocument{p.Agree(), verdictOn(p), len(p.Tasks), p.Differing(), *p}
		line.Tasks, line.Only = listed(p, all), lists(p.Only)
		document.Profiles = append(document.Profiles, line)
	}
	return atomicfile.EncodeJSON(w, document)
}
