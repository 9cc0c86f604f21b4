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

// Comparison is two files of profiles side by side, as compare --json prints it. Pairs are of the
// first file and of the second.
type Comparison struct {
	Files       [2]string            `json:"files"`
	Agree       bool                 `json:"agree"`
	FalseAlarms float64              `json:"false_alarm_rate"` // of the whole comparison
	Profiles    []profile.Comparison `json:"profiles"`         // of both, in the order of the first
	Only        [2][]string          `json:"only_in"`          // names of the profiles that the other lacks
}

// Of compares two files. All profiles together raise a false alarm with the probability
// agreement.FalseAlarms; each has the same part of it. It is an error if the files share no
// profile.
func Of(a, b File) (*Comparison, error) {
	c := &Comparison{Files: [2]string{a.Name, b.Name}, FalseAlarms: agreement.FalseAlarms, Only: [2][]string{{}, {}}}
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
			a.Name, namesOf(c.Only[0]), b.Name, namesOf(c.Only[1]))
	}
	for _, pair := range pairs {
		p := profile.Compare(pair[0], pair[1], agreement.FalseAlarms/float64(len(pairs)))
		p.Verdict = verdictOn(&p)
		c.Profiles = append(c.Profiles, p)
	}
	c.Agree = c.Differing() == 0
	return c, nil
}

// Differing is how many profiles do not agree.
func (c *Comparison) Differing() (n int) {
	for _, p := range c.Profiles {
		if !p.Agree {
			n++
		}
	}
	return n
}

// verdictOn says whether two profiles agree, and on what not.
func verdictOn(c *profile.Comparison) string {
	tasks := fmt.Sprintf("%d of %s", c.Differing, display.Count(len(c.Tasks), "task", "tasks"))
	text := "agrees"
	switch {
	case len(c.Tasks) == 0:
		text = "differs: no task is in both"
	case c.Biased && c.Differing > 0:
		text = "differs: the mean and " + tasks
	case c.Biased:
		text = "differs: the mean"
	case c.Differing > 0:
		text = "differs: " + tasks
	}
	for i, file := range [2]string{"the first file", "the second"} {
		if n := len(c.Only[i]); n > 0 {
			text += fmt.Sprintf("; %s only in %s", display.Count(n, "task is", "tasks are"), file)
		}
	}
	return text
}

// listed has the tasks of each profile that differ most, the worst first: five of a
// profile that differs, one of one that agrees.
func (c *Comparison) listed(all bool) *Comparison {
	few := *c
	few.Profiles = slices.Clone(c.Profiles)
	for i := range few.Profiles {
		p := &few.Profiles[i]
		p.Tasks = p.Worst()
		if most := map[bool]int{true: 1, false: 5}[p.Agree]; !all {
			p.Tasks = p.Tasks[:min(len(p.Tasks), most)]
		}
	}
	return &few
}

// rates and differences as they are printed.
var (
	rate   = table.Format{Decimals: 4}.Print
	signed = table.Format{Decimals: 4, Signed: true}.Print
)

// Text writes a table of the profiles and one of tasks, the worst or all.
func (c *Comparison) Text(w io.Writer, all bool) error {
	profiles := table.Grid{
		Title: fmt.Sprintf("Pass rates of %s (1) beside those of %s (2)", c.Files[0], c.Files[1]),
		Heads: []string{"<benchmark", "<model", "tasks", "tested_k 1", "tested_k 2", "mean 1", "mean 2", "difference", "<verdict"},
		Notes: []string{"± is the standard error of a difference if the success probabilities are the same."},
	}
	tasks := table.Grid{
		Title: "The tasks that differ most; --all lists every one",
		Heads: []string{"<benchmark", "<model", "<task", "passes 1", "passes 2", "rate 1", "rate 2", "difference", "p", "<verdict"},
	}
	if all {
		tasks.Title = "All tasks, the largest difference first"
	}
	for _, p := range c.listed(all).Profiles {
		tested := [2]string{table.None, table.None} // where tasks differ in it
		for side, k := range p.TestedK {
			if k > 0 {
				tested[side] = fmt.Sprint(k)
			}
		}
		profiles.Add(p.Benchmark, p.Model, fmt.Sprint(p.NTasks), tested[0], tested[1], rate(p.Mean[0]), rate(p.Mean[1]), signed(p.Bias)+" ±"+rate(p.SE), p.Verdict)
		for _, t := range p.Tasks {
			tasks.Add(p.Benchmark, p.Model, t.TaskID, fmt.Sprint(t.Passes[0]), fmt.Sprint(t.Passes[1]), rate(t.Rate[0]), rate(t.Rate[1]),
				signed(t.Difference)+" ±"+rate(t.SE), pValue(t.P), map[bool]string{true: "differs"}[t.Differs])
		}
	}
	for i, names := range c.Only {
		if len(names) > 0 {
			profiles.Notes = append(profiles.Notes, fmt.Sprintf("Only in %s: %s", c.Files[i], namesOf(names)))
		}
	}
	for _, g := range []table.Grid{profiles, tasks} {
		if len(g.Rows) == 0 {
			continue
		}
		if err := g.Write(w); err != nil {
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

// namesOf is the number of profiles and the names of the first.
func namesOf(names []string) string {
	text := display.Count(len(names), "profile", "profiles")
	if len(names) > 0 {
		text += ": " + strings.Join(names[:min(len(names), 5)], ", ")
	}
	if len(names) > 5 {
		text += ", …"
	}
	return text
}

// JSON writes one document with the tasks, the worst or all.
func (c *Comparison) JSON(w io.Writer, all bool) error {
	return atomicfile.EncodeJSON(w, c.listed(all))
}
