package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"speceval/internal/display"
	"speceval/internal/evaluate/logs"
	"speceval/internal/profile"
	"speceval/internal/store/atomicfile"
	"speceval/internal/table"
)

// ImportRequest names the logs to import and the file to write.
type ImportRequest struct {
	logs.Choice
	Benchmark, Model string   // replace the names in the logs, if not ""
	Paths            []string // of logs, or of folders of them
	To               string   // a file that ends in .csv or .parquet
}

// Imported is the result of a request.
type Imported struct {
	Logs     []logs.Log
	Unusable []error           // logs of folders that are left out
	Profiles []profile.Profile // sorted by benchmark, then model
	Repeated int               // rollouts that another log has as well; each counts once
	To       string
}

// group is the logs of one profile.
type group struct {
	benchmark, model string // plain names
	raw              [2]string
	logs             []logs.Log
}

// Import reads logs and writes the file. An error names the log, or the flag that is
// needed.
func Import(r ImportRequest) (*Imported, error) {
	write, known := map[string]func(io.Writer, *Imported) error{
		".csv": func(w io.Writer, done *Imported) error { return profile.WriteCSV(w, done.Profiles) },
		".parquet": func(w io.Writer, done *Imported) error {
			all, _ := json.Marshal(done.Logs) // texts always marshal
			return profile.Write(w, done.Profiles, map[string]string{"speceval.schema": profile.Schema, "speceval.imported": string(all)})
		},
	}[filepath.Ext(r.To)]
	if !known {
		return nil, fmt.Errorf("--to %q: want a file that ends in .csv or .parquet", r.To)
	}
	done, err := ReadLogs(r)
	if err != nil {
		return nil, err
	}
	return done, atomicfile.Write(r.To, func(w io.Writer) error { return write(w, done) })
}

// ReadLogs reads logs, and writes nothing.
func ReadLogs(r ImportRequest) (*Imported, error) {
	done := &Imported{To: r.To}
	seen := make(map[string]string) // sources, by digests
	for _, path := range r.Paths {
		read, unusable, err := r.Choice.Read(path)
		if err != nil {
			return nil, err
		}
		for _, l := range read {
			key := l.Digest + " " + l.Benchmark + " " + l.Model
			if other, there := seen[key]; there {
				return nil, fmt.Errorf("%s is the same log as %s: its rollouts would count twice; name one of them", l.Source, other)
			}
			seen[key] = l.Source
		}
		done.Logs = append(done.Logs, read...)
		done.Unusable = append(done.Unusable, unusable...)
	}
	groups, err := r.grouped(done.Logs)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		p, repeated, err := g.profile()
		if err != nil {
			return nil, err
		}
		done.Profiles = append(done.Profiles, p)
		done.Repeated += repeated
	}
	slices.SortFunc(done.Profiles, func(a, b profile.Profile) int {
		return strings.Compare(a.Benchmark+"\x00"+a.Model, b.Benchmark+"\x00"+b.Model)
	})
	return done, nil
}

// grouped puts logs of the same benchmark and model together.
func (r *ImportRequest) grouped(all []logs.Log) (groups []*group, err error) {
	at := make(map[[2]string]*group)
	for _, l := range all {
		raw := [2]string{l.Benchmark, l.Model}
		names, err := r.names(&l)
		if err != nil {
			return nil, err
		}
		g := at[names]
		if g == nil {
			g = &group{benchmark: names[0], model: names[1], raw: raw}
			at[names], groups = g, append(groups, g)
		}
		if g.raw != raw {
			return nil, fmt.Errorf("%s is of %q with %q and %s of %q with %q, and both would be %s with %s: import them apart",
				l.Source, raw[0], raw[1], g.logs[0].Source, g.raw[0], g.raw[1], g.benchmark, g.model)
		}
		g.logs = append(g.logs, l)
	}
	return groups, nil
}

// names are the plain names of a log's benchmark and model.
func (r *ImportRequest) names(l *logs.Log) (names [2]string, err error) {
	for i, of := range []struct{ what, given, logged string }{{"benchmark", r.Benchmark, l.Benchmark}, {"model", r.Model, l.Model}} {
		names[i] = cmp.Or(of.given, plain(of.logged))
		if names[i] == "" {
			return names, fmt.Errorf("%s does not say its %s: name it with --%s", l.Source, of.what, of.what)
		}
		if names[i] != plain(names[i]) {
			return names, fmt.Errorf("--%s %q is not a name of letters, digits, and . _ + -: %s would be one", of.what, of.given, plain(of.given))
		}
	}
	return names, nil
}

var notPlain = regexp.MustCompile(`[^A-Za-z0-9._+-]+`)

// plain makes a plain name: org__model of org/model.
func plain(name string) string {
	name = notPlain.ReplaceAllString(strings.ReplaceAll(name, "/", "__"), "_")
	if name != "" && strings.ContainsRune(".+-", rune(name[0])) {
		name = "_" + name
	}
	return name
}

// check returns an error if the logs cannot be added up.
func (g *group) check() error {
	first := g.logs[0]
	for _, l := range g.logs {
		if l.Scorer != first.Scorer {
			return fmt.Errorf("%s has rewards by %q and %s by %q: choose one with --reward, or import them apart", first.Source, first.Scorer, l.Source, l.Scorer)
		}
		if l.Allocated && len(g.logs) > 1 {
			return fmt.Errorf("%s is of an allocation, whose numbers of rollouts follow from what was seen: added to %s they would bias its pass rates; import it alone",
				l.Source, display.Count(len(g.logs)-1, "other log", "other logs"))
		}
	}
	return nil
}

// sums add up the rollouts of a task.
type sums struct {
	passes, tested       int
	rewards, squares     float64
	prompts, completions int64 // tokens; −1 if one of its rollouts lacks them
}

// profile adds the logs up. A rollout that several of them have counts once: a log of a
// run that was tried again has those of the run before.
func (g *group) profile() (p profile.Profile, repeated int, err error) {
	if err := g.check(); err != nil {
		return p, 0, err
	}
	p.Benchmark, p.Model, p.Scorer = g.benchmark, g.model, g.logs[0].Scorer
	p.Source, p.Allocated = g.source(), g.logs[0].Allocated
	tallies, counted := make(map[string]*sums), make(map[uint64]bool)
	for _, l := range g.logs {
		for _, t := range l.Tasks {
			for _, r := range t.Rollouts {
				if r.Identity != 0 && counted[r.Identity] {
					repeated++
					continue
				}
				counted[r.Identity] = true
				if tallies[t.ID] == nil {
					tallies[t.ID], p.TaskIDs = new(sums), append(p.TaskIDs, t.ID)
				}
				tallies[t.ID].add(r)
			}
		}
	}
	if len(p.TaskIDs) < 2 {
		return p, repeated, fmt.Errorf("%s with %s has 1 task: a profile needs 2 at least", g.benchmark, g.model)
	}
	graded, prompted, completed := false, false, false
	for _, id := range p.TaskIDs {
		t := tallies[id]
		p.PassCounts, p.Tested = append(p.PassCounts, t.passes), append(p.Tested, t.tested)
		p.Rewards, p.Squares = append(p.Rewards, t.rewards), append(p.Squares, t.squares)
		p.PromptTokens, p.CompletionTokens = append(p.PromptTokens, t.prompts), append(p.CompletionTokens, t.completions)
		graded, prompted, completed = graded || t.squares < t.rewards, prompted || t.prompts >= 0, completed || t.completions >= 0
	}
	if !graded {
		p.Rewards, p.Squares = nil, nil
	}
	if !prompted {
		p.PromptTokens = nil
	}
	if !completed {
		p.CompletionTokens = nil
	}
	if slices.Min(p.Tested) == slices.Max(p.Tested) {
		p.TestedK, p.Tested = p.Tested[0], nil
	}
	return p, repeated, nil
}

// add adds a rollout.
func (t *sums) add(r logs.Rollout) {
	t.tested++
	if r.Reward == 1 {
		t.passes++
	}
	t.rewards += r.Reward
	t.squares += r.Reward * r.Reward
	t.prompts, t.completions = plus(t.prompts, r.PromptTokens), plus(t.completions, r.CompletionTokens)
}

// plus adds numbers of tokens; −1 is an unknown number.
func plus(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// source lists the logs with their digests.
func (g *group) source() string {
	const most = 5
	var parts []string
	for _, l := range g.logs[:min(most, len(g.logs))] {
		parts = append(parts, fmt.Sprintf("%s %s %.12s", l.Format, filepath.Base(l.Source), l.Digest))
	}
	if more := len(g.logs) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// Text writes a table of the logs, and the profiles.
func (d *Imported) Text(w io.Writer) error {
	read := table.Table{
		Title: "Logs",
		Columns: []table.Column{
			{Name: "log", Align: table.Left}, {Name: "format", Align: table.Left}, {Name: "benchmark", Align: table.Left}, {Name: "model", Align: table.Left},
			{Name: "scorer", Align: table.Left}, {Name: "tasks"}, {Name: "rollouts"}, {Name: "left out"}, {Name: "prompt tokens"}, {Name: "answer tokens"},
		},
	}
	for i := range d.Logs {
		l := &d.Logs[i]
		var all sums
		for _, t := range l.Tasks {
			for _, r := range t.Rollouts {
				all.add(r)
			}
		}
		read.Rows = append(read.Rows, []table.Cell{
			table.Text(l.Source), table.Text(l.Format), table.Text(l.Benchmark), table.Text(l.Model), table.Text(l.Scorer),
			table.Integer(len(l.Tasks)), table.Integer(all.tested), table.Integer(l.Left), tokens(all.prompts), tokens(all.completions),
		})
	}
	if err := table.WriteText(w, read); err != nil {
		return err
	}
	var b strings.Builder
	for _, l := range d.Logs {
		for _, note := range l.Notes {
			fmt.Fprintf(&b, "%s: %s\n", display.EscapedLine(l.Source), display.EscapedLine(note))
		}
	}
	for _, err := range d.Unusable {
		fmt.Fprintf(&b, "left out: %s\n", display.EscapedLine(err.Error()))
	}
	if d.Repeated > 0 {
		fmt.Fprintf(&b, "%s in several logs, and count once\n", display.Count(d.Repeated, "rollout is", "rollouts are"))
	}
	for _, p := range d.Profiles {
		kind := ""
		if p.Graded() {
			kind += ", graded"
		}
		if p.Allocated {
			kind += ", allocated: for --prior alone"
		}
		fmt.Fprintf(&b, "%s: %d tasks, mean %.4f%s\n", p.Name(), p.N(), p.Mean(), kind)
	}
	fmt.Fprintf(&b, "written: %s\n", d.To)
	_, err := io.WriteString(w, b.String())
	return err
}

// tokens formats a number of tokens, −1 as missing.
func tokens(n int64) table.Cell {
	if n < 0 {
		return table.Missing()
	}
	return table.Integer(int(n))
}
