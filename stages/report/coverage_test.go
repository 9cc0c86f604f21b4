package report_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/BurntSushi/toml"

	"speceval/data"
	"speceval/stages/report"
	"speceval/stages/report/stored"
)

// TestEveryNumberOfThePaperHasACell gives each number of the paper's file a value
// that no other has, and looks for all of them among the verdicts: a number that
// is added to the file and compared with nothing is found here.
func TestEveryNumberOfThePaperHasACell(t *testing.T) {
	var file map[string]map[string]any
	if _, err := toml.Decode(string(data.PaperTargets()), &file); err != nil {
		t.Fatal(err)
	}
	numbered := map[float64]string{}
	for section, keys := range file {
		for key, value := range keys {
			if slices.Contains([]string{"budget", "n_tasks", "model", "adverse_profile"}, key) {
				continue // what rows are of
			}
			keys[key] = renumbered(numbered, section+"."+key, value)
		}
	}
	var b bytes.Buffer
	ok(t, toml.NewEncoder(&b).Encode(file))
	s := withCase(t, paperStudy(t))
	set := s.settings(t)
	set.Targets = b.Bytes()
	dir := t.TempDir()
	s.write(t, dir)
	v := must(report.Verify(stored.NewSource(&set, stored.Folder(dir))))
	for _, c := range v.Cells {
		if c.Paper != nil {
			delete(numbered, *c.Paper)
		}
	}
	for value, what := range numbered {
		t.Errorf("no cell compares with %s (as %g)", what, value)
	}
}

// renumbered is value with every number in it replaced by one of its own, of the same
// type, noted in numbered by where it was.
func renumbered(numbered map[float64]string, where string, value any) any {
	next := int64(1000 + len(numbered))
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = renumbered(numbered, fmt.Sprintf("%s[%d]", where, i), v[i])
		}
		return out
	case float64:
		numbered[float64(next)+0.5] = where
		return float64(next) + 0.5
	case int64:
		numbered[float64(next)] = where
		return next
	}
	return value
}
