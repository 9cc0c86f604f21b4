// Package paper has the numbers that the paper prints, and where in it they
// stand. A section of data/paper_targets.toml is a table of the paper or a part
// of its text, and a key of it is named as our column of the same number.
package paper

import (
	"errors"
	"fmt"
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

// sections says what the file must have: lists of one length, that of the first,
// which names their rows; grids along these rows and the budgets of Table 1; and
// single numbers and names.
var sections = []struct{ name, lists, grids, numbers, names string }{
	{name: Variance, lists: "budget oracle tuned_en tuned_ibn hbn ibn_alpha"},
	{name: Compute, lists: "budget extra_rollouts useful_flops wasted_flops actual_flops"},
	{name: Time, lists: "budget sync_time async_time delta_time sync_normalized async_normalized delta_normalized"},
	{name: Benefit, lists: "budget continuous_budget rounded_budget rounded_over_continuous uniform_equivalent_time async_time delta",
		numbers: "extra_budget_kept_b8"},
	{name: HBNSchedule, lists: "n_tasks", grids: "m w"},
	{name: ENSchedule, lists: "n_tasks", grids: "m w"},
	{name: FLOPs, lists: "model theta_core theta_head full_attention_layers attention_width"}, // thetas in 10^9
	{name: TSNeyman, lists: "budget alpha m0 ts hbn delta"},
	{name: Robustness, lists: "budget profiles_gaining", names: "adverse_profile",
		numbers: "adverse_ratio_b16 adverse_ratio_b32 adverse_oracle_ratio adverse_outside_02_08"},
	{name: CaseStudy, numbers: "share_below_02 share_above_08 endpoint_tasks hbn_ratio_b8 hbn_ratio_b32 hbn_ratio_b64 " +
		"oracle_ratio_b8 oracle_ratio_b32 oracle_ratio_b64 halfwidth_uniform_b32_pp w_b32"},
	{name: Corpus, numbers: "profiles tasks responses generation_hours"},
}

// Numbers is every number of the paper's tables and text that a run can be
// compared with, as printed: fractions, rounded to the paper's decimals.
type Numbers struct {
	rows    map[string][]Key // of a section, in its order
	lists   map[string][]float64
	numbers map[string]float64
	names   map[string]string
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
	var words []string
	if k.Provenance != "" {
		words = append(words, k.Provenance)
	}
	if k.Model != "" {
		words = append(words, k.Model)
	}
	if k.NTasks != 0 {
		words = append(words, fmt.Sprintf("N=%d", k.NTasks))
	}
	if k.Budget != 0 {
		words = append(words, fmt.Sprintf("b=%d", k.Budget))
	}
	return strings.Join(words, " ")
}

// Parse reads the paper's numbers, a TOML file, strictly: an unknown key, an
// absent section, or lists of unequal length are errors that name it.
func Parse(data []byte) (*Numbers, error) {
	var file map[string]map[string]any
	if err := toml.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("paper targets: %w", err)
	}
	n := &Numbers{map[string][]Key{}, map[string][]float64{}, map[string]float64{}, map[string]string{}}
	var faults []error
	for _, s := range sections {
		keys, ok := file[s.name]
		if !ok {
			faults = append(faults, fmt.Errorf("section [%s] is absent", s.name))
			continue
		}
		delete(file, s.name)
		if err := n.section(s.name, keys, strings.Fields(s.lists), strings.Fields(s.grids), strings.Fields(s.numbers), strings.Fields(s.names)); err != nil {
			faults = append(faults, err)
		}
		for key := range keys {
			if !slices.Contains(strings.Fields(strings.Join([]string{s.lists, s.grids, s.numbers, s.names}, " ")), key) {
				faults = append(faults, fmt.Errorf("unknown key %s.%s", s.name, key))
			}
		}
	}
	for name := range file {
		faults = append(faults, fmt.Errorf("unknown key %s", name))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("paper targets: %w", err)
	}
	return n, nil
}

// section takes the keys of a section, which must be of their kinds and of one
// length.
func (n *Numbers) section(name string, keys map[string]any, lists, grids, numbers, names []string) error {
	for i, key := range lists {
		if key == "model" {
			if err := n.models(name, keys[key]); err != nil {
				return err
			}
			continue
		}
		list, err := floats(keys[key])
		if err != nil {
			return fmt.Errorf("section [%s]: %s: %w", name, key, err)
		}
		if i == 0 {
			n.along(name, key, list)
		} else if len(list) != len(n.rows[name]) {
			return fmt.Errorf("section [%s]: lists of %d and %d values", name, len(n.rows[name]), len(list))
		}
		n.lists[name+"."+key] = list
	}
	for _, key := range grids {
		if err := n.grid(name, key, keys[key], len(n.lists[name+"."+lists[0]])); err != nil {
			return fmt.Errorf("section [%s]: %w", name, err)
		}
	}
	for _, key := range numbers {
		v, err := floats([]any{keys[key]})
		if err != nil {
			return fmt.Errorf("section [%s]: %s: %w", name, key, err)
		}
		n.numbers[name+"."+key] = v[0]
	}
	for _, key := range names {
		text, ok := keys[key].(string)
		if !ok {
			return fmt.Errorf("section [%s]: %s is no name", name, key)
		}
		n.names[name+"."+key] = text
	}
	return nil
}

// along makes the rows of a section by its first list: budgets, or task counts
// with the budgets of Table 1.
func (n *Numbers) along(name, key string, list []float64) {
	for _, v := range list {
		if key == "budget" {
			n.rows[name] = append(n.rows[name], Key{Budget: int32(v)})
			continue
		}
		for _, row := range n.rows[Variance] {
			n.rows[name] = append(n.rows[name], Key{NTasks: int32(v), Budget: row.Budget})
		}
	}
}

func (n *Numbers) models(name string, list any) error {
	all, _ := list.([]any)
	for _, v := range all {
		model, ok := v.(string)
		if !ok {
			return fmt.Errorf("section [%s]: the model %v is no name", name, v)
		}
		n.rows[name] = append(n.rows[name], Key{Model: model})
	}
	return nil
}

// grid takes rows of numbers along the section's rows and the budgets of Table 1.
func (n *Numbers) grid(name, key string, value any, rows int) error {
	lines, _ := value.([]any)
	if len(lines) != rows {
		return fmt.Errorf("lists of %d and %d values", rows, len(lines))
	}
	for _, line := range lines {
		list, err := floats(line)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if want := len(n.rows[Variance]); len(list) != want {
			return fmt.Errorf("lists of %d and %d values", want, len(list))
		}
		n.lists[name+"."+key] = append(n.lists[name+"."+key], list...)
	}
	return nil
}

// floats is a list of finite numbers; none where the key is absent.
func floats(value any) ([]float64, error) {
	all, ok := value.([]any)
	if !ok && value != nil {
		return nil, fmt.Errorf("%v is no list", value)
	}
	list := make([]float64, len(all))
	for i, v := range all {
		switch v := v.(type) {
		case int64:
			list[i] = float64(v)
		case float64:
			list[i] = v
		default:
			return nil, fmt.Errorf("%v is no number", v)
		}
		if math.IsNaN(list[i]) || math.IsInf(list[i], 0) {
			return nil, fmt.Errorf("%v is no number", v)
		}
	}
	return list, nil
}

// Rows is the rows that the paper prints of a section, in its order.
func (n *Numbers) Rows(section string) []Key { return n.rows[section] }

// At is the number in a row of a section; ok is false where the paper has none.
// The provenance of the key does not matter.
func (n *Numbers) At(section, key string, row Key) (v float64, ok bool) {
	row.Provenance = ""
	i := slices.Index(n.rows[section], row)
	list := n.lists[section+"."+key]
	if i < 0 || i >= len(list) {
		return 0, false
	}
	return list[i], true
}

// Number is a single number of a section.
func (n *Numbers) Number(section, key string) float64 { return n.numbers[section+"."+key] }

// Name is a single name of a section.
func (n *Numbers) Name(section, key string) string { return n.names[section+"."+key] }

// HBNPilots is the pilot size m of the paper's HBN schedule (Table 5) for a
// task count and a budget; ok is false where the paper has none.
func (n *Numbers) HBNPilots(nTasks, budget int) (m int, ok bool) {
	v, ok := n.At(HBNSchedule, "m", Key{NTasks: int32(nTasks), Budget: int32(budget)})
	return int(v), ok
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
