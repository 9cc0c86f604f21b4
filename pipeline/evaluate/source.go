package evaluate

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/logs"
	"speceval/internal/evaluation/protocol"
	"speceval/internal/store/csvfile"
	"speceval/internal/store/files"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/method/estimate"
)

// Source is what is known of a model's rollouts on a benchmark: by a stored evaluation, a
// profile, a table of counts, or logs of a harness.
type Source struct {
	Name             string // benchmark and model, as people know them
	Path             string // where it is: a folder, a file, or FILE#MODEL
	Benchmark, Model string // "" where it does not say
	IDs              []string
	Stages           [][]estimate.Stage // of each task; one stage unless there is a result
	Allocated        bool               // what was seen decided on the numbers of rollouts, and how is not known

	Result   *evaluation.Result // of an evaluation, or of a log with the state of its allocation; nil: it follows from the counts
	Setup    *evaluation.Setup  // of a stored evaluation
	Seed     *uint64            // of an evaluation of ours that a log was exported from; nil: not told
	profiled bool               // the file names the benchmark, which profiles of other benchmarks share
}

// Sources reads what a word names: a stored evaluation, a file of profiles (FILE#MODEL: one of
// them), a table of counts, a log of a harness or a folder of logs, or what show --json has
// printed. reward is the score of logs that counts; "": the only one. What is wrong with a file
// is a *RequestError.
func (a Archive) Sources(word, reward string) ([]Source, error) {
	folder, none := find(a.out(), word)
	if folder != "" {
		stored, err := a.Stored(word)
		if err != nil {
			return nil, err
		}
		s := ofResult(stored.Result, stored.Folder)
		s.Setup = stored.Setup
		return []Source{s}, nil
	}
	path, model, one := word, "", false
	if at := strings.LastIndexByte(word, '#'); at >= 0 { // a file's name may have one as well
		if _, err := os.Stat(word); err != nil {
			path, model, one = word[:at], word[at+1:], true
		}
	}
	all, err := a.files(path, reward)
	switch {
	case errors.Is(err, os.ErrNotExist) && slices.Contains([]string{".csv", ".parquet", ".json", ".jsonl", ".eval", ".gz"}, filepath.Ext(path)):
		return nil, requestf("%s: no such file", path)
	case err != nil && none != nil && errors.Is(err, os.ErrNotExist):
		return nil, requestf("%w, or a file: %w", none, err)
	case err != nil:
		return nil, &RequestError{err}
	case !one:
		return all, nil
	}
	var others []string
	found := slices.DeleteFunc(all, func(s Source) bool {
		others = append(others, s.Name)
		return s.Model != model && s.Name != model
	})
	if len(found) == 0 {
		return nil, requestf("%s has no profile of %s, but of %s", path, model, firstNames(others))
	}
	return found, nil
}

// Counts reads the one source of a benchmark and a model that a word names, see Sources; "": any.
// org__model is org/model, as import writes it.
func (a Archive) Counts(word, reward, benchmark, model string) (Source, error) {
	all, err := a.Sources(word, reward)
	if err != nil {
		return Source{}, err
	}
	var names []string
	other := func(name, wanted string) bool {
		return wanted != "" && name != "" && name != wanted && strings.ReplaceAll(name, "/", "__") != wanted
	}
	found := slices.DeleteFunc(slices.Clone(all), func(s Source) bool {
		names = append(names, s.Name)
		return other(s.Benchmark, benchmark) || other(s.Model, model)
	})
	if len(found) != 1 {
		return Source{}, requestf("%s has %s: say one with --benchmark and --model", word, firstNames(names))
	}
	return found[0], nil
}

// result reads the one result that a word names, see Sources.
func (a Archive) result(word string) (*evaluation.Result, error) {
	all, err := a.Sources(word, "")
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		return nil, requestf("%s has the results of several models, of %s: name one of them, %s#MODEL", word, all[0].Name, word)
	}
	return a.resultOf(all[0])
}

// resultOf is the result of a source: of an evaluation by its allocation, of counts the mean over
// tasks of their means.
func (a Archive) resultOf(s Source) (*evaluation.Result, error) {
	switch {
	case s.Result != nil:
		return s.Result, nil
	case s.Allocated:
		return nil, requestf("%s is of an allocation that it does not tell: its tasks' numbers of rollouts follow from what was seen, and their mean is biased", s.Path)
	}
	setup, stages := evaluation.Setup{Head: evaluation.Head{Benchmark: s.Benchmark, Model: s.Model, Policy: "uniform"}, TaskIDs: s.IDs}, make([][]estimate.Stage, len(s.IDs))
	for i := range stages {
		all := estimate.Sum(s.Stages[i])
		all.Weight = 1
		stages[i] = []estimate.Stage{all}
	}
	r, err := setup.Of(stages, a.Prior())
	if err != nil {
		return nil, requestf("%s: %w", s.Path, err)
	}
	return r, nil
}

// ofResult is what is known by a result.
func ofResult(r *evaluation.Result, path string) Source {
	s := Source{Name: r.Benchmark + " " + r.Model, Path: path, Benchmark: r.Benchmark, Model: r.Model, Result: r}
	for _, t := range r.Rows {
		s.IDs, s.Stages = append(s.IDs, t.ID), append(s.Stages, t.Stages)
	}
	return s
}

// files reads a file of counts, or logs: a folder, a zip, or JSON.
func (a Archive) files(path, reward string) ([]Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	head, _ := logs.Head(path) // of a folder there is none
	head = bytes.TrimLeft(head, "\ufeff \t\r\n")
	if info.IsDir() || bytes.HasPrefix(head, []byte("{")) || bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return a.logs(path, reward)
	}
	data, err := files.ReadInput(path, files.Profiles)
	if err != nil {
		return nil, err
	}
	all, err := counted(data, path)
	ext := filepath.Ext(path)
	if missing := (*rowfile.MissingColumnError)(nil); err == nil || ext == ".csv" || ext == ".parquet" && !errors.As(err, &missing) {
		return all, err
	}
	read, fault := a.logs(path, reward)
	if errors.Is(fault, logs.ErrUnknown) {
		fault = fmt.Errorf("%w\nnor is it a file of profiles: %w", fault, err)
	}
	return read, fault
}

// logs reads the logs at a path, and adds up those of one benchmark and model; or the file of a
// result.
func (a Archive) logs(path, reward string) (all []Source, err error) {
	read, _, err := logs.Choice{Reward: reward, Strict: true}.Read(path)
	if errors.Is(err, logs.ErrUnknown) && filepath.Ext(path) == ".json" {
		r, fault := evaluation.ReadResult(path)
		if fault != nil {
			return nil, fmt.Errorf("%w\nnor is it what speceval evaluate show --json prints: %w", err, fault)
		}
		return []Source{ofResult(r, path)}, nil
	}
	if err != nil {
		return nil, err
	}
	sums, err := logs.Sums(read, func(l *logs.Log) (string, string, error) { return l.Benchmark, l.Model, nil })
	if err != nil {
		return nil, err
	}
	for _, sum := range sums {
		first := sum.Logs[0]
		for _, l := range sum.Logs {
			for _, note := range l.Notes {
				a.warn(l.Source + ": " + note)
			}
		}
		s := Source{Name: sum.Benchmark + " " + sum.Model, Path: first.Source, Benchmark: sum.Benchmark, Model: sum.Model, Allocated: first.Allocated, Seed: first.Seed}
		if more := len(sum.Logs) - 1; more > 0 {
			s.Path += fmt.Sprintf(" and %d more", more)
		}
		for _, t := range sum.Tasks {
			s.IDs, s.Stages = append(s.IDs, t.ID), append(s.Stages, []estimate.Stage{t.Stage})
		}
		var r *evaluation.Result
		if first.Snapshot != nil {
			r, err = protocol.ResultOf(first.Snapshot, a.Prior())
		} else if first.Allocated && first.Result != nil {
			r, err = evaluation.ParseResult(first.Result, first.Source)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: its allocation: %w", first.Source, err)
		}
		if r != nil {
			known := ofResult(r, s.Path)
			s.IDs, s.Stages, s.Result = known.IDs, known.Stages, r
		}
		all = append(all, s)
	}
	return all, nil
}

// ofProfiles are columns that profiles alone have: counts would pass over grades and allocations.
var ofProfiles = regexp.MustCompile("benchmark|rewards|squares|allocated")

// counted reads the profiles of a file, or counts without names of a benchmark and a model, of
// which tasks may have no rollouts yet.
func counted(data []byte, path string) (all []Source, err error) {
	if header, _, _ := bytes.Cut(data, []byte("\n")); !rowfile.IsParquet(data) && !ofProfiles.Match(header) {
		return counts(data, path)
	}
	profiles, err := profile.ParseAny(data, path)
	for _, p := range profiles {
		s := Source{Name: p.Name(), Path: path + "#" + p.Model, Benchmark: p.Benchmark, Model: p.Model, IDs: p.TaskIDs, Allocated: p.Allocated, profiled: true}
		for i := range p.TaskIDs {
			stage := estimate.Stage{Rollouts: p.Rollouts(i), Rewards: p.Reward(i), Squares: p.Reward(i)}
			if p.Graded() {
				stage.Squares = p.Squares[i]
			}
			s.Stages = append(s.Stages, []estimate.Stage{stage})
		}
		all = append(all, s)
	}
	return all, err
}

// count is a row of counts without a benchmark and a model.
type count struct {
	ID     string `csv:"task_id"`
	Passes string `csv:"pass_count"`
	Tested string `csv:"tested_k"`
}

// counts reads counts that name neither.
func counts(data []byte, path string) ([]Source, error) {
	rows, numbers, wrong := csvfile.Decode[count](data)
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s, seen := Source{Name: filepath.Base(path), Path: path}, make(map[string]bool, len(rows))
	for i, r := range rows {
		if seen[r.ID] {
			return nil, fmt.Errorf("%s: row %d: task %q is there twice: add its counts up", path, numbers[i], r.ID)
		}
		seen[r.ID] = true
		n, err := strconv.ParseFloat(strings.TrimSpace(r.Tested), 64)
		passes, wrong := strconv.ParseFloat(strings.TrimSpace(r.Passes), 64)
		if err != nil || wrong != nil || !(n >= 0 && n <= 1<<20) || n != math.Trunc(n) || !(passes >= 0 && passes <= n) {
			return nil, fmt.Errorf("%s: row %d: pass_count %q and tested_k %q: want rollouts, and how many of them passed", path, numbers[i], r.Passes, r.Tested)
		}
		if passes != math.Trunc(passes) {
			return nil, fmt.Errorf("%s: row %d: pass_count %q: graded rewards need the columns of a profile, rewards and squares among them", path, numbers[i], r.Passes)
		}
		s.IDs, s.Stages = append(s.IDs, r.ID), append(s.Stages, []estimate.Stage{estimate.Binary(int(n), int(passes), 0)})
	}
	return []Source{s}, nil
}

// firstNames lists the first few names.
func firstNames(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
