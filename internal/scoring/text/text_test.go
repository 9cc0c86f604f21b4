package text

import (
	"context"
	"strings"
	"testing"

	"speceval/internal/scoring"
)

func TestExact(t *testing.T) {
	for _, test := range []struct {
		gold, text string
		right      bool
	}{
		{"Paris", `So it is \boxed{Paris}.`, true},
		{"Paris", `\boxed{\text{Paris}}`, true},
		{`\text{Paris}`, `\boxed{\text{Paris}}`, true},
		{"Paris", `\boxed{\textit{Paris}}`, true},
		{"Paris", `\boxed{\cancel{Paris}}`, false},
		{"Paris", `\boxed{\phantom{Paris}}`, false},
		{"a and b", `\boxed{\text{a} and \text{b}}`, false},
		{"Paris", "Answer: Paris", true}, {"Paris", `"Paris"`, true},
		{"Paris", "**Final answer:** Paris\n\n", true},
		{"Paris", "**Final Answer**: Paris", true},
		{"Paris", "It is:\n\n```text\nParis\n```\n", true}, {"```", "```", true},
		{"Paris", "**Antwort:** Paris", true}, {"Paris", "Réponse finale : Paris", true}, {"东京", "答案：东京", true},
		{"Paris", "The answer is Paris.", true}, {"Paris", "So the final answer is: **Paris**", true}, {"U.S.", "The answer is U.S.", true},
		{"False", "Not true is false. So the answer is False.", true}, {"Paris", "Lyon? No. The answer is Paris. I am sure.", false}, {"Paris", "He says: the answer is Paris.", false},
		{"Paris", "The answer is not Paris.", false}, {"Paris", "I doubt that the answer is Paris.", false}, {"Paris", "The answer is Paris or Rome.", false},
		{"Paris", `{"answer": "Paris", "confidence": 0.9}`, true}, {"Paris", "```json\n{\"reason\": \"r\", \"answer\": \"Paris\"}\n```", true}, {"Rome", `{"answer": "Paris", "not": "Rome"}`, false},
		{"12：30", "Answer: 12：30", true}, {"Stadt: Paris", "Stadt: Paris", true}, {"Paris", "Stadt: Paris", false},
		{"Paris", "It is this: <answer>Paris</answer>", true},
		{"Paris", "<answer>\nParis\n</answer>\n", true},
		{"Paris", "<answer>Rome</answer> or <answer>Rome, not Paris</answer>", false},
		{"Paris", "Others say \\boxed{Paris}.", false},
		{"Paris", "Paris", true},
		{"Paris", `\boxed{paris}`, false}, // case counts
		{"Paris", "It is Paris", false},   // a line is read whole
		{"Paris", "Paris.", true}, {"Paris.", "Paris", false},
		{"Paris", "Paris\nor Rome", false},
		{"Paris", `\boxed{Paris}, or \boxed{Rome}`, false},
		{"Paris", `Paris, not \boxed{Rome}`, false},
		{"Paris", `The answer is not \boxed{Paris}.`, false},
		{"Paris", `\boxed{Paris} is wrong.`, false},
		{"Paris", `Maybe \boxed{Paris}.`, false},
		{"Paris", `I don't think it is \boxed{Paris}.`, false},
		{"Paris", `I doubt it is \boxed{Paris}.`, false},
		{"Paris", `There is no doubt that it is \boxed{Paris}.`, true},
		{"Paris", `It is not Rome, I think it is \boxed{Paris}.`, true},
		{"Paris", `I was not sure, but it is \boxed{Paris}.`, true},
		{"Paris", `Not \boxed{Rome} but \boxed{Paris}.`, true},
		{"Paris", `\boxed{Paris}, not \boxed{Rome}.`, true},
		{"Rome", `\boxed{Paris}, or \boxed{Rome}`, false},
		{"Paris, Rome", `\boxed{Paris} and \boxed{Rome}`, true},
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
		{`$\mathrm{a}$`, `\boxed{\boxed{$\mathrm{a}$}}`, true},
		{"a", `\boxed{\boxed{$\mathrm{a}$}}`, true},
		{"a", "**Answer: `a`**", true},
		{"a", "`a` and `b`", false},
		{`\text{a} or \text{b}`, `\boxed{\text{a} or \text{b}}`, true},
		{"ls -l", "**Final Answer:** `ls -l`", true},
		{"Answer:", "Answer:", true},
		{"Paris", `\boxed{Rome}, no: \boxed{ Paris } and \boxed{}`, true},
		{" ", "", false},
		{"", "", false},
		{"", `\boxed{x}`, false},
	} {
		v, err := Exact(test.gold).Score(t.Context(), scoring.Response{Text: test.text})
		if err != nil || v.Correct() != test.right {
			t.Errorf("gold %q, %q: %+v, %v", test.gold, test.text, v, err)
		}
	}
}

func TestCutResponses(t *testing.T) {
	for text, right := range map[string]bool{
		`\boxed{Paris} because`:      true,
		"Paris":                      false,
		`\boxed{Paris`:               false,
		`\boxed{Paris} or \boxed{Ro`: false,
	} {
		if v, _ := Exact("Paris").Score(t.Context(), scoring.Response{Text: text, Cut: true}); v.Correct() != right || !right && v.Note == "" {
			t.Errorf("%q: %+v", text, v)
		}
	}
}

func FuzzExact(f *testing.F) {
	f.Add("Paris", `\boxed{Paris}`)
	f.Add("cafe\u0301", "Answer: **caf\u00e9**")
	f.Fuzz(func(t *testing.T, gold, text string) {
		v := check(Exact(gold), text)
		if v.Reward != 0 && v.Reward != 1 || len(v.Answer) > 500 {
			t.Fatalf("%q, %q: %+v", gold, text, v)
		}
		if v.Correct() && !strings.Contains(normal(text), normal(gold)) {
			t.Fatalf("%q is right, %q", text, gold)
		}
		if ExactFault(gold) == "" && !strings.ContainsAny(gold, `\{}`) && !check(Exact(gold), `\boxed{`+gold+`}`).Correct() {
			t.Fatalf("%q in a box is wrong", gold)
		}
	})
}

// check scores a response that is not cut.
func check(s scoring.Scorer, text string) scoring.Verdict {
	v, err := s.Score(context.Background(), scoring.Response{Text: text})
	if err != nil {
		panic(err)
	}
	return v
}
