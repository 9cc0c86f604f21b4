package report

import (
	"errors"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"
)

// Targets is every number of the paper's tables and text that a run can be
// compared with, as printed: fractions, rounded to the paper's decimals.
// Lists run along the section's budgets, schedules along task counts and then
// budgets.
type Targets struct {
	Table1     varianceTargets   `toml:"table1_variance"`
	Table2     computeTargets    `toml:"table2_compute"`
	Table3     timeTargets       `toml:"table3_time"`
	Table4     benefitTargets    `toml:"table4_benefit"`
	Table5     scheduleTargets   `toml:"table5_hbn_schedule"`
	Table6     scheduleTargets   `toml:"table6_en_schedule"`
	Table7     flopTargets       `toml:"table7_flop_coefficients"`
	Table8     tsTargets         `toml:"table8_ts_neyman"`
	Robustness robustnessTargets `toml:"robustness"`
	CaseStudy  caseStudyTargets  `toml:"case_study"`
	Corpus     corpusTargets     `toml:"corpus"`
}

type varianceTargets struct {
	Budget   []int32   `toml:"budget"`
	Oracle   []float64 `toml:"oracle"`
	TunedEN  []float64 `toml:"tuned_en"`
	TunedIBN []float64 `toml:"tuned_ibn"`
	HBN      []float64 `toml:"hbn"`
	IBNAlpha []float64 `toml:"ibn_alpha"`
}

type computeTargets struct {
	Budget        []int32   `toml:"budget"`
	ExtraRollouts []float64 `toml:"extra_rollouts"`
	UsefulFLOPs   []float64 `toml:"useful_flops"`
	WastedFLOPs   []float64 `toml:"wasted_flops"`
	ActualFLOPs   []float64 `toml:"actual_flops"`
}

type timeTargets struct {
	Budget          []int32   `toml:"budget"`
	SyncTime        []float64 `toml:"sync_time"`
	AsyncTime       []float64 `toml:"async_time"`
	DeltaTime       []float64 `toml:"delta_time"`
	SyncNormalized  []float64 `toml:"sync_normalized"`
	AsyncNormalized []float64 `toml:"async_normalized"`
	DeltaNormalized []float64 `toml:"delta_normalized"`
}

type benefitTargets struct {
	Budget                []int32   `toml:"budget"`
	ContinuousBudget      []float64 `toml:"continuous_budget"`
	RoundedBudget         []float64 `toml:"rounded_budget"`
	RoundedOverContinuous []float64 `toml:"rounded_over_continuous"`
	UniformEquivalentTime []float64 `toml:"uniform_equivalent_time"`
	AsyncTime             []float64 `toml:"async_time"`
	Delta                 []float64 `toml:"delta"`
	ExtraBudgetKeptB8     float64   `toml:"extra_budget_kept_b8"`
}

type scheduleTargets struct {
	NTasks []int32     `toml:"n_tasks"`
	M      [][]int32   `toml:"m"`
	W      [][]float64 `toml:"w"`
}

type flopTargets struct {
	Model          []string  `toml:"model"`
	ThetaCore      []float64 `toml:"theta_core"` // in 10^9
	ThetaHead      []float64 `toml:"theta_head"` // in 10^9
	Layers         []int64   `toml:"full_attention_layers"`
	AttentionWidth []int64   `toml:"attention_width"`
}

type tsTargets struct {
	Budget []int32   `toml:"budget"`
	Alpha  []float64 `toml:"alpha"`
	M0     []int32   `toml:"m0"`
	TS     []float64 `toml:"ts"`
	HBN    []float64 `toml:"hbn"`
	Delta  []float64 `toml:"delta"`
}

type robustnessTargets struct {
	Budget             []int32 `toml:"budget"`
	ProfilesGaining    []int64 `toml:"profiles_gaining"`
	AdverseProfile     string  `toml:"adverse_profile"`
	AdverseRatioB16    float64 `toml:"adverse_ratio_b16"`
	AdverseRatioB32    float64 `toml:"adverse_ratio_b32"`
	AdverseOracleRatio float64 `toml:"adverse_oracle_ratio"`
	AdverseOutside     int64   `toml:"adverse_outside_02_08"`
}

type caseStudyTargets struct {
	ShareBelow    float64 `toml:"share_below_02"`
	ShareAbove    float64 `toml:"share_above_08"`
	EndpointTasks int64   `toml:"endpoint_tasks"`
	HBNRatioB8    float64 `toml:"hbn_ratio_b8"`
	HBNRatioB32   float64 `toml:"hbn_ratio_b32"`
	HBNRatioB64   float64 `toml:"hbn_ratio_b64"`
	OracleB8      float64 `toml:"oracle_ratio_b8"`
	OracleB32     float64 `toml:"oracle_ratio_b32"`
	OracleB64     float64 `toml:"oracle_ratio_b64"`
	HalfwidthB32  float64 `toml:"halfwidth_uniform_b32_pp"`
	WB32          float64 `toml:"w_b32"`
}

type corpusTargets struct {
	Profiles        int64   `toml:"profiles"`
	Tasks           int64   `toml:"tasks"`
	Responses       int64   `toml:"responses"`
	GenerationHours float64 `toml:"generation_hours"`
}

// ParseTargets reads the paper's numbers, a TOML file, strictly: an unknown
// key, an absent section or lists of unequal length are errors that name it.
func ParseTargets(data []byte) (Targets, error) {
	var t Targets
	meta, err := toml.Decode(string(data), &t)
	if err != nil {
		return Targets{}, fmt.Errorf("paper targets: %w", err)
	}
	var faults []error
	for _, key := range meta.Undecoded() {
		faults = append(faults, fmt.Errorf("unknown key %s", key))
	}
	for _, s := range t.shapes() {
		if !meta.IsDefined(s.section) {
			faults = append(faults, fmt.Errorf("section [%s] is absent", s.section))
			continue
		}
		for _, n := range s.lengths {
			if n != s.want {
				faults = append(faults, fmt.Errorf("section [%s]: lists of %d and %d values", s.section, s.want, n))
				break
			}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Targets{}, fmt.Errorf("paper targets: %w", err)
	}
	return t, nil
}

// shape is the common length that a section's lists must have.
type shape struct {
	section string
	want    int
	lengths []int
}

// shapes lists the sections that ParseTargets insists on. Schedules have no
// budgets of their own: they run along those of Table 1.
func (t Targets) shapes() []shape {
	t1, t2, t3, t4 := t.Table1, t.Table2, t.Table3, t.Table4
	t7, budgets := t.Table7, len(t.Table1.Budget)
	return []shape{
		{"table1_variance", budgets, []int{len(t1.Oracle), len(t1.TunedEN), len(t1.TunedIBN), len(t1.HBN), len(t1.IBNAlpha)}},
		{"table2_compute", len(t2.Budget), []int{len(t2.ExtraRollouts), len(t2.UsefulFLOPs), len(t2.WastedFLOPs), len(t2.ActualFLOPs)}},
		{"table3_time", len(t3.Budget), []int{len(t3.SyncTime), len(t3.AsyncTime), len(t3.DeltaTime),
			len(t3.SyncNormalized), len(t3.AsyncNormalized), len(t3.DeltaNormalized)}},
		{"table4_benefit", len(t4.Budget), []int{len(t4.ContinuousBudget), len(t4.RoundedBudget), len(t4.RoundedOverContinuous),
			len(t4.UniformEquivalentTime), len(t4.AsyncTime), len(t4.Delta)}},
		{"table5_hbn_schedule", len(t.Table5.NTasks), []int{len(t.Table5.M), len(t.Table5.W)}},
		{"table5_hbn_schedule", budgets, t.Table5.rowLengths()},
		{"table6_en_schedule", len(t.Table6.NTasks), []int{len(t.Table6.M), len(t.Table6.W)}},
		{"table6_en_schedule", budgets, t.Table6.rowLengths()},
		{"table7_flop_coefficients", len(t7.Model), []int{len(t7.ThetaCore), len(t7.ThetaHead), len(t7.Layers), len(t7.AttentionWidth)}},
		{"table8_ts_neyman", len(t.Table8.Budget), []int{len(t.Table8.Alpha), len(t.Table8.M0), len(t.Table8.TS), len(t.Table8.HBN), len(t.Table8.Delta)}},
		{"case_study", 0, nil},
		{"robustness", len(t.Robustness.Budget), []int{len(t.Robustness.ProfilesGaining)}},
		{"corpus", 0, nil},
	}
}

// rowLengths is the number of budgets in each row of m and of w.
func (s scheduleTargets) rowLengths() []int {
	var n []int
	for _, row := range s.M {
		n = append(n, len(row))
	}
	for _, row := range s.W {
		n = append(n, len(row))
	}
	return n
}

// schedule is a printed pilot size with its stage weight.
type schedule struct {
	m int32
	w float64
}

// schedule is the paper's (m, w) of a policy for a task count and a budget;
// ok is false where the paper has none.
func (t Targets) schedule(s scheduleTargets, nTasks, budget int32) (p schedule, ok bool) {
	i, j := slices.Index(s.NTasks, nTasks), slices.Index(t.Table1.Budget, budget)
	if i < 0 || j < 0 {
		return schedule{}, false
	}
	return schedule{s.M[i][j], s.W[i][j]}, true
}

// HBNPilots is the pilot size m of the paper's HBN schedule (Table 5) for a
// task count and a budget; ok is false where the paper has none.
func (t Targets) HBNPilots(nTasks, budget int) (m int, ok bool) {
	p, ok := t.schedule(t.Table5, int32(nTasks), int32(budget))
	return int(p.m), ok
}

// at is the value of a list at a budget; ok is false where the paper has none.
func at[T any](budgets []int32, values []T, budget int32) (v T, ok bool) {
	i := slices.Index(budgets, budget)
	if i < 0 {
		return v, false
	}
	return values[i], true
}
