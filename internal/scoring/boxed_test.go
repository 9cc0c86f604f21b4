package scoring_test

import (
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
		for b := range scoring.Boxes(test.text) {
			content := test.text[b.From:b.To]
			if b.Open {
				content += "…"
			}
			got = append(got, content)
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

// TestBoxesOfAMegabyte would take hours if any of these took quadratic time.
func TestBoxesOfAMegabyte(*testing.T) {
	for _, piece := range []string{`\boxed{`, `{`, `}`, `\boxed `, `\`, `\boxed{}`, `\fbox`} {
		for range scoring.Boxes(strings.Repeat(piece, 1<<20/len(piece))) {
		}
	}
}

func FuzzBoxes(f *testing.F) {
	f.Add(`\boxed{\frac{1}{2}} {\fbox {x`)
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for b := range scoring.Boxes(text) {
			if b.From < end || b.To < b.From || b.To > len(text) || b.Open != (b.To == len(text)) {
				t.Fatalf("%q: box %+v after %d", text, b, end)
			}
			end = b.To
		}
	})
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
