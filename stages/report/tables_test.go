package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/flops"
	"speceval/internal/golden"
	"speceval/internal/table"
	"speceval/internal/table/textest"
	"speceval/internal/variance"
)

// sheets is every table of made-up results.
func sheets(t *testing.T, s stored, costs Costs, paper *Targets) []Sheet {
	t.Helper()
	first, err := varianceTable(s.Results, paper)
	if err != nil {
		t.Fatal(err)
	}
	all := []Sheet{first}
	for _, kind := range costKinds {
		sheet, err := costTable(kind, costs, paper)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sheet)
	}
	split, err := errorTable(s.Results, madeErrors(s.Ratios))
	if err != nil {
		t.Fatal(err)
	}
	paired, err := pairedTable(s.Ratios, madeDifferences(s.Ratios))
	if err != nil {
		t.Fatal(err)
	}
	worth, err := equivalentTable(s.Results)
	if err != nil {
		t.Fatal(err)
	}
	return append(all,
		scheduleTable(hbnSchedule, s.Designs, paper),
		scheduleTable(enSchedule, s.Designs, paper),
		flopTable(s.architectures, paper),
		robustnessTable(s.Ratios, paper),
		profileTable(s.Ratios),
		split, paired, worth,
	)
}

// smallStudy has three profiles, two budgets, one of them not the paper's, a
// pilot unlike the paper's, a foreign checkpoint and no IBN.
func smallStudy() stored {
	var s stored
	m4, m6, w4, w6 := int32(4), int32(6), 0.4813579, 0.36
	for _, b := range []int32{8, 12} {
		for i, p := range []struct {
			benchmark, model string
			nTasks           int32
		}{{"aime24", "qwen3_5_4b", 30}, {"math_100", "qwen3_5_4b", 100}, {"math_100", "my_model", 100}} {
			r := variance.Ratio{Benchmark: p.benchmark, Model: p.model, NTasks: p.nTasks, Budget: b}
			r.Policy, r.VarianceRatio = variance.Oracle, 0.4+0.05*float64(i)
			s.Ratios = append(s.Ratios, r)
			r.M, r.W, r.RatioSE, r.Draws = &m4, &w4, 0.0005, 64
			r.Policy, r.VarianceRatio = variance.HBN, 0.9+0.08*float64(i)
			s.Ratios = append(s.Ratios, r)
			r.M, r.W = &m6, &w6
			r.Policy, r.VarianceRatio = variance.TunedEN, 0.95
			s.Ratios = append(s.Ratios, r)
		}
		for _, n := range []int32{100, 30} {
			s.Designs = append(s.Designs,
				variance.Design{Policy: variance.HBN, NTasks: n, Budget: b, M: 4, W: w4, Risk: 2 * w4, RiskSE: 0.001, Selected: true},
				variance.Design{Policy: variance.HBN, NTasks: n, Budget: b, M: 5, W: 0.61, Risk: 0.976, RiskSE: 0.001},
				variance.Design{Policy: variance.TunedEN, NTasks: n, Budget: b, M: 6, W: w6, Risk: 0.96, RiskSE: 0.002, Selected: true})
		}
	}
	s.architectures = []flops.Architecture{
		{Model: "qwen2_5_3b", ThetaCore: 2774773760, ThetaHead: 311164928, FullAttentionLayers: 36, AttentionWidth: 2048},
		{Model: "my_model", ThetaCore: 1e9, ThetaHead: 2e8, FullAttentionLayers: 3, AttentionWidth: 128},
	}
	return s
}

func TestTablesMatchGoldenFiles(t *testing.T) {
	paper := paperTargets(t)
	for folder, p := range map[string]*Targets{"paper": &paper, "own": nil} {
		for _, s := range sheets(t, smallStudy(), smallCosts(smallStudy()), p) {
			var data, print bytes.Buffer
			if err := table.CSV(&data, s.Data); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, filepath.Join(folder, s.Base+".csv"), data.Bytes())
			if err := table.LaTeX(&print, s.Print, "command: make report; commit: 0123abc; key: 4567def"); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, filepath.Join(folder, s.Base+".tex"), print.Bytes())
		}
	}
}

// ourOwn are the tables that the paper does not have.
var ourOwn = []string{"profile_ratios", "error_split", "paired_differences", "budget_equivalents"}

func TestCSVColumnsAreTheContract(t *testing.T) {
	want := map[string]string{
		"table1_variance": "budget,oracle,tuned_en,tuned_en_se,tuned_ibn,tuned_ibn_se,ibn_alpha,hbn,hbn_se",
		"table2_compute": "budget,provenance,extra_rollouts,useful_flops,wasted_flops,actual_flops," +
			"extra_rollouts_sd,useful_flops_sd,wasted_flops_sd,actual_flops_sd,profiles,repeats",
		"table3_time": "budget,provenance,sync_time,async_time,delta_time,sync_normalized,async_normalized,delta_normalized," +
			"sync_time_sd,async_time_sd,delta_time_sd,sync_normalized_sd,async_normalized_sd,delta_normalized_sd,profiles,repeats",
		"table4_benefit": "budget,provenance,continuous_budget,rounded_budget,rounded_over_continuous,uniform_equivalent_time,async_time,delta," +
			"continuous_budget_se,rounded_budget_se,rounded_over_continuous_se,uniform_equivalent_time_sd,async_time_sd,delta_sd," +
			"profiles,repeats,budgets_differing",
		"table5_hbn_schedule":      "n_tasks,budget,m,w,risk,risk_se",
		"table6_en_schedule":       "n_tasks,budget,m,w,risk,risk_se",
		"table7_flop_coefficients": "model,theta_core,theta_head,full_attention_layers,attention_width",
		"robustness":               "budget,profiles,profiles_gaining,worst_profile,worst_ratio,worst_se",
		"profile_ratios":           "benchmark,model,n_tasks,budget,policy,alpha,m,w,variance_ratio,ratio_se,draws",
		"error_split":              "budget,policy,variance_ratio,replay_se,design_se,profile_se,shift,shift_se,resamples",
		"paired_differences":       "budget,policy,difference,difference_se,independent_se,profiles_better,profiles_worse,profiles",
		"budget_equivalents":       "benchmark,model,n_tasks,budget,hbn,equivalent_budget,equivalent_se,rounded",
	}
	paper := paperTargets(t)
	full := paperStudy(t)
	for _, p := range []*Targets{nil, &paper} {
		for _, s := range sheets(t, full, withFleet(paperCosts(t, full)), p) {
			var ours, theirs []string
			for _, c := range s.Data.Columns {
				if strings.HasPrefix(c.Name, "paper_") {
					theirs = append(theirs, c.Name)
				} else if ours = append(ours, c.Name); theirs != nil {
					t.Errorf("%s: %s comes after a paper_ column", s.Base, c.Name)
				}
			}
			if got := strings.Join(ours, ","); got != want[s.Base] {
				t.Errorf("%s has columns %s, want %s", s.Base, got, want[s.Base])
			}
			if p == nil && theirs != nil {
				t.Errorf("%s has columns %v without the paper's profiles", s.Base, theirs)
			}
			if p != nil && theirs == nil && !slices.Contains(ourOwn, s.Base) {
				t.Errorf("%s lacks the paper's numbers", s.Base)
			}
		}
	}
}

func TestRealLaTeXSetsEveryTable(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	paper := paperTargets(t)
	full := paperStudy(t)
	swap(variance.TunedEN, 100, 64, 54, 0.0002)(&full)
	for study, all := range map[string][]Sheet{
		"full":  sheets(t, full, withFleet(paperCosts(t, full)), &paper),
		"small": sheets(t, smallStudy(), smallCosts(smallStudy()), &paper),
		"own":   sheets(t, smallStudy(), smallCosts(smallStudy()), nil),
	} {
		for _, s := range all {
			path := filepath.Join(dir, study+"_"+s.Base+".tex")
			var b bytes.Buffer
			if err := table.LaTeX(&b, s.Print, "command: c; commit: d; key: e"); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
	}
	textest.Compile(t, os.Getenv("SPECEVAL_CI") != "", textest.Document(paths))
}

func TestOnlyTheBestFeasiblePolicyIsBold(t *testing.T) {
	paper := paperTargets(t)
	sheet, err := varianceTable(paperStudy(t).Results, &paper)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.LaTeX(&b, sheet.Print); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`\textbf{87.2\%}`, `\textbf{80.1\%}`, `\textbf{73.0\%}`, `\textbf{66.4\%}`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, &b)
		}
	}
	if n := strings.Count(b.String(), `\textbf`); n != 4 {
		t.Errorf("%d bold cells, want 4", n)
	}
}

func TestIBNOfMixedStrengthsIsAnError(t *testing.T) {
	s := paperStudy(t)
	other := 0.2
	for i, r := range s.Ratios {
		if r.Policy == variance.TunedIBN && name(r) == "math_100__model=qwen3_5_4b" {
			s.Ratios[i].Alpha = &other
		}
	}
	for _, d := range paperDesigns(paperTargets(t)) {
		d.Alpha = &other
		s.Designs = append(s.Designs, d)
	}
	if _, err := meanRows(s.Results); err == nil || !strings.Contains(err.Error(), "more than one selected alpha") {
		t.Errorf("error %v", err)
	}
}
