package family

import (
	"encoding/json"
	"strings"
	"testing"

	"speceval/internal/scoring"
)

// same is a scorer for which a prediction is right if it is the right answer.
func same(gold, prediction string) scoring.Verdict {
	return scoring.Verdict{Reward: scoring.PassFail(gold == prediction), Answer: prediction}
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
		if v := f.Check(of.gold, of.prediction); !v.Correct() {
			t.Errorf("%s: %q against %s: %+v", of.scorer, of.prediction, of.gold, v)
		}
		if v := f.Check(of.gold, "<think>"+of.gold); v.Correct() {
			t.Errorf("%s: thinking that does not end is an answer: %+v", of.scorer, v)
		}
	}
}
