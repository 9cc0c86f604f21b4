package scorer_test

import (
	"slices"
	"strings"
	"testing"

	"speceval/internal/scorer"
)

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
		f := scorer.ReadFinal(scorer.Response{Text: test.text, Cut: test.cut})
		if got := f.Readings(); !slices.Equal(got, test.want) || f.Note != test.note {
			t.Errorf("%q: %q, %q, want %q, %q", test.text, got, f.Note, test.want, test.note)
		}
	}
}

func FuzzReadFinal(f *testing.F) {
	f.Add(`\boxed{\text{$a$}}`, false)
	f.Add("**Answer:** `x`", true)
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		final := scorer.ReadFinal(scorer.Response{Text: text, Cut: cut})
		readings := final.Readings()
		if (final.Text == "") != (len(readings) == 0) || final.Text == "" && final.Note == "" {
			t.Fatalf("%q: %+v, %q", text, final, readings)
		}
		for _, one := range readings {
			if one == "" || one != strings.TrimSpace(one) || !strings.Contains(text, one) {
				t.Fatalf("%q: reading %q", text, one)
			}
		}
	})
}
