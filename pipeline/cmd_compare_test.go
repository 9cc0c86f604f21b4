package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/evaluation/comparison"
	"speceval/internal/evaluation/show"
	"speceval/internal/scoring/family"
	"speceval/internal/store/profile"
	"speceval/stages/score"
)

// casesFile writes a file of cases and returns its path.
func casesFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cases.tsv")
	write(path, text)
	return path
}

const labelled = "C\tThe answer is C.\ttrue\n" +
	"C\tThe answer is <B> & C\ttrue\tsomewhere\n" +
	"B\t\tfalse\r\n" +
	"B\t \\boxed{B}\tfalse"

func TestCheckScorerPrintsDisagreements(t *testing.T) {
	path := casesFile(t, labelled)
	code, stdout, stderr := onShell("check-scorer", "choice", path)
	lines := strings.Split(stdout, "\n")
	if code != exitDone || len(lines) != 4 || lines[2] != `{"agree":2,"total":4}` || stderr != "" {
		t.Fatalf("exit code %d:\n%s%s", code, stdout, stderr)
	}
	if want := path + `:2: gold "C", prediction "The answer is <B> & C", label true: scored false, read nothing (no answer: several options are named)`; lines[0] != want {
		t.Errorf("printed %s\nwant %s", lines[0], want)
	}
	if want := path + `:4: gold "B", prediction " \\boxed{B}", label false: scored true, read "B"`; lines[1] != want {
		t.Errorf("printed %s\nwant %s", lines[1], want)
	}
}

func TestCheckScorerAsJSON(t *testing.T) {
	code, stdout, _ := onShell("check-scorer", "--json", "choice", casesFile(t, "\ufeff"+labelled))
	var got family.Outcome
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitDone || !strings.Contains(stdout, "<B> & C") {
		t.Fatalf("exit code %d, %v:\n%s", code, err, stdout)
	}
	want := family.Disagreement{Line: 4, Gold: "B", Prediction: ` \boxed{B}`, Correct: true, Answer: "B"}
	if got.Agree != 2 || got.Total != 4 || len(got.Disagreements) != 2 || got.Disagreements[1] != want {
		t.Errorf("got %+v", got)
	}
	_, stdout, _ = onShell("check-scorer", "--json", "choice", casesFile(t, "A\tA\ttrue\n"))
	if !strings.Contains(stdout, `"disagreements": []`) {
		t.Errorf("all agree: %s", stdout)
	}
}

func TestCheckScorerReadsStandardInput(t *testing.T) {
	code, stdout, stderr := ran(func(s *shell) { s.stdin = strings.NewReader("A\tA\ttrue\nA\tB\ttrue\n") }, "check-scorer", "choice", "-")
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	want(t, "stdout", stdout, "standard input:2: ", `{"agree":1,"total":2}`)
}

func TestCheckScorerRefuses(t *testing.T) {
	good := casesFile(t, "A\tA\ttrue\n")
	for _, test := range []struct {
		words []string
		want  string
	}{
		{[]string{}, "accepts 2 arg(s)"},
		{[]string{"choice"}, "accepts 2 arg(s)"},
		{[]string{"choice", good, good}, "accepts 2 arg(s)"},
		{[]string{"maths", good}, `there is no scorer "maths", did you mean math?`},
		{[]string{"essay", good}, `there is no scorer "essay"; math`},
		{[]string{"judge", good}, "scorer judge cannot be tried on a file of cases: it asks a judge model"},
		{[]string{"command", good}, "scorer command cannot be tried on a file of cases: it asks a program of yours"},
		{[]string{"code", good}, "scorer code cannot be tried on a file of cases: it runs programs"},
		{[]string{"choice", good + "x"}, "no such file"},
		{[]string{"choice", casesFile(t, "")}, "cases.tsv is empty"},
		{[]string{"choice", casesFile(t, "\n\r\n")}, "cases.tsv is empty"},
		{[]string{"choice", casesFile(t, "A\tA\tyes\n")}, `cases.tsv:1: its label is "yes": want true or false`},
	} {
		code, stdout, stderr := onShell(append([]string{"check-scorer"}, test.words...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: exit code %d, %q, %q, want %q", test.words, code, stdout, stderr, test.want)
		}
	}
}

func TestCompareWithThePublishedProfiles(t *testing.T) {
	published, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	put := func(profiles []profile.Profile) {
		t.Helper()
		var b bytes.Buffer
		if err := profile.Write(&b, profiles, nil); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(out, filepath.FromSlash(score.ProfilesFile))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(published[:2])
	code, stdout, stderr := onShell("compare", "--out", out)
	if code != exitDone || stderr != "" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	want(t, "the comparison", stdout, "data/profiles.parquet (2)", "Only in data/profiles.parquet: 106 profiles: ", "2 profiles agree. ")

	wrong := slices.Clone(published[:2])
	wrong[1].PassCounts = slices.Clone(wrong[1].PassCounts)
	wrong[1].PassCounts[3] ^= 0x200
	put(wrong)
	code, stdout, stderr = onShell("compare", "--json", "--out", out)
	var c comparison.Comparison
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || code != exitOutside {
		t.Fatalf("exit code %d, %v\n%s", code, err, stderr)
	}
	if c.Agree || len(c.Profiles) != 2 || !c.Profiles[0].Agree || c.Profiles[1].Agree || c.Profiles[1].Differing != 1 ||
		len(c.Profiles[0].Tasks) != 1 || len(c.Profiles[1].Tasks) != 5 || c.Profiles[1].Tasks[0].TaskID != wrong[1].TaskIDs[3] || len(c.Only[1]) != 106 {
		t.Errorf("got %s", stdout)
	}
	_, stdout, _ = onShell("compare", "--json", "--all", "--out", out)
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || len(c.Profiles[0].Tasks) != published[0].N() {
		t.Errorf("%d tasks with --all, %v", len(c.Profiles[0].Tasks), err)
	}
	if strings.Contains(stdout, "null") {
		t.Error("the JSON has a null")
	}
}

func TestCompareReadsLogs(t *testing.T) {
	const logs = "../internal/evaluation/logs/testdata/"
	table := filepath.Join(t.TempDir(), "table.parquet")
	if code, _, stderr := onShell("import", logs+"lm-eval", "--to", table); code != exitDone {
		t.Fatal(stderr)
	}
	if code, stdout, stderr := onShell("compare", table, table); code != exitDone || !strings.Contains(stdout, "1 profile agrees") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	code, _, stderr := onShell("compare", logs+"lm-eval", logs+"lm-eval")
	if want(t, "a log with itself", stderr, "share rollouts"); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	for _, alone := range []string{logs + "inspect/zstd.eval", table + "#org__dummy"} {
		code, _, stderr = onShell("compare", alone)
		if want(t, "one alone", stderr, "say with what "+alone+" is to be compared: other evaluations, logs or profiles"); code != exitUsage {
			t.Errorf("exit code %d", code)
		}
	}
}

// TestCompareFindsTiers has three models of which two cannot be told apart, in one file and two.
func TestCompareFindsTiers(t *testing.T) {
	rows := func(model string, passes ...int) (text string) {
		for i, n := range passes {
			text += fmt.Sprintf("quiz,%s,%d,t%d,%d,400\n", model, i, i, n)
		}
		return text
	}
	const head = "benchmark,model,task_index,task_id,pass_count,tested_k\n"
	dir := filesIn(t, map[string]string{
		"two.csv": head + rows("a", 200, 300, 100) + rows("b", 80, 90, 20), "one.csv": head + rows("c", 205, 299, 102), "a#2.csv": head + rows("a", 201, 301, 99), "other.csv": strings.ReplaceAll(head+rows("d", 1, 2, 3), "quiz", "exam"), "longer.csv": head + rows("e", 1, 2, 3, 4),
	})
	two, one, page := filepath.Join(dir, "two.csv"), filepath.Join(dir, "one.csv"), filepath.Join(dir, "page.html")
	for _, command := range [][]string{{"compare"}, {"evaluate", "compare"}} {
		code, stdout, stderr := onShell(append(command, two, one, "--page", page)...)
		if code != exitDone {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		want(t, "the tiers", stdout, "   1  0.5050 ± ", "1200  3  "+one+"#c", "   1  0.5000 ± ", "   2  0.1583 ± ", "   1 − 2   +0.3417 ±", ": apart")
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the page", string(text), "<h1>2 tiers of 3 evaluations", "tier 2")
	_, stdout, _ := onShell("compare", "--json", two+"#b", one, "--resolve", "0.01")
	var c show.Comparison
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || c.Pair == nil || !c.Apart || c.Resolve == nil || !reflect.DeepEqual(c.Tiers, [][]int{{2}, {1}}) || !slices.Equal(c.Rollouts, []int{1200, 1200}) {
		t.Errorf("%v: %s", err, stdout)
	}
	// A file's name may have a # as well.
	for _, words := range [][]string{{filepath.Join(dir, "a#2.csv#a"), two}, {filepath.Join(dir, "a#2.csv"), two + "#b"}} {
		if code, stdout, stderr := onShell(append([]string{"compare"}, words...)...); code != exitDone || !strings.Contains(stdout, "a#2.csv#a") {
			t.Errorf("%q: exit code %d: %s%s", words, code, stdout, stderr)
		}
	}
	_, _, stderr := onShell("compare", one, filepath.Join(dir, "other.csv"))
	want(t, "another name", stderr, "call the benchmark differently: exam, quiz")
	if _, _, stderr := onShell("compare", filepath.Join(dir, "longer.csv"), filepath.Join(dir, "other.csv")); strings.Contains(stderr, "of the same tasks") {
		t.Errorf("other tasks: %s", stderr)
	}
	for problem, words := range map[string][]string{
		"two.csv has no profile of x, but of quiz__model=a, quiz__model=b": {two + "#x", one},
		"they are of different tasks: quiz with 3, quiz with 4":            {two, filepath.Join(dir, "longer.csv")},
	} {
		if code, _, stderr := onShell(append([]string{"compare"}, words...)...); code != exitUsage || !strings.Contains(stderr, problem) {
			t.Errorf("exit code %d: %s\nwant %s", code, stderr, problem)
		}
	}
}

// TestCompareReadsProfilesOfAnyName has tables that are not called CSV: a spreadsheet's, say.
func TestCompareReadsProfilesOfAnyName(t *testing.T) {
	const table = "benchmark\tmodel\ttask_index\ttask_id\tpass_count\ttested_k\nquiz\tm\t0\ta\t1\t8\nquiz\tm\t1\tb\t%d\t8\n"
	good, bad := fmt.Sprintf(table, 2), fmt.Sprintf(table, 9)
	dir := filesIn(t, map[string]string{"mine.tsv": good, "MINE.CSV": good, "mine": good, "bad.tsv": bad})
	for _, name := range []string{"mine.tsv", "MINE.CSV", "mine"} {
		path := filepath.Join(dir, name)
		if code, stdout, stderr := onShell("compare", path, path); code != exitDone || !strings.Contains(stdout, "1 profile agrees") {
			t.Errorf("%s: exit code %d: %s%s", name, code, stdout, stderr)
		}
	}
	code, _, stderr := onShell("compare", filepath.Join(dir, "bad.tsv"))
	if want(t, "a bad row", stderr, "bad.tsv: no log of", "bad.tsv: row 2: pass_count 9 is outside 0 to tested_k = 8"); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	code, _, stderr = onShell("compare", filepath.Join(dir, "mine.tsv"), filepath.Join(dir, "bad.tsv"))
	if want(t, "a bad row of two files", stderr, "bad.tsv: no log of", "bad.tsv: row 2: pass_count 9 is outside 0 to tested_k = 8"); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}

func TestCompareRefusesBadInput(t *testing.T) {
	dir := filesIn(t, map[string]string{
		"good.csv":   "benchmark,model,task_index,task_id,pass_count,tested_k\nquiz,m,0,a,1,8\nquiz,m,1,b,2,8\n",
		"broken.csv": "benchmark,model\n",
		"one.csv":    "task_id,pass_count,tested_k\na,4,4\nb,0,4\n",
		"two.csv":    "task_id,pass_count,tested_k\na,4,4\nb,0,4\n",
		"three.csv":  "task_id,pass_count,tested_k\na,4,4\nb,0,4\nc,1,4\n",
	})
	good, broken := filepath.Join(dir, "good.csv"), filepath.Join(dir, "broken.csv")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{good}, "no benchmark and model is in both files:\n" + good + " has 1 profile: quiz__model=m\ndata/profiles.parquet has 108 profiles: aime24__model="},
		{[]string{good, broken}, broken + ": column"},
		{[]string{broken}, broken + ": column"},
		{[]string{good + ".absent"}, "no such file"},
		{[]string{"--out", t.TempDir()}, "score/profiles.parquet is not there: run `speceval run score` first, or name a file"},
		{[]string{"--config", "absent.toml"}, "absent.toml"},
		{[]string{good, good, "--page", filepath.Join(dir, "page.html")}, "--page and --resolve are for two or more evaluations"},
		{[]string{good, good, good}, "both share rollouts of m, by the counts of every task"},
		{[]string{filepath.Join(dir, "one.csv"), filepath.Join(dir, "two.csv")}, "both have the same counts of every task and name no model"},
		{[]string{filepath.Join(dir, "one.csv"), filepath.Join(dir, "three.csv")}, "they are of different tasks: counts with 2, counts with 3"},
	} {
		code, stdout, stderr := onShell(append([]string{"compare"}, test.args...)...)
		if code != exitUsage || stdout != "" {
			t.Errorf("%v: exit code %d\n%s", test.args, code, stdout)
		}
		want(t, "stderr", stderr, test.want)
	}
}
