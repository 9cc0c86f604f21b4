package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
)

// small makes the shipped experiment quick: the published profiles at a
// precision that proves nothing but that everything fits together, and without a
// TeX, which not every machine has.
var small = []string{
	"--config", "../experiments.toml",
	"--set", "experiment.budgets=[4,8]", "--set", "systems.repeats=1", "--set", "replay.draws=16",
	"--set", "replay.replicates=2", "--set", "replay.ibn_alphas=[0.1,0.5]",
	"--set", "replay.resamples=2", "--set", "replay.resample_draws=2",
	"--set", "report.pdf=never",
	"--set", "replay.ts_neyman.alphas=[0.07]", "--set", "replay.ts_neyman.warm_starts=[2,5]",
	"--set", "replay.ts_neyman.race_draws=2", "--set", "replay.ts_neyman.final_draws=2",
}

// speceval runs the shipped pipeline with the small setting and returns its
// exit code and what it wrote.
func speceval(t *testing.T, out string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return ran(nil, append(append(args, "--out", out), small...)...)
}

// folderFiles are the contents of all outputs below dir by name. Manifests, logs, the
// record of the runs and the page of the report, which hold times, and the lock
// are none.
func folderFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	contents := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && (d.Name() == "manifests" || d.Name() == dag.LogsDir) {
				return fs.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(path)
		if name, _ := filepath.Rel(dir, path); name != ".lock" && name != pageFile {
			contents[name] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return contents
}

// TestShippedExperiment runs the pipeline as it is shipped, from the published
// profiles to verdicts.
func TestShippedExperiment(t *testing.T) {
	one := t.TempDir()
	if code, _, stderr := speceval(t, one, "run"); code != 0 {
		t.Fatalf("run: exit code %d\n%s", code, stderr)
	}
	results := folderFiles(t, one)
	for _, want := range []string{
		"replay/designs.parquet", "replay/ratios.parquet",
		"tables/table1_variance.csv", "tables/table1_variance.tex", "tables/table5_hbn_schedule.csv",
		"tables/table6_en_schedule.tex", "tables/table7_flop_coefficients.csv", "tables/robustness.csv",
		"tables/profile_ratios.csv", "report.tex",
	} {
		if results[want] == "" {
			t.Errorf("%s is not there", want)
		}
	}
	ratios, _, err := rowfile.ReadFile[variance.Ratio](filepath.Join(one, "replay", "ratios.parquet"))
	if err != nil || len(ratios) != 107*2*len(policy.All) {
		t.Errorf("%d ratios (%v), want those of 107 profiles, 2 budgets and %d policies", len(ratios), err, len(policy.All))
	}

	checkPage(t, filepath.Join(one, pageFile))

	if code, plan, _ := speceval(t, one, "plan"); code != 0 || !strings.Contains(plan, "nothing to run: 1338 units fresh") {
		t.Errorf("plan after the run: exit code %d\n%s", code, plan)
	}
	if code, plan, _ := speceval(t, one, "plan", "--set", "replay.quadrature_order=8"); code != 0 ||
		!strings.Contains(plan, "replay.quadrature_order 16 → 8") {
		t.Errorf("plan after a change: exit code %d\n%s", code, plan)
	}
	if code, _, _ := speceval(t, one, "status", "--check", "--set", "replay.quadrature_order=8"); code != 3 {
		t.Errorf("status --check of a changed experiment: exit code %d, want 3", code)
	}
	if code, _, stderr := speceval(t, one, "tables"); code != 0 {
		t.Errorf("tables: exit code %d\n%s", code, stderr)
	}
	same(t, "before", results, "after tables", folderFiles(t, one))
	code, verdicts, stderr := speceval(t, one, "verify")
	if code != 0 && code != 4 || !strings.Contains(verdicts, "table1_variance") || !strings.Contains(verdicts, "budgets [16 32 64]") {
		t.Errorf("verify: exit code %d\n%s%s", code, verdicts, stderr)
	}
}

// checkPage looks for the parts of a page of the whole experiment.
func checkPage(t *testing.T, file string) {
	t.Helper()
	page := read(file)
	want(t, file, page, "<h2>Verdicts</h2>", `id="table1_variance"`, `id="profile_ratios"`, `<th scope="row">b=8</th>`, `data-f="The variance of HBN over that of Uniform, `,
		`<section id="run">`)
	if len(page) > 700_000 {
		t.Errorf("%s has %d bytes", file, len(page))
	}
}

func same(t *testing.T, a string, as map[string]string, b string, bs map[string]string) {
	t.Helper()
	if len(as) != len(bs) {
		t.Errorf("%s has %d files, %s %d", a, len(as), b, len(bs))
	}
	for name, content := range as {
		if bs[name] != content {
			t.Errorf("%s and %s differ in %s", a, b, name)
		}
	}
}

// TestOwnProfiles runs profiles of a user's: other task counts, another number
// of rollouts, and no paper to compare with. One job and three give the same bytes.
func TestOwnProfiles(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.csv")
	write(mine, "benchmark,model,task_index,task_id,pass_count,tested_k\n"+
		"quiz,m,1,b,3,7\nquiz,m,0,a,7,7\nquiz,n,1,b,2,7\nquiz,n,0,a,5,7\n"+
		"exam,m,0,x,0,50\nexam,m,1,y,25,50\nexam,m,2,z,49,50\n"+
		"easy,m,0,x,5,5\neasy,m,1,y,5,5\n")
	out := filepath.Join(dir, "out")
	own := []string{"--set", "corpus.profiles=" + mine}
	_, _, planned := speceval(t, out, append([]string{"plan"}, own...)...)
	const few = "Profiles with 7 rollouts of a task overstate savings: by some 90% with 8 of each task"
	want(t, "the plan", planned, few, "easy__model=m is left out: its variance is zero",
		"no case study: the profile aime24__model=qwen3_5_4b is not among the evaluated ones; replay.case_study.profile names another")
	code, _, stderr := speceval(t, out, append([]string{"run", "-j", "1"}, own...)...)
	if code != 0 {
		t.Fatalf("run: exit code %d\n%s", code, stderr)
	}
	three := filepath.Join(dir, "three")
	if code, _, stderr := speceval(t, three, append([]string{"run", "-j", "3"}, own...)...); code != 0 {
		t.Fatalf("run -j 3: exit code %d\n%s", code, stderr)
	}
	same(t, "-j 1", folderFiles(t, out), "-j 3", folderFiles(t, three))
	want(t, "the run", stderr, "the mean over 3 profiles,\n", "\nbudget  Oracle  Tuned EN ", "  Uniform needs\n", "\n     8   ", few, filepath.Join(out, pageFile)+" written")
	page, err := os.ReadFile(filepath.Join(out, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the page", string(page), few)
	table := folderFiles(t, out)["tables/table1_variance.csv"]
	if strings.Contains(table, "paper") || !strings.HasPrefix(table, "budget,oracle,tuned_en,") || strings.Count(table, "\n") != 3 {
		t.Errorf("table 1 of own profiles is\n%s", table)
	}
	robustness := folderFiles(t, out)["tables/robustness.csv"]
	if !strings.Contains(robustness, "\n4,3,") {
		t.Errorf("three of the four profiles can be evaluated, robustness says\n%s", robustness)
	}
	code, verdict, _ := speceval(t, out, append([]string{"verify"}, own...)...)
	if code != 0 || !strings.Contains(verdict, "no verdict") {
		t.Errorf("verify: exit code %d\n%s", code, verdict)
	}
}
