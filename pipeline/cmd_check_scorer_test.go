package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/scorer/cases"
)

// casesFile writes a file of cases and returns its path.
func casesFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cases.tsv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
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
	var got cases.Outcome
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitDone || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "<B> & C") {
		t.Fatalf("exit code %d, %v:\n%s", code, err, stdout)
	}
	want := cases.Disagreement{Line: 4, Gold: "B", Prediction: ` \boxed{B}`, Correct: true, Answer: "B"}
	if got.Agree != 2 || got.Total != 4 || len(got.Disagreements) != 2 || got.Disagreements[1] != want {
		t.Errorf("got %+v", got)
	}
	_, stdout, _ = onShell("check-scorer", "--json", "choice", casesFile(t, "A\tA\ttrue\n"))
	if want := `{"agree":1,"total":1,"disagreements":[]}` + "\n"; stdout != want {
		t.Errorf("all agree: %s want %s", stdout, want)
	}
}

func TestCheckScorerReadsStandardInput(t *testing.T) {
	var stdout, stderr bytes.Buffer
	s := &shell{stdin: strings.NewReader("A\tA\ttrue\nA\tB\ttrue\n"), stdout: &stdout, stderr: &stderr}
	if code := run([]string{"check-scorer", "choice", "-"}, s, shipped); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	want(t, "stdout", stdout.String(), "standard input:2: ", `{"agree":1,"total":2}`)
}

func TestCheckScorerRefuses(t *testing.T) {
	good := casesFile(t, "A\tA\ttrue\n")
	for _, test := range []struct {
		words []string
		want  string
	}{
		{[]string{}, "want a scorer and a file"},
		{[]string{"choice"}, "want a scorer and a file"},
		{[]string{"choice", good, good}, "want a scorer and a file"},
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

func TestCheckScorerKnowsMath(t *testing.T) {
	code, stdout, _ := onShell("check-scorer", "math", casesFile(t, "2\tno number at all\tfalse\n"))
	if code != exitDone || stdout != `{"agree":1,"total":1}`+"\n" {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

func TestCheckScorerKnowsTextsAndNumbers(t *testing.T) {
	for name, file := range map[string]string{
		"exact":  "Paris\t\\boxed{Paris}\ttrue\nParis\tparis\tfalse\n",
		"regex":  "4\\d\tAnswer: 42\ttrue\n(\t(\tfalse\n",
		"number": "1,000\t\\boxed{10^3}\ttrue\n5\tinf\tfalse\n",
	} {
		if code, stdout, _ := onShell("check-scorer", name, casesFile(t, file)); code != exitDone || stdout != `{"agree":2,"total":2}`+"\n" {
			t.Errorf("%s: exit code %d: %s", name, code, stdout)
		}
	}
}
