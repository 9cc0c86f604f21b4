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

// smallSettings make the shipped experiment quick: the published profiles at a
// precision that proves nothing but that everything fits together, and without a
// TeX, which not every machine has.
var smallSettings = []string{
	"--set", "experiment.budgets=[4,8]", "--set", "systems.repeats=1", "--set", "replay.draws=16",
	"--set", "replay.replicates=2", "--set", "replay.ibn_alphas=[0.1,0.5]",
	"--set", "replay.resamples=2", "--set", "replay.resample_draws=2",
	"--set", "report.pdf=never",
	"--set", "replay.ts_neyman.alphas=[0.07]", "--set", "replay.ts_neyman.warm_starts=[2,5]",
	"--set", "replay.ts_neyman.race_draws=2", "--set", "replay.ts_neyman.final_draws=2",
}

// small runs the shipped pipeline with the small setting, which ends with a code, and is what it
// says.
func small(t *testing.T, code int, out, line string) string {
	t.Helper()
	return said(t, code, append(words(line+" --out "+out), smallSettings...)...)
}

// folderFiles are the contents of all outputs below dir by name. Manifests, logs, the
// record of the runs and the page of the report, which hold times, and the lock
// are none.
func folderFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	contents := map[string]string{}
	ok(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.Name() == "manifests" || d.Name() == dag.LogsDir:
			return fs.SkipDir
		case !d.IsDir() && name != ".lock" && name != pageFile:
			contents[name] = read(filepath.Join(dir, name))
		}
		return err
	}))
	return contents
}

// TestShippedExperiment runs the pipeline as it is shipped, from the published
// profiles to verdicts.
func TestShippedExperiment(t *testing.T) {
	one := t.TempDir()
	small(t, exitDone, one, "run")
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

	page := read(filepath.Join(one, pageFile))
	want(t, "the page", page, "<h2>Verdicts</h2>", `id="table1_variance"`, `id="profile_ratios"`, `<th scope="row">b=8</th>`, `data-f="The variance of HBN over that of Uniform, `,
		`<section id="run">`, "with values that are not the paper’s: <code>experiment.budgets = [4,8]</code>")
	if len(page) > 700_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	want(t, "plan after the run", small(t, exitDone, one, "plan"), "nothing to run: 1338 units fresh")
	want(t, "plan after a change", small(t, exitDone, one, "plan --set replay.quadrature_order=8"), "replay.quadrature_order 16 → 8")
	small(t, exitStale, one, "status --check --set replay.quadrature_order=8")
	small(t, exitDone, one, "tables")
	sameFiles(t, "before", results, "after tables", folderFiles(t, one))
	want(t, "verify", small(t, exitOutside, one, "verify"), "table1_variance", "budgets [16 32 64]")
}

func sameFiles(t *testing.T, a string, as map[string]string, b string, bs map[string]string) {
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
	own := " --set corpus.profiles=" + mine
	const few = "Profiles with 7 rollouts of a task overstate savings: by some 90% with 8 of each task"
	want(t, "the plan", small(t, exitDone, out, "plan"+own), few, "easy__model=m is left out: its variance is zero",
		"no case study: the profile aime24__model=qwen3_5_4b is not among the evaluated ones; replay.case_study.profile names another")
	run, three := small(t, exitDone, out, "run -j 1"+own), filepath.Join(dir, "three")
	small(t, exitDone, three, "run -j 3"+own)
	sameFiles(t, "-j 1", folderFiles(t, out), "-j 3", folderFiles(t, three))
	want(t, "the run", run, "the mean over 3 profiles,\n", "\nbudget  Oracle  Tuned EN ", "  Uniform needs\n", "\n     8   ", few, filepath.Join(out, pageFile)+" written")
	want(t, "the page", read(filepath.Join(out, pageFile)), few)
	table := folderFiles(t, out)["tables/table1_variance.csv"]
	if strings.Contains(table, "paper") || !strings.HasPrefix(table, "budget,oracle,tuned_en,") || strings.Count(table, "\n") != 3 {
		t.Errorf("table 1 of own profiles is\n%s", table)
	}
	want(t, "robustness of three profiles of four", folderFiles(t, out)["tables/robustness.csv"], "\n4,3,")
	want(t, "verify", small(t, exitDone, out, "verify"+own), "no verdict")
}
