// Package paper has the numbers that the paper prints. A section of
// data/paper_targets.toml is a table of the paper or a part of its text, and a key
// of it is named as our column of the same number.
package paper

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// File is where the numbers are, as sources name it.
const File = "data/paper_targets.toml"

// Sections of the file.
const (
	Variance    = "table1_variance"
	Compute     = "table2_compute"
	Time        = "table3_time"
	Benefit     = "table4_benefit"
	HBNSchedule = "table5_hbn_schedule"
	ENSchedule  = "table6_en_schedule"
	FLOPs       = "table7_flop_coefficients"
	TSNeyman    = "table8_ts_neyman"
	Robustness  = "robustness"
	CaseStudy   = "case_study"
	Corpus      = "corpus"
)

// Numbers is every number of the paper's tables and text that a run can be
// compared with, as printed: fractions, rounded to the paper's decimals.
type Numbers struct {
	rows  map[string][]Key     // of a section, in its order
	lists map[string][]float64 // by section and key; a single number is a list of one
	names map[string]string
}

// Key names a row of a table of the paper; what a table does not tell rows apart
// by is zero.
type Key struct {
	Provenance string // of runs: the paper's rows are compared with those of each
	Model      string
	NTasks     int32
	Budget     int32 // rollouts per task
}

// Label is the row as people name it: "b=8", "published b=8", "N=19 b=8", a
// checkpoint.
func (k Key) Label() string {
	words := []string{k.Provenance, k.Model}
	if k.NTasks != 0 {
		words = append(words, fmt.Sprintf("N=%d", k.NTasks))
	}
	if k.Budget != 0 {
		words = append(words, fmt.Sprintf("b=%d", k.Budget))
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

var numbered = regexp.MustCompile(`^(table|figure)(\d+)_`)

// Number is the number that the paper gives the table or figure of a section or a
// file: 1 and "Table 1" of table1_variance; 0 for one that it does not have.
func Number(base string) (n int, name string) {
	m := numbered.FindStringSubmatch(base)
	if m == nil {
		return 0, ""
	}
	n, _ = strconv.Atoi(m[2])
	return n, strings.ToUpper(m[1][:1]) + m[1][1:] + " " + m[2]
}

// Parse reads the paper's numbers, a TOML file. A section has a list of its rows, by
// budget, model or n_tasks, and lists with a number for each of them; by n_tasks, a list has
// a list for each, with a number for every budget of Table 1. The rest are single numbers and
// names.
func Parse(data []byte) (*Numbers, error) {
	var file map[string]map[string]any
	if err := toml.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("paper targets: %w", err)
	}
	n := &Numbers{map[string][]Key{}, map[string][]float64{}, map[string]string{}}
	budgets := flat(file[Variance]["budget"])
	for section, values := range file {
		var rows []Key
		models, _ := values["model"].([]any)
		for _, v := range models {
			rows = append(rows, Key{Model: fmt.Sprint(v)})
		}
		for _, b := range flat(values["budget"]) {
			rows = append(rows, Key{Budget: int32(b)})
		}
		for _, tasks := range flat(values["n_tasks"]) {
			for _, b := range budgets {
				rows = append(rows, Key{NTasks: int32(tasks), Budget: int32(b)})
			}
		}
		n.rows[section] = rows
		for key, value := range values {
			name := section + "." + key
			if n.names[name], _ = value.(string); n.names[name] != "" || key == "budget" || key == "model" || key == "n_tasks" {
				continue
			}
			n.lists[name] = flat(value)
			if _, list := value.([]any); list && len(n.lists[name]) != len(rows) {
				return nil, fmt.Errorf("paper targets: [%s] has %d rows, and %s %d numbers", section, len(rows), key, len(n.lists[name]))
			}
		}
	}
	return n, nil
}

// flat is the numbers of a value, one after the other.
func flat(value any) (all []float64) {
	switch v := value.(type) {
	case float64:
		return []float64{v}
	case int64:
		return []float64{float64(v)}
	case []any:
		for _, part := range v {
			all = append(all, flat(part)...)
		}
	}
	return all
}

// Rows is the rows that the paper prints of a section, in its order.
func (n *Numbers) Rows(section string) []Key { return n.rows[section] }

// place is where a row is among those of a section, −1 where there is none. The provenance of
// the key does not matter.
func (n *Numbers) place(section string, row Key) int {
	if n == nil {
		return -1
	}
	row.Provenance = ""
	return slices.Index(n.rows[section], row)
}

// Has reports whether the paper has a row of a section.
func (n *Numbers) Has(section string, row Key) bool { return n.place(section, row) >= 0 }

// At is the number in a row of a section; ok is false where the paper has none.
func (n *Numbers) At(section, key string, row Key) (v float64, ok bool) {
	i := n.place(section, row)
	if i < 0 || i >= len(n.lists[section+"."+key]) {
		return 0, false
	}
	return n.lists[section+"."+key][i], true
}

// Number is a single number of a section.
func (n *Numbers) Number(section, key string) float64 { return n.lists[section+"."+key][0] }

// Name is a single name of a section.
func (n *Numbers) Name(section, key string) string { return n.names[section+"."+key] }
