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

// Import reads logs and writes the file. An error names the log, or the flag that is
// needed.
func Import(r ImportRequest) (*Imported, error) {
	form := filepath.Ext(r.To)
	if form != ".csv" && form != ".parquet" {
		return nil, fmt.Errorf("--to %q: want a file that ends in .csv or .parquet", r.To)
	}
	done, err := ReadLogs(r)
	if err != nil {
		return nil, err
	}
	return done, atomicfile.Write(r.To, func(w io.Writer) error {
		if form == ".csv" {
			return profile.WriteCSV(w, done.Profiles)
		}
		all, _ := json.Marshal(done.Logs) // texts always marshal
		return profile.Write(w, done.Profiles, map[string]string{"speceval.schema": profile.Schema, "speceval.imported": string(all)})
	})
}

// ReadLogs reads logs, and writes nothing.
func ReadLogs(r ImportRequest) (*Imported, error) {
	done := &Imported{To: r.To}
	var groups [][]logs.Log         // of the profiles
	at := make(map[[2]string]int)   // of the groups, by plain names
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
			names, err := r.names(&l)
			if err != nil {
				return nil, err
			}
			i, there := at[names]
			if !there {
				i = len(groups)
				at[names], groups = i, append(groups, nil)
				done.Profiles = append(done.Profiles, profile.Profile{Benchmark: names[0], Model: names[1]})
			} else if first := groups[i][0]; l.Benchmark != first.Benchmark || l.Model != first.Model {
				return nil, fmt.Errorf("%s is of %q with %q and %s of %q with %q, and both would be %s with %s: import them apart",
					l.Source, l.Benchmark, l.Model, first.Source, first.Benchmark, first.Model, names[0], names[1])
			}
			groups[i] = append(groups[i], l)
		}
		done.Logs = append(done.Logs, read...)
		done.Unusable = append(done.Unusable, unusable...)
	}
	for i, g := range groups {
		repeated, err := addUp(&done.Profiles[i], g)
		if err != nil {
			return nil, err
		}
		done.Repeated += repeated
	}
	slices.SortFunc(done.Profiles, func(a, b profile.Profile) int {
		return strings.Compare(a.Benchmark+"\x00"+a.Model, b.Benchmark+"\x00"+b.Model)
	})
	return done, nil
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

// addable returns an error if logs cannot be added up.
func addable(all []logs.Log) error {
	first := all[0]
	for _, l := range all {
		switch {
		case l.Scorer != first.Scorer:
			return fmt.Errorf("%s has rewards by %q and %s by %q: choose one with --reward, or import them apart", first.Source, first.Scorer, l.Source, l.Scorer)
		case l.Allocated && len(all) > 1:
			return fmt.Errorf("%s is of an allocation, whose numbers of rollouts follow from what was seen: added to %s they would bias its pass rates; import it alone",
				l.Source, display.Count(len(all)-1, "other log", "other logs"))
		}
	}
	return nil
}

// addUp adds logs to a profile. A rollout that several of them have counts once: a log of a
// run that was tried again has those of the run before.
func addUp(p *profile.Profile, all []logs.Log) (repeated int, err error) {
	if err := addable(all); err != nil {
		return 0, err
	}
	p.Scorer, p.Source, p.Allocated = all[0].Scorer, source(all), all[0].Allocated
	at, counted := make(map[string]int), make(map[uint64]bool)
	for _, l := range all {
		for _, t := range l.Tasks {
			for _, r := range t.Rollouts {
				if r.Identity != 0 && counted[r.Identity] {
					repeated++
					continue
				}
				counted[r.Identity] = true
				i, there := at[t.ID]
				if !there {
					i = len(p.TaskIDs)
					at[t.ID], p.TaskIDs = i, append(p.TaskIDs, t.ID)
					p.PassCounts, p.Tested, p.Rewards, p.Squares = append(p.PassCounts, 0), append(p.Tested, 0), append(p.Rewards, 0), append(p.Squares, 0)
					p.PromptTokens, p.CompletionTokens = append(p.PromptTokens, 0), append(p.CompletionTokens, 0)
				}
				if p.Tested[i]++; r.Reward == 1 {
					p.PassCounts[i]++
				}
				p.Rewards[i] += r.Reward
				p.Squares[i] += r.Reward * r.Reward
				p.PromptTokens[i], p.CompletionTokens[i] = plus(p.PromptTokens[i], r.PromptTokens), plus(p.CompletionTokens[i], r.CompletionTokens)
			}
		}
	}
	if len(p.TaskIDs) < 2 {
		return repeated, fmt.Errorf("%s with %s has 1 task: a profile needs 2 at least", p.Benchmark, p.Model)
	}
	if slices.Equal(p.Rewards, p.Squares) { // none is between 0 and 1
		p.Rewards, p.Squares = nil, nil
	}
	if slices.Max(p.PromptTokens) < 0 {
		p.PromptTokens = nil
	}
	if slices.Max(p.CompletionTokens) < 0 {
		p.CompletionTokens = nil
	}
	if slices.Min(p.Tested) == slices.Max(p.Tested) {
		p.TestedK, p.Tested = p.Tested[0], nil
	}
	return repeated, nil
}

// plus adds numbers of tokens; −1 is an unknown number.
func plus(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// source lists the logs with their digests.
func source(all []logs.Log) string {
	const most = 5
	var parts []string
	for _, l := range all[:min(most, len(all))] {
		parts = append(parts, fmt.Sprintf("%s %s %.12s", l.Format, filepath.Base(l.Source), l.Digest))
	}
	if more := len(all) - most; more > 0 {
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
		var rollouts int
		var prompts, completions int64
		for _, t := range l.Tasks {
			rollouts += len(t.Rollouts)
			for _, r := range t.Rollouts {
				prompts, completions = plus(prompts, r.PromptTokens), plus(completions, r.CompletionTokens)
			}
		}
		read.Rows = append(read.Rows, []table.Cell{
			table.Text(l.Source), table.Text(l.Format), table.Text(l.Benchmark), table.Text(l.Model), table.Text(l.Scorer),
			table.Integer(len(l.Tasks)), table.Integer(rollouts), table.Integer(l.Left), tokens(prompts), tokens(completions),
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
