package report_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/servers/flops"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/tables"
	"speceval/stages/report/tables/measured"
)

// sheets is every computed table of a study that has rows.
func sheets(t *testing.T, s study) (all []*model.Sheet) {
	t.Helper()
	src := s.source(t)
	for _, of := range tables.Of(src.Settings) {
		sheet := must(of.Sheet(src))
		if sheet.Rows > 0 {
			all = append(all, sheet)
		}
	}
	return all
}

// ofThePaper is a study whose profiles are the paper's.
func ofThePaper(s study) study { s.Published = true; return s }

// csvOf is data as a file of them.
func csvOf(t *testing.T, data table.Table) string {
	t.Helper()
	var b bytes.Buffer
	ok(t, table.CSV(&b, data))
	return b.String()
}

func TestTablesMatchGoldenFiles(t *testing.T) {
	for folder, s := range map[string]study{"paper": ofThePaper(smallStudy()), "own": smallStudy()} {
		all := sheets(t, s)
		if len(all) != 15 { // all but Table 8, for which nothing was searched
			t.Errorf("%s: %d tables", folder, len(all))
		}
		for _, s := range all {
			golden.Check(t, filepath.Join(folder, s.Base+".csv"), []byte(csvOf(t, s.Data())))
			var print bytes.Buffer
			ok(t, table.LaTeX(&print, s.Print(), "command: make report; commit: 0123abc; key: 4567def"))
			golden.Check(t, filepath.Join(folder, s.Base+".tex"), print.Bytes())
		}
	}
}

// contract is the columns of every table in CSV, which readers of other programs
// rely on: new ones come last, before those of the paper's numbers.
var contract = map[string]string{
	"table1_variance": "budget,oracle,tuned_en,tuned_en_se,tuned_ibn,tuned_ibn_se,ibn_alpha,hbn,hbn_se",
	"table2_compute": "budget,provenance,extra_rollouts,useful_flops,wasted_flops,actual_flops," +
		"extra_rollouts_sd,useful_flops_sd,wasted_flops_sd,actual_flops_sd,profiles,repeats",
	"table3_time": "budget,provenance,sync_time,async_time,delta_time,sync_normalized,async_normalized,delta_normalized," +
		"sync_time_sd,async_time_sd,delta_time_sd,sync_normalized_sd,async_normalized_sd,delta_normalized_sd,profiles,repeats",
	"table4_benefit": "budget,provenance,continuous_budget,rounded_budget,rounded_over_continuous,uniform_equivalent_time,async_time,delta," +
		"continuous_budget_se,rounded_budget_se,rounded_over_continuous_se,uniform_equivalent_time_sd,async_time_sd,delta_sd," +
		"profiles,repeats,budgets_differing,budgets_differing_expected",
	"table5_hbn_schedule":      "n_tasks,budget,m,w,risk,risk_se",
	"table6_en_schedule":       "n_tasks,budget,m,w,risk,risk_se",
	"table7_flop_coefficients": "model,theta_core,theta_head,full_attention_layers,attention_width",
	"table8_ts_neyman":         "budget,alpha,m0,ts,ts_se,hbn,delta,draws,hbn_se,delta_se,raw,raw_se,candidates,ties",
	"table9_policies": "budget,policy,donors,profiles,variance_ratio,variance_ratio_se,equivalent_budget,reduction_low,reduction_high," +
		"profiles_gaining,worst_profile,worst_ratio",
	"table10_benefit": "budget,policy,donors,provenance,time,equivalent_time,delta,wasted_flops," +
		"time_sd,equivalent_time_sd,delta_sd,wasted_flops_sd,profiles,repeats",
	"table11_suite":      "budget,policy,donors,models,variance_ratio,variance_ratio_se,reduction_low,reduction_high,worst_error",
	"robustness":         "budget,profiles,profiles_gaining,worst_profile,worst_ratio,worst_se",
	"profile_ratios":     "benchmark,model,n_tasks,budget,policy,donors,alpha,m,w,variance_ratio,ratio_se,draws",
	"error_split":        "budget,policy,donors,variance_ratio,replay_se,design_se,profile_se,shift,shift_se,resamples",
	"paired_differences": "budget,policy,donors,difference,difference_se,independent_se,profiles_better,profiles_worse,profiles,difference_low,difference_high,profiles_lower",
	"budget_equivalents": "benchmark,model,n_tasks,budget,hbn,equivalent_budget,equivalent_se,rounded",
}

func TestCSVColumnsAreTheContract(t *testing.T) {
	others := fleetStudy(t)
	others.Published = false
	for _, s := range []study{fleetStudy(t), others} {
		all := sheets(t, s)
		if len(all) != len(contract) {
			t.Errorf("%d tables, want %d", len(all), len(contract))
		}
		for _, sheet := range all {
			var ours, theirs []string
			for _, c := range sheet.Data().Columns {
				if strings.HasPrefix(c.Name, model.PaperPrefix) {
					theirs = append(theirs, c.Name)
				} else if ours = append(ours, c.Name); theirs != nil {
					t.Errorf("%s: %s comes after a paper_ column", sheet.Base, c.Name)
				}
			}
			if got := strings.Join(ours, ","); got != contract[sheet.Base] {
				t.Errorf("%s has columns %s, want %s", sheet.Base, got, contract[sheet.Base])
			}
			if want := s.Published && sheet.Reads.Paper; want != (theirs != nil) {
				t.Errorf("%s, of the paper's profiles %v, has the columns %v of the paper's numbers", sheet.Base, s.Published, theirs)
			}
		}
	}
}

func TestTable7ReadsBackTheSame(t *testing.T) {
	for _, published := range []bool{false, true} {
		s := paperStudy(t)
		s.Published = published
		if got, err := flops.Parse([]byte(csvOf(t, s.sheet(t, measured.FLOPs).Data())), "table7"); err != nil || !slices.Equal(got, s.architectures) {
			t.Errorf("%v came back as %v, %v", s.architectures, got, err)
		}
	}
}
