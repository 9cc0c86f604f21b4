package text

import (
	"context"
	"slices"
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
		v, err := Exact(test.gold).Score(t.Context(), scoring.Response{Text: test.text})
		if err != nil || v.Correct() != test.right {
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
		if v, _ := Exact("Paris").Score(t.Context(), scoring.Response{Text: text, Cut: true}); v.Correct() != right || !right && v.Note == "" {
			t.Errorf("%q: %+v", text, v)
		}
	}
}

func TestExactFault(t *testing.T) {
	for gold, fault := range map[string]bool{"x": false, " ": true, "": true, "\u00a0\n": true} {
		if (ExactFault(gold) != "") != fault {
			t.Errorf("%q: %q", gold, ExactFault(gold))
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

func TestReadFinal(t *testing.T) {
	for _, test := range []struct {
		text string
		cut  bool
		want []string // readings
		note string
	}{
		{`So it is \boxed{Paris}.`, false, []string{"Paris"}, ""},
		{`\boxed{Rome}, no: \boxed{ Paris } and \boxed{}`, false, []string{"Paris"}, ""},
		{`\boxed{\text{Paris}}`, false, []string{`\text{Paris}`, "Paris"}, ""},
		{`\boxed{\boxed{$\mathrm{a}$}}`, false, []string{`\boxed{$\mathrm{a}$}`, `$\mathrm{a}$`, `\mathrm{a}`, "a"}, ""},
		{`\boxed{\text{a} or \text{b}}`, false, []string{`\text{a} or \text{b}`}, ""},
		{`\boxed{Paris} and then I was`, true, []string{"Paris"}, ""},
		{`\boxed{Paris} or \boxed{Ro`, true, nil, "the last box does not end"},
		{"I think\nit is Par", true, nil, "no box, and the response is cut"},
		{" \n\t", false, nil, "empty response"},
		{"", false, nil, "empty response"},
		{"Let me see.\n\nAnswer: Paris\n", false, []string{"Answer: Paris", "Paris"}, "no box: the last line was read"},
		{"**Final Answer:** `ls -l`", false, []string{"**Final Answer:** `ls -l`", "`ls -l`", "ls -l"}, "no box: the last line was read"},
		{"**Answer: Paris**", false, []string{"**Answer: Paris**", "Answer: Paris", "Paris"}, "no box: the last line was read"},
		{"**Paris**", false, []string{"**Paris**", "Paris"}, "no box: the last line was read"},
		{"`a` and `b`", false, []string{"`a` and `b`"}, "no box: the last line was read"},
		{"*.txt", false, []string{"*.txt"}, "no box: the last line was read"},
		{"Answer:", false, []string{"Answer:"}, "no box: the last line was read"},
		{`\boxed{Answer: x}`, false, []string{"Answer: x"}, ""},
	} {
		f := readFinal(scoring.Response{Text: test.text, Cut: test.cut})
		if got := f.readings(); !slices.Equal(got, test.want) || f.note != test.note {
			t.Errorf("%q: %q, %q, want %q, %q", test.text, got, f.note, test.want, test.note)
		}
	}
}

func FuzzReadFinal(f *testing.F) {
	f.Add(`\boxed{\text{$a$}}`, false)
	f.Add("**Answer:** `x`", true)
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		final := readFinal(scoring.Response{Text: text, Cut: cut})
		readings := final.readings()
		if (final.text == "") != (len(readings) == 0) || final.text == "" && final.note == "" {
			t.Fatalf("%q: %+v, %q", text, final, readings)
		}
		for _, one := range readings {
			if one == "" || one != strings.TrimSpace(one) || !strings.Contains(text, one) {
				t.Fatalf("%q: reading %q", text, one)
			}
		}
	})
}
