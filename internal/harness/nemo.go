package harness

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// nemoFormat is eval-results/<benchmark>/output-rs<k>.jsonl of NeMo-Skills: a file for
// every repeat, with a row for every problem.
func nemoFormat() format {
	return format{
		name: "nemo-skills",
		is: func(f *file) bool {
			return nemoFile.MatchString(f.base()) && f.starts('{') && f.has("generation")
		},
		read: func(files []*file, c Choice) (logs []Log, err error) {
			for _, group := range grouped(files, func(f *file) string { return filepath.Dir(f.path) }) {
				log, err := readNemo(group, c)
				if err != nil {
					return nil, err
				}
				logs = append(logs, log)
			}
			return logs, nil
		},
	}
}

var nemoFile = regexp.MustCompile(`^output(?:-rs(\d{1,6}))?\.jsonl$`)

// grouped are the files by a key of each, in the order of the first ones.
func grouped(files []*file, key func(f *file) string) (groups [][]*file) {
	at := make(map[string]int)
	for _, f := range files {
		k := key(f)
		i, there := at[k]
		if !there {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// repeat is which repeat the rows of a file are, from 0.
func repeat(f *file) int {
	match := nemoFile.FindStringSubmatch(f.base())
	if match == nil {
		return 0
	}
	n, _ := strconv.Atoi(match[1]) // "" is 0
	return n
}

func readNemo(files []*file, c Choice) (Log, error) {
	first := files[0]
	slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(repeat(a), repeat(b)) })
	t := newLogBuilder(Log{Format: "nemo-skills", Source: filepath.Dir(first.path), Benchmark: first.folder(0), Complete: true})
	if len(files) == 1 {
		t.log.Source = first.path
	}
	choose := &chooser{wanted: c.Scorer}
	for _, f := range files {
		row := 0
		err := t.from(f)
		if err == nil {
			err = lines(f, func(p *pullReader) error {
				row++
				r, err := pick(p, "*")
				if err != nil {
					return err
				}
				id := r.first("id", "problem_id", "task_id", "index")
				if id == "" {
					id = strconv.Itoa(row - 1)
					t.note("the rows have no ids: tasks are called by their place, from 0")
				}
				return choose.take(t, id, Rollout{Number: repeat(f) + 1, PromptTokens: r.count("num_input_tokens"), CompletionTokens: r.count("num_generated_tokens")}, verdicts(r))
			})
		}
		if err != nil {
			return Log{}, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	err := choose.settle(t)
	var log Log
	if err == nil {
		log, err = t.done()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", t.log.Source, err)
	}
	return log, err
}

// verdicts are what a row says of being correct, the scorers' own words first.
func verdicts(r record) (all []scored) {
	usual := []string{"symbolic_correct", "judge_correct", "is_correct"}
	for _, name := range append(usual, r.order...) {
		value, there := r.values[name]
		named := slices.ContainsFunc(all, func(s scored) bool { return s.name == name })
		if there && !named && (value.Kind == 't' || value.Kind == 'f' || value.Kind == 'n' && strings.Contains(name, "correct")) {
			all = append(all, scored{name, value})
		}
	}
	return all
}
