package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	stages := []dag.Stage{onlyUnits(report.Stage(settings), "experiment", "table7_flop_coefficients")}
	dagtest.Run(t, stages, out)
	return func(string, []string, experiment.Outside) (*experiment.Experiment, error) {
		return &experiment.Experiment{Out: out, Reports: settings, Stages: stages}, nil
	}
}

// explainIn runs explain on a pipeline's output folder.
func explainIn(p loader, args ...string) (code int, stdout, stderr string) {
	return commandIn(p, append([]string{"explain"}, args...)...)
}

func commandIn(p loader, words ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	sh := &shell{stdout: &o, stderr: &e, interrupts: nil}
	code = run(words, sh, p)
	return code, o.String(), e.String()
}

func TestOneTableIsPrinted(t *testing.T) {
	out := t.TempDir()
	p := published(t, out)
	stored, err := os.ReadFile(filepath.Join(out, "tables", "table7_flop_coefficients.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string // on stdout, or on stderr of what fails
	}{
		{[]string{"--list"}, exitDone, "table1_variance\ntable2_compute\n"},
		{[]string{"--show", "table7"}, exitDone, "Qwen3.5-9B"},
		{[]string{"--show", "table7", "--format", "latex"}, exitDone, "\\midrule"},
		{[]string{"--show", "table7", "--format", "csv"}, exitDone, string(stored)},
		{[]string{"--show", "table7", "--format", "html"}, exitUsage, `--format "html" is not text, csv or latex`},
		{[]string{"--show", "tabel7"}, exitUsage, "the nearest are table7_flop_coefficients"},
		{[]string{"--show", "table1"}, exitFailed, "table1_variance has no rows: Not all is here: the replay stage has not run."},
	} {
		code, stdout, stderr := commandIn(p, append([]string{"tables"}, c.args...)...)
		if printed := map[bool]string{true: stdout, false: stderr}[c.code == exitDone]; code != c.code || (stdout == "") != (code != exitDone) || !strings.Contains(printed, c.want) {
			t.Errorf("tables %q: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
	}
}

func TestExplainTellsWhereANumberComesFrom(t *testing.T) {
	p := published(t, t.TempDir())
	_, stdout, _ := explainIn(p, "table7")
	want(t, "the table", stdout, "rows:\n  qwen2_5_3b\n", "columns:\n  model\n  theta_core\n")
	code, stdout, stderr := explainIn(p, "Table7", "qwen3_5_9b", "theta_core")
	if code != exitDone || stderr != "" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	want(t, "the cell", stdout, `row "qwen3_5_9b", column theta_core: 6919565824`, "Eq. 23", "report/table7_flop_coefficients", "data/architectures.csv", "fresh", "paper: 6.919566")

	_, stdout, _ = explainIn(p, "--json", "table7", "qwen3_5_9b", "theta_core")
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
	if code, stdout, _ := explainIn(p, "--json", "table7"); code != exitDone || !json.Valid([]byte(stdout)) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}

func TestExplainRefusesWhatIsNotThere(t *testing.T) {
	out := t.TempDir()
	p := published(t, out)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"tabel7"}, exitUsage, `there is no table "tabel7"; the nearest are table7_flop_coefficients`},
		{[]string{"table"}, exitUsage, `"table" could be more than one table: table1_variance, table2_compute`},
		{[]string{}, exitUsage, "requires at least 1 arg(s)"},
		{[]string{"table7", "qwen3_5_9b"}, exitUsage, "name a column behind the row: `speceval explain table7_flop_coefficients` lists them"},
		{[]string{"table7", "qwen4"}, exitUsage, `there is no row of table7_flop_coefficients "qwen4"; the nearest are qwen2_5_3b, `},
		{[]string{"table7", "qwen3_5_9b", "theta"}, exitUsage, `"theta" could be more than one column of table7_flop_coefficients: theta_core, theta_head`},
		{[]string{"table7", "qwen3_5_9b", "width"}, exitUsage, "the nearest are attention_width"},
		{[]string{"table1", "8", "hbn"}, exitFailed, "table table1_variance is not there: " + out + "/tables/table1_variance.csv does not exist; run `speceval tables` first"},
		{[]string{"--josn"}, exitUsage, "did you mean --json?"},
	} {
		code, stdout, stderr := explainIn(p, c.args...)
		if code != c.code || stdout != "" {
			t.Errorf("%q: exit code %d, want %d\n%s", c.args, code, c.code, stdout)
		}
		want(t, "stderr", stderr, c.want)
	}
	write(filepath.Join(out, "tables", "table5_hbn_schedule.csv"), "n_tasks,budget\n")
	code, _, stderr := explainIn(p, "table5", "19 8", "m")
	if code != exitFailed {
		t.Errorf("a table without rows: exit code %d", code)
	}
	want(t, "stderr", stderr, "table5_hbn_schedule has no rows: what it is made of has not run")
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	code, _, stderr = explainIn(p, "table7")
	if code != exitFailed {
		t.Errorf("no output folder: exit code %d", code)
	}
	want(t, "stderr", stderr, "there is no output folder "+out+": `speceval run` makes it")
}

// onlyUnits is a stage with some of its units.
func onlyUnits(s dag.Stage, ids ...string) dag.Stage {
	s.Units = slices.DeleteFunc(slices.Clone(s.Units), func(u dag.Unit) bool { return !slices.Contains(ids, u.ID) })
	return s
}

const inspectLogs = "../internal/evaluation/logs/testdata/inspect/"

func TestImport(t *testing.T) {
	to := filepath.Join(t.TempDir(), "p.csv")
	code, stdout, stderr := onShell("import", inspectLogs+"zstd.eval", "--to", to)
	if code != exitDone || stderr != "" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	want(t, "the summary", stdout, "org__quiz__model=mockllm__model: 3 tasks", "written: "+to)
	if _, err := os.Stat(to); err != nil {
		t.Error(err)
	}

	// A profile with grades says what its log says, whose rollouts it has; what follows from an
	// allocation compares with nothing.
	code, _, stderr = onShell("compare", to, inspectLogs+"zstd.eval")
	if want(t, "the error", stderr, "share rollouts"); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	onShell("import", inspectLogs+"zstd.eval", "--to", to, "--model", "other")
	code, stdout, stderr = onShell("compare", to, inspectLogs+"zstd.eval")
	if want(t, "the comparison", stdout, "1  0.5833 ± ", "2  0.5833 ± "); code != exitDone {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	onShell("import", inspectLogs+"allocated.eval", "--to", to)
	code, _, stderr = onShell("compare", to, inspectLogs+"zstd.eval")
	if want(t, "the error", stderr, "p.csv#mockllm__model is of an allocation that it does not tell"); code != exitUsage {
		t.Errorf("exit code %d", code)
	}

	for _, words := range [][]string{{"import", "--to", to}, {"import", inspectLogs}, {"export"}, {"export", "x", "--format", "absent"}} {
		if code, _, stderr := onShell(words...); code != exitUsage || stderr == "" {
			t.Errorf("%q: exit code %d, %s", words, code, stderr)
		}
	}
	code, _, stderr = onShell("import", inspectLogs+"parts.eval", "--to", to)
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	want(t, "the error", stderr, "parts.eval: summaries.json", "choose one with --reward, of parts/right, parts/style")
	if code, stdout, stderr = onShell("import", inspectLogs+"parts.eval", "--reward", "style", "--to", to); code != exitDone {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	want(t, "the summary", stdout, "parts/style")
	if code, _, stderr = onShell("allocate", inspectLogs+"parts.eval", "--budget", "8", "--reward", "style"); code != exitDone {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
