package text

import (
	"strings"
	"testing"

	"speceval/internal/scoring"
)

func TestPattern(t *testing.T) {
	for _, test := range []struct {
		gold, text string
		right      bool
	}{
		{`4\d`, `\boxed{42}`, true},
		{`4\d`, `\boxed{142}`, false}, // the whole of it
		{`4\d`, `\boxed{421}`, false},
		{`a|ab`, `\boxed{ab}`, true}, // and not the first alternative alone
		{`.*4\d.*`, `\boxed{1421}`, true},
		{`(?i)paris`, "Answer: PARIS", true},
		{`paris`, "Answer: PARIS", false},
		{`Par(is|ma)`, `\boxed{\text{Parma}}`, true},
		{`caf\x{e9}`, "\\boxed{cafe\u0301}", true},
		{`a b`, "\\boxed{a\n  b}", true},
		{`^a$`, `\boxed{a}`, true},
		{``, `\boxed{a}`, false},
		{`(`, `\boxed{(}`, false},
		{`a`, `a`, true},
		{`a`, `b`, false},
		{`\Qa.b`, `\boxed{a.b}`, true},
		{`\Qa.b`, `\boxed{axb}`, false},
		{`a??b??`, `\boxed{ab}`, true},
		{`b|ab`, `\boxed{ab}`, true},
		{`.*`, ``, false}, // nothing was read
	} {
		v, err := Pattern(test.gold).Score(t.Context(), scoring.Response{Text: test.text})
		if err != nil || v.Correct() != test.right || v != check(Pattern(test.gold), test.text) {
			t.Errorf("%q, %q: %+v, %v", test.gold, test.text, v, err)
		}
	}
	if v, _ := Pattern("a").Score(t.Context(), scoring.Response{Text: "a", Cut: true}); v.Correct() || v.Note == "" {
		t.Errorf("%+v", v)
	}
	// An answer of more than 8 KiB is not matched, whatever the expression.
	for length, right := range map[int]bool{8 << 10: true, 8<<10 + 1: false} {
		if v := check(Pattern(`x+`), strings.Repeat("x", length)); v.Correct() != right || !right && !strings.Contains(v.Note, "at most 8192") {
			t.Errorf("%d bytes: %+v", length, v)
		}
	}
}

func TestPatternFault(t *testing.T) {
	for expression, fault := range map[string]string{
		`a+`:                     "",
		`(a`:                     "missing closing ): \"(a\"",
		`a**`:                    "invalid nested repetition operator: \"**\"",
		`(?<=a)b`:                "invalid named capture",
		`\1`:                     "invalid escape sequence",
		`a{2000}`:                "invalid repeat count",
		`(((a{100}){100}){100})`: "expression",
		`a\)(b`:                  "missing closing )",
		`a)(b`:                   "unexpected )",
	} {
		if got := PatternFault(expression); (got == "") != (fault == "") || !strings.Contains(got, fault) {
			t.Errorf("%.40q: %q, want %q", expression, got, fault)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add(`4\d|(a{2}b?)*`, `\boxed{42}`)
	f.Add(`(?i)[^a-z]+$`, "Answer: X")
	f.Fuzz(func(t *testing.T, expression, text string) {
		v := check(Pattern(expression), text)
		if v.Reward != 0 && v.Reward != 1 || len(v.Answer) > 500 || len(v.Note) > 500 || v.Correct() && PatternFault(expression) != "" {
			t.Fatalf("%q, %q: %+v", expression, text, v)
		}
	})
}
