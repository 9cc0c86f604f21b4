package measurement

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/policy"
	"speceval/internal/store/files"
	"speceval/internal/store/rowfile"
)

// Read reads the measurement file at path, as Parse does.
func Read(path string) ([]Measurement, error) {
	data, err := files.ReadInput(path, files.Profiles)
	if err != nil {
		return nil, err
	}
	return Parse(data, path)
}

// Parse reads a measurement file held in memory; name is the file's name in errors. Every
// row must pass Check. The settings must be whole: in each provenance that a setting, a
// profile at a budget, has been run in, one row for each of the strategies, with the same
// number of tasks. Errors name the file, the row and the setting.
func Parse(data []byte, name string) ([]Measurement, error) {
	rows, _, err := rowfile.Decode[Measurement](data, name)
	if err != nil {
		return nil, err
	}
	runs := make([]Repeat, len(rows))
	for i, r := range rows {
		runs[i].Measurement = r
	}
	return rows, checkRuns(runs, name, false)
}

// ReadRepeats reads the file of executions at path, as ParseRepeats does.
func ReadRepeats(path string) ([]Repeat, error) {
	data, err := files.ReadInput(path, files.Profiles)
	if err != nil {
		return nil, err
	}
	return ParseRepeats(data, path)
}

// ParseRepeats reads a file of executions held in memory, with the checks of
// Parse: in each repeat a setting has one row for each strategy.
func ParseRepeats(data []byte, name string) ([]Repeat, error) {
	rows, _, err := rowfile.Decode[Repeat](data, name)
	if err != nil {
		return nil, err
	}
	return rows, checkRuns(rows, name, true)
}

// settingKey names a setting, and suiteKey one execution of its strategies.
type (
	settingKey struct {
		benchmark, model string
		budget           int32
	}
	suiteKey struct {
		settingKey
		provenance string
		repeat     int32
	}
)

func (m Measurement) setting() settingKey {
	return settingKey{m.Benchmark, m.Model, m.ReferenceBudget}
}

func (k settingKey) String() string {
	return fmt.Sprintf("%s__model=%s at budget %d", k.benchmark, k.model, k.budget)
}

// checkRuns checks every row and that settings are whole. repeated says that
// the file has several executions of a setting.
func checkRuns(runs []Repeat, name string, repeated bool) error {
	suites := map[suiteKey]map[string]int{} // rows, from 0, by strategy
	var order []suiteKey
	for i, r := range runs {
		fault := func(format string, args ...any) error {
			return fmt.Errorf("%s: row %d (%s): %w", name, i+1, r.setting(), fmt.Errorf(format, args...))
		}
		if err := r.Check(); err != nil {
			return fault("%w", err)
		}
		if r.Repeat < 0 {
			return fault("repeat %d is negative", r.Repeat)
		}
		key := suiteKey{r.setting(), r.Provenance, r.Repeat}
		if suites[key] == nil {
			suites[key] = map[string]int{}
			order = append(order, key)
		}
		if before, doubled := suites[key][r.Strategy]; doubled {
			return fault("a second %s %s%s, after row %d", r.Provenance, r.Strategy, repeatWords(r.Repeat, repeated), before+1)
		}
		for _, other := range suites[key] {
			if runs[other].NTasks != r.NTasks {
				return fault("n_tasks %d, but %d in row %d", r.NTasks, runs[other].NTasks, other+1)
			}
		}
		suites[key][r.Strategy] = i
	}
	for _, key := range order {
		if err := checkWhole(key, suites, runs, repeated); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkWhole checks that an execution of a setting lacks no strategy. A lack
// that a run of another provenance would fill is called by its name.
func checkWhole(key suiteKey, suites map[suiteKey]map[string]int, runs []Repeat, repeated bool) error {
	have, first := suites[key], len(runs)
	for _, i := range have {
		first = min(first, i)
	}
	for _, s := range policy.Strategies {
		strategy := s.Name
		if _, ok := have[strategy]; ok {
			continue
		}
		err := fmt.Errorf("row %d (%s): the setting has no %s %s%s", first+1, key.settingKey, key.provenance, strategy, repeatWords(key.repeat, repeated))
		if others := elsewhere(key, strategy, runs); len(others) > 0 {
			err = fmt.Errorf("%w but a %s one: provenances may not be mixed within a setting", err, strings.Join(others, " and a "))
		}
		return err
	}
	return nil
}

// elsewhere is the other provenances in which a setting has a strategy.
func elsewhere(key suiteKey, strategy string, runs []Repeat) []string {
	var others []string
	for _, r := range runs {
		if r.setting() == key.settingKey && r.Strategy == strategy && r.Provenance != key.provenance && !slices.Contains(others, r.Provenance) {
			others = append(others, r.Provenance)
		}
	}
	return others
}

// repeatWords names an execution where there are several.
func repeatWords(repeat int32, repeated bool) string {
	if !repeated {
		return ""
	}
	return fmt.Sprintf(" in repeat %d", repeat)
}
