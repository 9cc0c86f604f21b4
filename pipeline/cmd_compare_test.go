package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	return filepath.Join(filesIn(t, map[string]string{"cases.tsv": text}), "cases.tsv")
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
	same(t, "printed", lines[0], path+`:2: gold "C", prediction "The answer is <B> & C", label true: scored false, read nothing (no answer: several options are named)`)
	same(t, "printed", lines[1], path+`:4: gold "B", prediction " \\boxed{B}", label false: scored true, read "B"`)
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

func TestCheckScorerRefuses(t *testing.T) {
	good := casesFile(t, "A\tA\ttrue\n")
	check := func(words ...string) []string { return append([]string{"check-scorer"}, words...) }
	outcomes(t, onShell, []outcome{
		{check(), exitUsage, "accepts 2 arg(s)"},
		{check("choice"), exitUsage, "accepts 2 arg(s)"},
		{check("choice", good, good), exitUsage, "accepts 2 arg(s)"},
		{check("maths", good), exitUsage, `there is no scorer "maths", did you mean math?`},
		{check("essay", good), exitUsage, `there is no scorer "essay"; math`},
		{check("judge", good), exitUsage, "scorer judge cannot be tried on a file of cases: it asks a judge model"},
		{check("command", good), exitUsage, "scorer command cannot be tried on a file of cases: it asks a program of yours"},
		{check("code", good), exitUsage, "scorer code cannot be tried on a file of cases: it runs programs"},
		{check("choice", good+"x"), exitUsage, "no such file"},
		{check("choice", casesFile(t, "")), exitUsage, "cases.tsv is empty"},
		{check("choice", casesFile(t, "\n\r\n")), exitUsage, "cases.tsv is empty"},
		{check("choice", casesFile(t, "A\tA\tyes\n")), exitUsage, `cases.tsv:1: its label is "yes": want true or false`},
	})
	stdin := func(words ...string) (int, string, string) {
		return ran(func(s *shell) { s.stdin = strings.NewReader("A\tA\ttrue\nA\tB\ttrue\n") }, words...)
	}
	outcomes(t, stdin, []outcome{{check("choice", "-"), exitDone, "standard input:2: "}, {check("choice", "-"), exitDone, `{"agree":1,"total":2}`}})
}

func TestCompareWithThePublishedProfiles(t *testing.T) {
	published := must(profile.Parse(data.Profiles(), data.ProfilesName))
	out := t.TempDir()
	put := func(profiles []profile.Profile) {
		var b bytes.Buffer
		ok(t, profile.Write(&b, profiles, nil))
		write(filepath.Join(out, filepath.FromSlash(score.ProfilesFile)), b.String())
	}
	put(published[:2])
	want(t, "the comparison", said(t, exitDone, "compare", "--out", out), "data/profiles.parquet (2)", "Only in data/profiles.parquet: 106 profiles: ", "2 profiles agree. ")

	wrong := slices.Clone(published[:2])
	wrong[1].PassCounts = slices.Clone(wrong[1].PassCounts)
	wrong[1].PassCounts[3] ^= 0x200
	put(wrong)
	var c comparison.Comparison
	_, stdout, _ := onShell("compare", "--json", "--out", out)
	ok(t, json.Unmarshal([]byte(stdout), &c))
	if c.Agree || len(c.Profiles) != 2 || !c.Profiles[0].Agree || c.Profiles[1].Agree || c.Profiles[1].Differing != 1 ||
		len(c.Profiles[0].Tasks) != 1 || len(c.Profiles[1].Tasks) != 5 || c.Profiles[1].Tasks[0].TaskID != wrong[1].TaskIDs[3] || len(c.Only[1]) != 106 {
		t.Errorf("got %s", stdout)
	}
	code, stdout, _ := onShell("compare", "--json", "--all", "--out", out)
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || code != exitOutside || len(c.Profiles[0].Tasks) != published[0].N() || strings.Contains(stdout, "null") {
		t.Errorf("exit code %d, %d tasks with --all, %v, maybe a null", code, len(c.Profiles[0].Tasks), err)
	}
}

func TestCompareReadsLogs(t *testing.T) {
	const logs = "../internal/evaluation/logs/testdata/"
	table := filepath.Join(t.TempDir(), "table.parquet")
	alone := func(what string) string {
		return "say with what " + what + " is to be compared: other evaluations, logs or profiles"
	}
	outcomes(t, onShell, []outcome{
		{words("import " + logs + "lm-eval --to " + table), exitDone, ""},
		{words("compare " + table + " " + table), exitDone, "1 profile agrees"},
		{words("compare " + logs + "lm-eval " + logs + "lm-eval"), exitUsage, "share rollouts"},
		{words("compare " + logs + "inspect/zstd.eval"), exitUsage, alone(logs + "inspect/zstd.eval")},
		{words("compare " + table + "#org__dummy"), exitUsage, alone(table + "#org__dummy")},
	})
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
	for _, command := range []string{"compare", "evaluate compare"} {
		want(t, "the tiers", said(t, exitDone, words(command+" "+two+" "+one+" --page "+page)...),
			"   1  0.5050 ± ", "1200  3  "+one+"#c", "   1  0.5000 ± ", "   2  0.1583 ± ", "   1 − 2   +0.3417 ±", ": apart")
	}
	want(t, "the page", read(page), "<h1>2 tiers of 3 evaluations", "tier 2")
	_, stdout, _ := onShell("compare", "--json", two+"#b", one, "--resolve", "0.01")
	var c show.Comparison
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || c.Pair == nil || !c.Apart || c.Resolve == nil || !reflect.DeepEqual(c.Tiers, [][]int{{2}, {1}}) || !slices.Equal(c.Rollouts, []int{1200, 1200}) {
		t.Errorf("%v: %s", err, stdout)
	}
	longer, other, hash := filepath.Join(dir, "longer.csv"), filepath.Join(dir, "other.csv"), filepath.Join(dir, "a#2.csv")
	outcomes(t, onShell, []outcome{ // a file's name may have a # as well
		{[]string{"compare", hash + "#a", two}, exitDone, "a#2.csv#a"}, {[]string{"compare", hash, two + "#b"}, exitDone, "a#2.csv#a"},
		{[]string{"compare", one, other}, exitDone, "call the benchmark differently: exam, quiz"},
		{[]string{"compare", two + "#x", one}, exitUsage, "two.csv has no profile of x, but of quiz__model=a, quiz__model=b"},
		{[]string{"compare", two, longer}, exitUsage, "they are of different tasks: quiz with 3, quiz with 4"},
	})
	if text := said(t, exitUsage, "compare", longer, other); strings.Contains(text, "of the same tasks") {
		t.Errorf("other tasks: %s", text)
	}
}

// TestCompareReadsProfilesOfAnyName has tables that are not called CSV: a spreadsheet's, say.
func TestCompareReadsProfilesOfAnyName(t *testing.T) {
	const table = "benchmark\tmodel\ttask_index\ttask_id\tpass_count\ttested_k\nquiz\tm\t0\ta\t1\t8\nquiz\tm\t1\tb\t%d\t8\n"
	good, bad := fmt.Sprintf(table, 2), fmt.Sprintf(table, 9)
	dir := filesIn(t, map[string]string{"mine.tsv": good, "MINE.CSV": good, "mine": good, "bad.tsv": bad})
	for _, name := range []string{"mine.tsv", "MINE.CSV", "mine"} {
		path := filepath.Join(dir, name)
		want(t, name, said(t, exitDone, "compare", path, path), "1 profile agrees")
	}
	for _, first := range []string{"", " " + filepath.Join(dir, "mine.tsv")} {
		want(t, "a bad row", said(t, exitUsage, words("compare"+first+" "+filepath.Join(dir, "bad.tsv"))...), "bad.tsv: no log of", "bad.tsv: row 2: pass_count 9 is outside 0 to tested_k = 8")
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
	compare := func(words ...string) []string { return append([]string{"compare"}, words...) }
	outcomes(t, onShell, []outcome{
		{compare(good), exitUsage, "no benchmark and model is in both files:\n" + good + " has 1 profile: quiz__model=m\ndata/profiles.parquet has 108 profiles: aime24__model="},
		{compare(good, broken), exitUsage, broken + ": column"},
		{compare(broken), exitUsage, broken + ": column"},
		{compare(good + ".absent"), exitUsage, "no such file"},
		{compare("--out", t.TempDir()), exitUsage, "score/profiles.parquet is not there: run `speceval run score` first, or name a file"},
		{compare("--config", "absent.toml"), exitUsage, "absent.toml"},
		{compare(good, good, "--page", filepath.Join(dir, "page.html")), exitUsage, "--page and --resolve are for two or more evaluations"},
		{compare(good, good, good), exitUsage, "both share rollouts of m, by the counts of every task"},
		{compare(filepath.Join(dir, "one.csv"), filepath.Join(dir, "two.csv")), exitUsage, "both have the same counts of every task and name no model"},
		{compare(filepath.Join(dir, "one.csv"), filepath.Join(dir, "three.csv")), exitUsage, "they are of different tasks: counts with 2, counts with 3"},
	})
}
