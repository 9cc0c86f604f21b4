// Package paper has the numbers that the paper prints. A section of
// data/paper_targets.toml is a table of the paper or a part of its text, and a key
// of it is named as our column of the same number.
package paper

import (
	"errors"
	"fmt"
	"maps"
	"math"
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

// sections says what the file must have. The rows of a section are named by the
// key along, those of a grid by task counts and then the budgets of Table 1; a list
// has a number for each row. The rest are single numbers and names.
var sections = []struct {
	name, along           string
	grid                  bool
	lists, numbers, names string
}{
	{name: Variance, along: "budget", lists: "oracle tuned_en tuned_ibn hbn ibn_alpha"},
	{name: Compute, along: "budget", lists: "extra_rollouts useful_flops wasted_flops actual_flops"},
	{name: Time, along: "budget", lists: "sync_time async_time delta_time sync_normalized async_normalized delta_normalized"},
	{name: Benefit, along: "budget", lists: "continuous_budget rounded_budget rounded_over_continuous uniform_equivalent_time async_time delta",
		numbers: "extra_budget_kept_b8"},
	{name: HBNSchedule, along: "n_tasks", grid: true, lists: "m w", numbers: "designs_at_an_end"},
	{name: ENSchedule, along: "n_tasks", grid: true, lists: "m w"},
	{name: FLOPs, along: "model", lists: "theta_core theta_head full_attention_layers attention_width"}, // thetas in 10^9
	{name: TSNeyman, along: "budget", lists: "alpha m0 ts hbn delta"},
	{name: Robustness, along: "budget", lists: "profiles_gaining", names: "adverse_profile",
		numbers: "adverse_ratio_b16 adverse_ratio_b32 adverse_oracle_ratio adverse_outside_02_08"},
	{name: CaseStudy, numbers: "share_below_02 share_above_08 endpoint_tasks hbn_ratio_b8 hbn_ratio_b32 hbn_ratio_b64 " +
		"oracle_ratio_b8 oracle_ratio_b32 oracle_ratio_b64 halfwidth_uniform_b32_pp w_b32"},
	{name: Corpus, numbers: "profiles tasks responses generation_hours profiles_n19 profiles_n30 profiles_n86 profiles_n93 profiles_n100"},
}

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

// Parse reads the paper's numbers, a TOML file, strictly: an unknown key, an
// absent section, or lists of unequal length are errors that name it.
func Parse(data []byte) (*Numbers, error) {
	var file map[string]map[string]any
	if err := toml.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("paper targets: %w", err)
	}
	n := &Numbers{map[string][]Key{}, map[string][]float64{}, map[string]string{}}
	var faults []error
	for _, s := range sections {
		keys, ok := file[s.name]
		if !ok {
			faults = append(faults, fmt.Errorf("section [%s] is absent", s.name))
			continue
		}
		delete(file, s.name)
		if err := n.along(s.name, keys[s.along], s.along); err != nil {
			faults = append(faults, err)
		}
		delete(keys, s.along)
		for _, key := range strings.Fields(s.lists) {
			faults = append(faults, n.list(s.name, key, keys[key], len(n.rows[s.name]), s.grid))
			delete(keys, key)
		}
		for _, key := range strings.Fields(s.numbers) {
			faults = append(faults, n.list(s.name, key, []any{keys[key]}, 1, false))
			delete(keys, key)
		}
		for _, key := range strings.Fields(s.names) {
			if n.names[s.name+"."+key], ok = keys[key].(string); !ok {
				faults = append(faults, fmt.Errorf("section [%s]: %s is no name", s.name, key))
			}
			delete(keys, key)
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			faults = append(faults, fmt.Errorf("unknown key %s.%s", s.name, key))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(file)) {
		faults = append(faults, fmt.Errorf("unknown key %s", name))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("paper targets: %w", err)
	}
	return n, nil
}

// along makes the rows of a section.
func (n *Numbers) along(section string, value any, key string) error {
	all, _ := value.([]any)
	for _, v := range all {
		name, isName := v.(string)
		count, isCount := v.(int64)
		switch {
		case key == "model" && isName:
			n.rows[section] = append(n.rows[section], Key{Model: name})
		case key == "budget" && isCount:
			n.rows[section] = append(n.rows[section], Key{Budget: int32(count)})
		case key == "n_tasks" && isCount:
			for _, row := range n.rows[Variance] {
				n.rows[section] = append(n.rows[section], Key{NTasks: int32(count), Budget: row.Budget})
			}
		default:
			return fmt.Errorf("section [%s]: %v is no %s", section, v, key)
		}
	}
	return nil
}

// list takes the numbers of a key, a list or one for each task count, of which there
// must be as many as wanted.
func (n *Numbers) list(section, key string, value any, want int, grid bool) error {
	all, _ := value.([]any)
	if grid {
		var flat []any
		for _, line := range all {
			numbers, _ := line.([]any)
			if columns := len(n.rows[Variance]); len(numbers) != columns {
				return fmt.Errorf("section [%s]: lists of %d and %d values", section, columns, len(numbers))
			}
			flat = append(flat, numbers...)
		}
		all = flat
	}
	if len(all) != want {
		if grid && len(n.rows[Variance]) > 0 {
			return fmt.Errorf("section [%s]: lists of %d and %d values", section, want/len(n.rows[Variance]), len(all)/len(n.rows[Variance]))
		}
		return fmt.Errorf("section [%s]: lists of %d and %d values", section, want, len(all))
	}
	for _, v := range all {
		x, ok := v.(float64)
		if whole, is := v.(int64); is {
			x, ok = float64(whole), true
		}
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("section [%s]: %s: %v is no number", section, key, v)
		}
		n.lists[section+"."+key] = append(n.lists[section+"."+key], x)
	}
	return nil
}

// Rows is the rows that the paper prints of a section, in its order.
func (n *Numbers) Rows(section string) []Key { return n.rows[section] }

// At is the number in a row of a section; ok is false where the paper has none.
// The provenance of the key does not matter.
func (n *Numbers) At(section, key string, row Key) (v float64, ok bool) {
	row.Provenance = ""
	i, list := slices.Index(n.rows[section], row), n.lists[section+"."+key]
	if i < 0 || i >= len(list) {
		return 0, false
	}
	return list[i], true
}

// Number is a single number of a section.
func (n *Numbers) Number(section, key string) float64 { return n.lists[section+"."+key][0] }

// Name is a single name of a section.
func (n *Numbers) Name(section, key string) string { return n.names[section+"."+key] }
