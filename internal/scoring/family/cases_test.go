package family

import (
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
		`{"agree":1,"total":2,"disagreements":[{"line":5,"gold":"A","prediction":"B","label":true,"correct":false,"answer":"B","note":""}]}` + "\n": func(b *strings.Builder) error { return o.JSON(b) },
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
		{"\n\r\n", "cases.tsv is empty"},
		{"A\tA\ttrue\n \n", "cases.tsv:2: it has 1 columns"},
		{"A\tA\ttrue\nA\ttrue\n", "cases.tsv:2: it has 2 columns"},
		{"A\tA\ttrue\n\n\t\n", "cases.tsv:3: it has 2 columns"},
		{"A\tA\ttrue\tx\ty\n", "cases.tsv:1: it has 5 columns"},
		{"A\tA\tyes\n", `cases.tsv:1: its label is "yes": want true or false`},
		{"A\tA\ttrue \n", `its label is "true "`},
		{"A\tA\xff\ttrue\n", "cases.tsv:1: it is not UTF-8"},
	} {
		if _, err := Try(same, "cases.tsv", test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}
