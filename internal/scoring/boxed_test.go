package scoring_test

import (
	"slices"
	"strings"
	"testing"

	"speceval/internal/scoring"
)

func TestBoxes(t *testing.T) {
	for _, test := range []struct {
		text string
		want string // contents, separated by |, and an ellipsis after one that is open
	}{
		{`none`, ``},
		{`\boxed{42}`, `42`},
		{`first \boxed{1}, then \boxed{\frac{1}{2}} and \fbox{x}`, `1|\frac{1}{2}|x`},
		{`\boxed {5} \boxed` + "\n" + `{6}`, `5|6`},
		{`\boxed{\boxed{7}}`, `\boxed{7}`},
		{`\boxed{\{1,2\}}`, `\{1,2\}`},
		{`} stray { \boxed{3} }`, `3`},
		{`\boxed{1} cut \boxed{\frac{1}{`, `1|\frac{1}{…`},
		{`\boxed{a\\}b`, `a\\`},
		{`\boxed 5 and \boxedx{6} and boxed{7}`, ``},
		{`\boxed{}`, ``},
		{`ends in a backslash \`, ``},
		{`\boxed{cut \`, `cut \…`},
		{`\\boxed{a} \\\boxed{b} \\\\boxed{c}`, `b`},
		{`\\fbox{a} \\\fbox{b}`, `b`},
		{`\\boxed{a}`, ``},
	} {
		var got []string
		for _, b := range scoring.Boxes(test.text) {
			content := test.text[b.From:b.To]
			if b.Open {
				content += "…"
			}
			got = append(got, content)
		}
		checkLast(t, test.text)
		if strings.Join(got, "|") != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

// TestBoxesOfAMegabyte would take hours if any of these took quadratic time.
func TestBoxesOfAMegabyte(*testing.T) {
	for _, piece := range []string{`\boxed{`, `{`, `}`, `\boxed `, `\`, `\boxed{}`, `\fbox`} {
		scoring.Boxes(strings.Repeat(piece, 1<<20/len(piece)))
	}
}

func FuzzBoxes(f *testing.F) {
	f.Add(`\boxed{\frac{1}{2}} {\fbox {x`)
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, b := range scoring.Boxes(text) {
			if b.From < end || b.To < b.From || b.To > len(text) || b.Open != (b.To == len(text)) {
				t.Fatalf("%q: box %+v after %d", text, b, end)
			}
			end = b.To
		}
		checkLast(t, text)
	})
}

// checkLast compares LastBox with the last of Boxes that is not empty.
func checkLast(t *testing.T, text string) {
	t.Helper()
	var want scoring.Box
	there := false
	for _, b := range scoring.Boxes(text) {
		if b.To > b.From {
			want, there = b, true
		}
	}
	got, found := scoring.LastBox(text, func(b scoring.Box) bool { return b.To > b.From })
	if got != want || found != there {
		t.Errorf("%q: last box %+v, %t, want %+v, %t", text, got, found, want, there)
	}
}

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"short":                          "short",
		"a\xffb":                         "a\ufffdb",
		strings.Repeat("x", 500):         strings.Repeat("x", 500),
		strings.Repeat("é", 251):         strings.Repeat("é", 248) + "…",
		strings.Repeat("\xff", 1000)[:9]: strings.Repeat("\ufffd", 9),
	} {
		if got := scoring.Shorten(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := scoring.Shorten(strings.Repeat("\xff", 499)); len(got) > 500 {
		t.Errorf("%d bytes", len(got))
	}
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
		f := scoring.ReadFinal(scoring.Response{Text: test.text, Cut: test.cut})
		if got := f.Readings(); !slices.Equal(got, test.want) || f.Note != test.note {
			t.Errorf("%q: %q, %q, want %q, %q", test.text, got, f.Note, test.want, test.note)
		}
	}
}

func FuzzReadFinal(f *testing.F) {
	f.Add(`\boxed{\text{$a$}}`, false)
	f.Add("**Answer:** `x`", true)
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		final := scoring.ReadFinal(scoring.Response{Text: text, Cut: cut})
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
