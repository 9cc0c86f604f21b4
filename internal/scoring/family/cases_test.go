package family

import (
	"encoding/json"
	"strings"
	"testing"

	"speceval/internal/scoring"
)

// same is a scorer for which a prediction is right if it is the right answer.
func same(gold, prediction string) (scoring.Verdict, error) {
	return scoring.Verdict{Reward: scoring.PassFail(gold == prediction), Answer: prediction}, nil
}

func TestEmptyLinesAreNoCases(t *testing.T) {
	o, err := Try(same, "f.tsv", "\ufeff\nA\tA\ttrue\n\r\n\nA\tB\ttrue\tfrom here\n\n")
	if err != nil {
		t.Fatal(err)
	}
	for want, write := range map[string]func(*strings.Builder) error{
		"f.tsv:5: gold \"A\", prediction \"B\", label true: scored false, read \"B\"\n{\"agree\":1,\"total\":2}\n":                                  func(b *strings.Builder) error { return o.Text(b) },
		`{"agree":1,"total":2,"disagreements":[{"line":5,"gold":"A","prediction":"B","label":true,"correct":false,"answer":"B","note":""}]}` + "\n": func(b *strings.Builder) error { return json.NewEncoder(b).Encode(o) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil || b.String() != want {
			t.Errorf("%v\n%s\nwant\n%s", err, &b, want)
		}
	}
}

func TestLinesThatAreNoCases(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "cases.tsv is empty"},
		{"A\tA\ttrue\n \n", "cases.tsv:2: it has 1 columns"},
		{"A\tA\ttrue\n\n\t\n", "cases.tsv:3: it has 2 columns"},
		{"A\tA\ttrue\tx\ty\n", "cases.tsv:1: it has 5 columns"},
		{"A\tA\tyes\n", `cases.tsv:1: its label is "yes": want true or false`},
		{"A\tA\xff\ttrue\n", "cases.tsv:1: it is not UTF-8"},
		{"", "cases.jsonl is empty: want a line a case, {"},
		{"{\"gold\":\"A\",\"prediction\":\"A\",\"label\":true}\n{", "cases.jsonl:2: unexpected end"},
		{`{"gold":"A","prediction":"A"}`, "cases.jsonl:1: want gold"},
		{`{"gold":"A","answer":"A","prediction":"A","label":true}`, "cases.jsonl:1: want gold or answer"},
		{`{"gold":"A","prediction":"A","label":"true"}`, "cases.jsonl:1: json"},
		{"{\"gold\":\"A\xff\",\"prediction\":\"A\",\"label\":true}", "cases.jsonl:1: it is not UTF-8"},
	} {
		name := "cases.tsv"
		if strings.HasPrefix(test.want, "cases.jsonl") {
			name = "cases.jsonl"
		}
		if _, err := Try(same, name, test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

func TestCasesInJSONL(t *testing.T) {
	o, err := Try(same, "f.jsonl", `{"gold":"A\nB","prediction":"A\nB","label":true}
{"answer":"A","response":"A\tB\n","label":true,"source":7}

{"answer":"","response":"","label":true}
`)
	if err != nil || o.Agree != 2 || o.Total != 3 || len(o.Disagreements) != 1 || o.Disagreements[0].Line != 2 || o.Disagreements[0].Prediction != "A\tB\n" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestThinkingIsNoAnswer has predictions of models whose server does not separate their thinking.
func TestThinkingIsNoAnswer(t *testing.T) {
	for _, of := range []struct{ scorer, gold, prediction string }{
		{"math", "16", "<think>\nmaybe 15\n</think>\n\n16"},
		{"math", "16", "<think>The answer is 15.</think>Final answer: 16"},
		{"number", "16", "<think>15</think>**16**"},
		{"choice", "B", "<think>The answer is A.</think>\nB"},
		{"exact", "Paris", "<think>Lyon?</think>\n\nParis"},
	} {
		f, err := Named(of.scorer)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := f.Check(of.gold, of.prediction); err != nil || !v.Correct() {
			t.Errorf("%s: %q against %s: %+v, %v", of.scorer, of.prediction, of.gold, v, err)
		}
		if v, err := f.Check(of.gold, "<think>"+of.gold); err != nil || v.Correct() {
			t.Errorf("%s: thinking that does not end is an answer: %+v, %v", of.scorer, v, err)
		}
	}
}

// TestRightAnswersOfDatasets has right answers as GSM8K, MATH and others have them. One that no
// response can be compared with is an error, and not a wrong response.
func TestRightAnswersOfDatasets(t *testing.T) {
	const gsm8k = "He sold 48/2 = <<48/2=24>>24 clips in May.\nHe sold 48+24 = <<48+24=72>>72 clips.\n#### 72"
	for _, of := range []struct{ scorer, gold, prediction, fault string }{
		{"math", gsm8k, "The answer is \\boxed{72}.", ""},
		{"number", gsm8k, "The answer is 72.", ""},
		{"exact", gsm8k, "72", ""},
		{"number", "#### 1,000", "1000", ""},
		{"math", "So $x+1=\\frac12$. Hence $x=\\boxed{-\\frac12}$.", "\\boxed{-0.5}", ""},
		{"math", "\\text{no real solution}", "\\boxed{\\text{no real solution}}", ""},
		{"choice", "(B)", "The answer is B.", ""},
		{"math", "Let x be 2. Then we get 7 apples.", "7", "must be the final answer alone"},
		{"math", "The answer is 5.", "5", "must be the final answer alone"},
		{"number", "#### 72\nso 72", "72", "must be a number"},
		{"choice", "2", "The answer is B.", "must be a letter"},
	} {
		f, err := Named(of.scorer)
		if err != nil {
			t.Fatal(err)
		}
		v, err := f.Check(of.gold, of.prediction)
		if of.fault != "" && (err == nil || !strings.Contains(err.Error(), of.fault)) || of.fault == "" && (err != nil || !v.Correct()) {
			t.Errorf("%s: %q against %q: %+v, %v", of.scorer, of.prediction, of.gold, v, err)
		}
	}
}
