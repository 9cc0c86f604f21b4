package exact_test

import (
	"strings"
	"testing"

	"speceval/internal/scoring"
	"speceval/internal/scoring/exact"
)

func TestScore(t *testing.T) {
	for _, test := range []struct {
		gold, text string
		right      bool
	}{
		{"Paris", `So it is \boxed{Paris}.`, true},
		{"Paris", `\boxed{\text{Paris}}`, true},
		{`\text{Paris}`, `\boxed{\text{Paris}}`, true},
		{"Paris", "Answer: Paris", true},
		{"Paris", "**Final answer:** Paris\n\n", true},
		{"Paris", "Paris", true},
		{"Paris", `\boxed{paris}`, false}, // case counts
		{"Paris", "It is Paris", false},   // a line is read whole
		{"Paris", "Paris.", false},        // and so is its punctuation
		{"Paris", "Paris\nor Rome", false},
		{"Paris", `\boxed{Paris}, or \boxed{Rome}`, false},
		{"Paris", `Paris, not \boxed{Rome}`, false},
		{"San  Marino ", "\\boxed{San\n Marino}", true},
		{"caf\u00e9", "\\boxed{cafe\u0301}", true}, // NFC
		{"cafe\u0301", "\\boxed{caf\u00e9}", true},
		{"\ufb01", `\boxed{fi}`, false}, // a ligature is another character: not NFKC
		{"{a}", `\boxed{{a}}`, true},
		{"}", "Answer: }", true}, // what no box can hold
		{"Answer: 4", `\boxed{Answer: 4}`, true},
		{"Answer: 4", `Answer: 4`, true},
		{"__init__", "Answer: `__init__`", true},
		{"*.txt", "*.txt", true},
		{" ", "", false},
		{"", "", false},
		{"", `\boxed{x}`, false},
	} {
		v, err := exact.New(test.gold).Score(t.Context(), scoring.Response{Text: test.text})
		if err != nil || v.Correct() != test.right || v != exact.Check(test.gold, test.text) {
			t.Errorf("gold %q, %q: %+v, %v", test.gold, test.text, v, err)
		}
	}
}

func TestCutResponses(t *testing.T) {
	for text, right := range map[string]bool{
		`\boxed{Paris} because`: true,
		"Paris":                 false,
		`\boxed{Paris`:          false,
	} {
		if v, _ := exact.New("Paris").Score(t.Context(), scoring.Response{Text: text, Cut: true}); v.Correct() != right || !right && v.Note == "" {
			t.Errorf("%q: %+v", text, v)
		}
	}
}

func TestFault(t *testing.T) {
	for gold, fault := range map[string]bool{"x": false, " ": true, "": true, "\u00a0\n": true} {
		if (exact.Fault(gold) != "") != fault {
			t.Errorf("%q: %q", gold, exact.Fault(gold))
		}
	}
}

func FuzzScore(f *testing.F) {
	f.Add("Paris", `\boxed{Paris}`)
	f.Add("cafe\u0301", "Answer: **caf\u00e9**")
	f.Fuzz(func(t *testing.T, gold, text string) {
		v := exact.Check(gold, text)
		if v.Reward != 0 && v.Reward != 1 || len(v.Answer) > 500 {
			t.Fatalf("%q, %q: %+v", gold, text, v)
		}
		if v.Correct() && !strings.Contains(exact.Normal(text), exact.Normal(gold)) {
			t.Fatalf("%q is right, %q", text, gold)
		}
		if exact.Fault(gold) == "" && !strings.ContainsAny(gold, `\{}`) && !exact.Check(gold, `\boxed{`+gold+`}`).Correct() {
			t.Fatalf("%q in a box is wrong", gold)
		}
	})
}
