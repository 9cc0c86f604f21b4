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

	"speceval/internal/evaluation/logs"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/profile"
	"speceval/internal/terminal/display"
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
	done := &Imported{To: r.To}
	for _, path := range r.Paths {
		read, unusable, err := r.Choice.Read(path)
		if err != nil {
			return nil, err
		}
		done.Logs, done.Unusable = append(done.Logs, read...), append(done.Unusable, unusable...)
	}
	sums, err := logs.Sums(done.Logs, r.names)
	if err != nil {
		return nil, err
	}
	for k, s := range sums {
		for _, other := range sums[:k] {
			if other.Benchmark == s.Benchmark && other.Model == s.Model {
				l := s.Logs[0]
				if !l.Allocated {
					l = other.Logs[0]
				}
				return nil, fmt.Errorf("%s is of an allocation, whose numbers of rollouts follow from what was seen: added to another log they would bias its pass rates; import it alone", l.Source)
			}
		}
		p, err := profileOf(s)
		if err != nil {
			return nil, err
		}
		done.Profiles, done.Repeated = append(done.Profiles, p), done.Repeated+s.Repeated
	}
	slices.SortFunc(done.Profiles, func(a, b profile.Profile) int {
		return strings.Compare(a.Benchmark+"\x00"+a.Model, b.Benchmark+"\x00"+b.Model)
	})
	return done, atomicfile.Write(r.To, func(w io.Writer) error {
		if form == ".csv" {
			return profile.WriteCSV(w, done.Profiles)
		}
		all, _ := json.Marshal(done.Logs) // texts always marshal
		return profile.Write(w, done.Profiles, map[string]string{"speceval.schema": profile.Schema, "speceval.imported": string(all)})
	})
}

// names are the plain names of a log's benchmark and model.
func (r *ImportRequest) names(l *logs.Log) (benchmark, model string, err error) {
	var names [2]string
	for i, of := range []struct{ what, given, logged string }{{"benchmark", r.Benchmark, l.Benchmark}, {"model", r.Model, l.Model}} {
		names[i] = cmp.Or(of.given, plain(of.logged))
		if names[i] == "" {
			return "", "", fmt.Errorf("%s does not say its %s: name it with --%s", l.Source, of.what, of.what)
		}
		if names[i] != plain(names[i]) {
			return "", "", fmt.Errorf("--%s %q is not a name of letters, digits, and . _ + -: %s would be one", of.what, of.given, plain(of.given))
		}
	}
	return names[0], names[1], nil
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

// profileOf makes a profile of logs.
func profileOf(s *logs.Sum) (p profile.Profile, err error) {
	first := s.Logs[0]
	p = profile.Profile{Benchmark: s.Benchmark, Model: s.Model, Scorer: first.Scorer, Source: source(s.Logs), Allocated: first.Allocated}
	for _, t := range s.Tasks {
		p.TaskIDs, p.PassCounts, p.Tested = append(p.TaskIDs, t.ID), append(p.PassCounts, t.Passes), append(p.Tested, t.Rollouts)
		p.Rewards, p.Squares = append(p.Rewards, t.Rewards), append(p.Squares, t.Squares)
		p.PromptTokens, p.CompletionTokens = append(p.PromptTokens, t.PromptTokens), append(p.CompletionTokens, t.CompletionTokens)
	}
	if len(p.TaskIDs) < 2 {
		return p, fmt.Errorf("%s with %s has 1 task: a profile needs 2 at least", p.Benchmark, p.Model)
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
	return p, nil
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

// Text writes the logs with their notes, and the profiles.
func (d *Imported) Text(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(display.EscapedLine(fmt.Sprintf(format, args...)) + "\n")
	}
	for _, l := range d.Logs {
		rollouts := 0
		for _, t := range l.Tasks {
			rollouts += len(t.Rollouts)
		}
		line("%s: %s with %s by %s (%s), %s, %s", l.Source, cmp.Or(l.Benchmark, "unnamed tasks"), cmp.Or(l.Model, "an unnamed model"), l.Scorer, l.Format,
			display.Count(len(l.Tasks), "task", "tasks"), display.Count(rollouts, "rollout", "rollouts"))
		for _, note := range l.Notes {
			line("  %s", note)
		}
	}
	for _, err := range d.Unusable {
		line("left out: %v", err)
	}
	if d.Repeated > 0 {
		line("%s in several logs, and count once", display.Count(d.Repeated, "rollout is", "rollouts are"))
	}
	for _, p := range d.Profiles {
		kind := ""
		if p.Graded() {
			kind += ", graded"
		}
		if p.Allocated {
			kind += ", allocated: for --prior alone"
		}
		line("%s: %d tasks, mean %.4f%s", p.Name(), p.N(), p.Mean(), kind)
	}
	line("written: %s", d.To)
	_, err := io.WriteString(w, b.String())
	return err
}
