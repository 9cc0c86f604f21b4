package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"speceval/data"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/experiment"
	"speceval/stages/report"
	"speceval/stages/report/stored"
)

// published is a pipeline that reports the published numbers alone: what the
// replay would store is declared, and has not run.
func published(t *testing.T, out string) loader {
	t.Helper()
	settings := stored.Settings{
		Published: true, Budgets: []int{8, 16}, Targets: data.PaperTargets(),
		Architectures: data.Architectures(), Measurements: data.Measurements(),
	}
	stages := []dag.Stage{report.Stage(settings)}
	stages[0].Units = slices.DeleteFunc(stages[0].Units, func(u dag.Unit) bool { return u.ID != "experiment" && u.ID != "table7_flop_coefficients" })
	dagtest.Run(t, stages, out)
	return func(string, []string, experiment.Outside) (*experiment.Experiment, error) {
		return &experiment.Experiment{Out: out, Reports: settings, Stages: stages}, nil
	}
}

func TestOneTableIsPrinted(t *testing.T) {
	out := t.TempDir()
	p := published(t, out)
	tables := func(words ...string) (int, string, string) {
		return ranOn(p, nil, append([]string{"tables"}, words...)...)
	}
	outcomes(t, tables, []outcome{
		{words("--list"), exitDone, "table1_variance\ntable2_compute\n"},
		{words("--show table7"), exitDone, "Qwen3.5-9B"},
		{words("--show table7 --format latex"), exitDone, "\\midrule"},
		{words("--show table7 --format csv"), exitDone, read(filepath.Join(out, "tables", "table7_flop_coefficients.csv"))},
		{words("--show table7 --format html"), exitUsage, `--format "html" is not text, csv or latex`},
		{words("--show tabel7"), exitUsage, "the nearest are table7_flop_coefficients"},
		{words("--show table1"), exitFailed, "table1_variance has no rows: Not all is here: the replay stage has not run."},
	})
}

func TestExplainTellsWhereANumberComesFrom(t *testing.T) {
	p := published(t, t.TempDir())
	explain := func(words ...string) string {
		t.Helper()
		code, stdout, stderr := ranOn(p, nil, append([]string{"explain"}, words...)...)
		same(t, "exit code and stderr", fmt.Sprint(code, stderr), "0")
		return stdout
	}
	want(t, "the table", explain("table7"), "rows:\n  qwen2_5_3b\n", "columns:\n  model\n  theta_core\n")
	want(t, "the cell", explain("Table7", "qwen3_5_9b", "theta_core"), `row "qwen3_5_9b", column theta_core: 6919565824`, "Eq. 23", "report/table7_flop_coefficients", "data/architectures.csv", "fresh", "paper: 6.919566")

	stdout := explain("--json", "table7", "qwen3_5_9b", "theta_core")
	var e struct {
		Value   *float64
		Sources []dag.Source
		Units   []struct {
			Unit, State string
			Last        dag.Manifest `json:"last_run"`
		}
	}
	if err := json.Unmarshal([]byte(stdout), &e); err != nil || e.Value == nil || *e.Value != 6919565824 || len(e.Sources) != 2 || len(e.Units) != 1 ||
		e.Units[0].Unit != "report/table7_flop_coefficients" || e.Units[0].State != "fresh" || e.Units[0].Last.Commit != "test" {
		t.Errorf("%v\n%s", err, stdout)
	}
	same(t, "it is JSON", json.Valid([]byte(explain("--json", "table7"))), true)
}

func TestExplainRefusesWhatIsNotThere(t *testing.T) {
	out := t.TempDir()
	p := published(t, out)
	explain := func(words ...string) (int, string, string) {
		return ranOn(p, nil, append([]string{"explain"}, words...)...)
	}
	outcomes(t, explain, []outcome{
		{words("tabel7"), exitUsage, `there is no table "tabel7"; the nearest are table7_flop_coefficients`},
		{words("table"), exitUsage, `"table" could be more than one table: table1_variance, table2_compute`},
		{nil, exitUsage, "requires at least 1 arg(s)"},
		{words("table7 qwen3_5_9b"), exitUsage, "name a column behind the row: `speceval explain table7_flop_coefficients` lists them"},
		{words("table7 qwen4"), exitUsage, `there is no row of table7_flop_coefficients "qwen4"; the nearest are qwen2_5_3b, `},
		{words("table7 qwen3_5_9b theta"), exitUsage, `"theta" could be more than one column of table7_flop_coefficients: theta_core, theta_head`},
		{words("table7 qwen3_5_9b width"), exitUsage, "the nearest are attention_width"},
		{words("table1 8 hbn"), exitFailed, "table table1_variance is not there: " + out + "/tables/table1_variance.csv does not exist; run `speceval tables` first"},
		{words("--josn"), exitUsage, "did you mean --json?"},
	})
	write(filepath.Join(out, "tables", "table5_hbn_schedule.csv"), "n_tasks,budget\n")
	outcomes(t, explain, []outcome{{[]string{"table5", "19 8", "m"}, exitFailed, "table5_hbn_schedule has no rows: what it is made of has not run"}})
	ok(t, os.RemoveAll(out))
	outcomes(t, explain, []outcome{{words("table7"), exitFailed, "there is no output folder " + out + ": `speceval run` makes it"}})
}

const inspectLogs = "../internal/evaluation/logs/testdata/inspect/"

func TestImport(t *testing.T) {
	to := filepath.Join(t.TempDir(), "p.csv")
	imports := func(log, more string) []string { return words("import " + inspectLogs + log + " --to " + to + more) }
	compares := words("compare " + to + " " + inspectLogs + "zstd.eval")
	outcomes(t, onShell, []outcome{
		{imports("zstd.eval", ""), exitDone, "org__quiz__model=mockllm__model: 3 tasks"},
		{imports("zstd.eval", ""), exitDone, "written: " + to},

		// A profile with grades says what its log says, whose rollouts it has; what follows from an
		// allocation compares with nothing.
		{compares, exitUsage, "share rollouts"},
		{imports("zstd.eval", " --model other"), exitDone, ""},
		{compares, exitDone, "1  0.5833 ± "}, {compares, exitDone, "2  0.5833 ± "},
		{imports("allocated.eval", ""), exitDone, ""},
		{compares, exitUsage, "p.csv#mockllm__model is of an allocation that it does not tell"},

		{words("import --to " + to), exitUsage, ""}, {words("import " + inspectLogs), exitUsage, ""},
		{words("export"), exitUsage, ""}, {words("export x --format absent"), exitUsage, ""},
		{imports("parts.eval", ""), exitFailed, "parts.eval: summaries.json"},
		{imports("parts.eval", ""), exitFailed, "choose one with --reward, of parts/right, parts/style"},
		{imports("parts.eval", " --reward style"), exitDone, "parts/style"},
		{words("allocate " + inspectLogs + "parts.eval --budget 8 --reward style"), exitDone, ""},
	})
}
