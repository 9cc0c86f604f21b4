package profile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"speceval/internal/store/csvfile"
	"speceval/internal/store/files"
	"speceval/internal/store/rowfile"
)

// Read reads the profiles of the CSV or Parquet file at path, as Parse does.
func Read(path string) ([]Profile, error) {
	data, err := files.ReadInput(path, files.Profiles)
	if err != nil {
		return nil, err
	}
	return Parse(data, path)
}

// Parse reads profiles as ParseAny does. All of them must be Replayable.
func Parse(data []byte, name string) ([]Profile, error) {
	profiles, err := ParseAny(data, name)
	if err != nil {
		return nil, err
	}
	for _, p := range profiles {
		if err := p.Replayable(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return profiles, nil
}

// ParseAny reads profiles from a CSV or a Parquet file held in memory, whose format is found
// from its content; name is the file's name in errors. The file has a row per task, in any
// order, with the columns benchmark, model, task_index (0-based), task_id, pass_count and
// tested_k, and, if wanted, scorer, rewards, squares, prompt_tokens, completion_tokens,
// source and allocated. Profiles are returned sorted by benchmark, then model, tasks by
// task_index.
//
// An error tells up to ten faults at once, each with the file and, where there
// is one, the 1-based data row.
func ParseAny(data []byte, name string) ([]Profile, error) {
	faults := &files.Faults{Name: name, Most: shownFaults}
	var read []row
	var numbers []int
	if rowfile.IsParquet(data) {
		var err error
		if read, _, err = rowfile.Decode[row](data, name); err != nil {
			return nil, err
		}
	} else {
		var wrong []error
		read, numbers, wrong = csvfile.Decode[row](data)
		for _, err := range wrong {
			faults.Add("%v", err)
		}
	}
	var rows []numbered
	for i, r := range read {
		number := i + 1
		if numbers != nil {
			number = numbers[i]
		}
		rows = append(rows, numbered{r, number})
	}
	if len(rows) == 0 && faults.Count == 0 {
		faults.Add("there are no rows")
	}
	rows = slices.DeleteFunc(rows, func(r numbered) bool { return !checkRow(r, faults) })
	incomplete := faults.Count > 0 // rows are left out: do not call tasks missing
	slices.SortStableFunc(rows, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model), cmp.Compare(a.TaskIndex, b.TaskIndex))
	})
	var profiles []Profile
	for start, end := 0, 0; start < len(rows); start = end {
		for end < len(rows) && rows[end].Benchmark == rows[start].Benchmark && rows[end].Model == rows[start].Model {
			end++
		}
		profiles = append(profiles, assemble(rows[start:end], incomplete, faults))
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return profiles, nil
}

// shownFaults is the number of faults of a file that one error lists.
const shownFaults = 10

// numbered is a row with its 1-based number among the data rows of its file.
type numbered struct {
	row
	number int
}

// letters may stand in names of benchmarks and models, which become part of file names and of
// unit names.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-"

// plain reports whether a benchmark or model may have a name.
func plain(name string) bool {
	return name != "" && strings.Trim(name, letters) == "" && !strings.ContainsAny(name[:1], ".+-")
}

// checkRow reports whether a row is sound in itself.
func checkRow(r numbered, faults *files.Faults) bool {
	before := faults.Count
	for _, name := range []struct{ column, value string }{{"benchmark", r.Benchmark}, {"model", r.Model}} {
		if !plain(name.value) {
			faults.Add("row %d: %s %q is not a name of letters, digits, and . _ + - (write org__model for org/model)", r.number, name.column, name.value)
		}
	}
	if r.TaskID == "" {
		faults.Add("row %d: task_id is empty", r.number)
	}
	if r.TaskIndex < 0 {
		faults.Add("row %d: task_index %d is negative", r.number, r.TaskIndex)
	}
	if r.TestedK < 1 {
		faults.Add("row %d: tested_k %d is not positive", r.number, r.TestedK)
	} else if r.PassCount < 0 || r.PassCount > r.TestedK {
		faults.Add("row %d: pass_count %d is outside 0 to tested_k = %d", r.number, r.PassCount, r.TestedK)
	} else {
		checkGrades(r, faults)
	}
	for _, tokens := range []struct {
		column string
		value  *int64
	}{{"prompt_tokens", r.PromptTokens}, {"completion_tokens", r.CompletionTokens}} {
		if tokens.value != nil && *tokens.value < 0 {
			faults.Add("row %d: %s %d is negative", r.number, tokens.column, *tokens.value)
		}
	}
	return faults.Count == before
}

// checkGrades checks that there are rewards from 0 to 1, pass_count of them 1, that
// have such a sum and such a sum of squares.
func checkGrades(r numbered, faults *files.Faults) {
	if r.Rewards == nil && r.Squares == nil {
		return
	}
	if r.Rewards == nil || r.Squares == nil {
		faults.Add("row %d: rewards and squares are there together or not at all", r.number)
		return
	}
	passes, others := float64(r.PassCount), float64(r.TestedK-r.PassCount)
	sum, squares := *r.Rewards, *r.Squares
	off := 1e-9 * float64(r.TestedK) // what sums lose by rounding
	if !(sum >= passes-off && sum <= passes+others+off) {
		faults.Add("row %d: rewards %v is outside pass_count %d to tested_k %d", r.number, sum, r.PassCount, r.TestedK)
		return
	}
	least := passes
	if others > 0 {
		least += (sum - passes) * (sum - passes) / others
	}
	if !(squares >= least-off && squares <= sum+off) {
		faults.Add("row %d: squares %v is outside %v to %v, which rewards of that sum have", r.number, squares, least, sum)
	}
}

// assemble makes a profile of its rows, sorted by task_index.
func assemble(rows []numbered, incomplete bool, faults *files.Faults) Profile {
	first := rows[0]
	p := Profile{
		Benchmark: first.Benchmark, Model: first.Model, Scorer: or(first.Scorer, ""), TestedK: int(first.TestedK),
		Source: or(first.Source, ""), Allocated: or(first.Allocated, false),
	}
	seen := make(map[string]int, len(rows)) // task id to row number
	for i, r := range rows {
		if i > 0 && r.TaskIndex == rows[i-1].TaskIndex {
			faults.Add("row %d: %s has task_index %d already in row %d", r.number, p.Name(), r.TaskIndex, rows[i-1].number)
		}
		if other, ok := seen[r.TaskID]; ok {
			faults.Add("row %d: %s has task_id %q already in row %d", r.number, p.Name(), r.TaskID, other)
		}
		for _, all := range [...]struct {
			column      string
			here, first any
		}{{"scorer", or(r.Scorer, ""), p.Scorer}, {"source", or(r.Source, ""), p.Source}, {"allocated", or(r.Allocated, false), p.Allocated}} {
			if all.here != all.first {
				faults.Add("row %d: %s has %s %#v here but %#v in row %d", r.number, p.Name(), all.column, all.here, all.first, first.number)
			}
		}
		seen[r.TaskID] = r.number
		p.TaskIDs = append(p.TaskIDs, r.TaskID)
		p.PassCounts = append(p.PassCounts, int(r.PassCount))
	}
	p.count(rows)
	if !incomplete {
		checkComplete(p, rows, faults)
	}
	return p
}

// checkComplete checks that tasks 0 to N−1 are all there and that N ≥ 2.
func checkComplete(p Profile, rows []numbered, faults *files.Faults) {
	next := int32(0)
	for _, r := range rows {
		if r.TaskIndex > next {
			faults.Add("%s has no task_index %d (row %d has %d)", p.Name(), next, r.number, r.TaskIndex)
			return
		}
		next = r.TaskIndex + 1
	}
	if p.N() < 2 {
		faults.Add("%s has 1 task, allocation needs at least 2", p.Name())
	}
}

// count sets what rows may lack: rollouts where they differ, graded rewards, tokens.
func (p *Profile) count(rows []numbered) {
	any := func(has func(numbered) bool) bool { return slices.ContainsFunc(rows, has) }
	differ := any(func(r numbered) bool { return r.TestedK != rows[0].TestedK })
	graded := any(func(r numbered) bool { return r.graded() })
	prompts := any(func(r numbered) bool { return r.PromptTokens != nil })
	completions := any(func(r numbered) bool { return r.CompletionTokens != nil })
	if differ {
		p.TestedK = 0
	}
	for _, r := range rows {
		if differ {
			p.Tested = append(p.Tested, int(r.TestedK))
		}
		if passes := float64(r.PassCount); graded && r.graded() {
			p.Rewards, p.Squares = append(p.Rewards, *r.Rewards), append(p.Squares, *r.Squares)
		} else if graded {
			p.Rewards, p.Squares = append(p.Rewards, passes), append(p.Squares, passes)
		}
		if prompts {
			p.PromptTokens = append(p.PromptTokens, or(r.PromptTokens, -1))
		}
		if completions {
			p.CompletionTokens = append(p.CompletionTokens, or(r.CompletionTokens, -1))
		}
	}
}

// graded reports whether the row has rewards besides 0 and 1.
func (r row) graded() bool {
	passes := float64(r.PassCount)
	return r.Rewards != nil && r.Squares != nil && (math.Abs(*r.Rewards-passes) > rounding || math.Abs(*r.Squares-passes) > rounding)
}

// or is the value at a pointer, or another one where there is none.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
