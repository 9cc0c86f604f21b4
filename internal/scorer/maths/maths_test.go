package maths_test

import (
	"context"
	"strings"
	"testing"

	"speceval/internal/scorer"
	"speceval/internal/scorer/maths"
)

func TestWhereAnswersAreFound(t *testing.T) {
	const box = "several boxes: the last was read"
	for _, test := range []struct{ gold, text, answer, note string }{
		{"7", `So \boxed{7}.`, "7", ""},
		{"7", `First \boxed{6}, no: \boxed{7}`, "7", box},
		{"7", `It is \boxed{7}, again \boxed{ 7 }`, " 7 ", ""},
		{"7", `\boxed{\boxed{7}}`, "7", ""},
		{"7", `\boxed{7} and \boxed{8`, "", "the last box does not end"},
		{"7, 8", "No: \\boxed{9}\nThey are \\boxed{8} and \\boxed{7}.", "8, 7", ""},
		{"7", "The answer is 7.", "7.", "no box: what follows the word answer was read"},
		{"7", "The answer is 8? No. **Final answer:** $7$ of them", "$7$ of them", "no box: what follows the word answer was read"},
		{"7", "We find $x = 6 + 1$ and so $x = 7$", "x = 7", "no box: the last formula was read"},
		{"7", `We find \[ x = 7 \] as we should.`, " x = 7 ", "no box: the last formula was read"},
		{`2\sqrt{3}`, `so its length is 2\sqrt{3}.`, `2\sqrt{3}.`, "no box: the end of the last sentence was read"},
		{"7", "There were 7 of them in the end.", "7", "no box: the last number was read"},
		{"7", " 7 ", "7", ""},
		{"7", "<answer>7</answer>", "7", "no box: the answer tag was read"},
		{"7", "Nothing is known.", "Nothing is known.", ""},
		{"7", strings.Repeat("Nothing is known. ", 100), "", "no answer was found"},
		{"7", "", "", ""},
	} {
		v, err := maths.New(test.gold).Score(context.Background(), scorer.Response{Text: test.text})
		if err != nil || v.Answer != test.answer || v.Note != test.note {
			t.Errorf("%q: %+v, %v, want %q, %q", test.text, v, err, test.answer, test.note)
		}
		if right := strings.ContainsAny(test.answer, "723"); v.Correct() != right {
			t.Errorf("%q for %q is %v", test.text, test.gold, v.Correct())
		}
	}
}

func TestCutResponses(t *testing.T) {
	for text, right := range map[string]bool{
		`The answer is 7`:            false,
		`7`:                          false,
		`\boxed{7} is what we get, `: true,
		`\boxed{7`:                   false,
		``:                           false,
	} {
		v, err := maths.New("7").Score(context.Background(), scorer.Response{Text: text, Cut: true})
		if err != nil || v.Correct() != right {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	}
}

// TestRules has a pair or two for each of the rules, right and wrong.
func TestRules(t *testing.T) {
	for rule, pairs := range map[string][]struct {
		gold, answer string
		want         bool
	}{
		"a rounded number needs six digits, and an exact one that is not whole": {
			{`\pi`, "3.14159", true}, {`\pi`, "3.1416", false}, {`\pi`, "3.14158", false}, {`\frac{1}{3}`, "0.333333", true}, {`\frac{1}{3}`, "0.33333", false},
			{"100000", "99999.6", false}, {"2.23607", `\sqrt{5}`, true}, {"2.24", `\sqrt{5}`, false}, {"1.41421356", "1.41421", true}, {"1.41421356", "1.4142", false},
		},
		"floating point leaves noise":                      {{"0.3", "0.30000000000000004", true}, {"3", "2.9999999999999996", true}, {"1000000", "1000000.000000001", false}, {"3.14159265", "3.14159265+10^{-9}", false}, {"3", "3.0000001", false}, {"31634152261915.0", "31634152261915.01", false}},
		"a percent sign on one side":                       {{"50", `50\%`, true}, {"0.5", `50\%`, true}, {`50\%`, "50", true}, {`50\%`, `0.5\%`, false}, {"5000", `50\%`, false}, {"0.5", `0.5\%`, false}, {`0.5\%`, "0.5", false}, {"2.5", `250\%`, true}},
		"an equation that does not hold says nothing":      {{"5", "4=5", false}, {"5", "x=2+2=5", false}, {"5", "x=2+3=5", true}, {"0.67", "2/3=0.67", true}},
		"a logarithm without a base is to base ten":        {{`\ln x`, `\log x`, false}, {"2", `\log 100`, true}, {`\log_{10} x`, `\log x`, true}},
		"words that scale are part of the number":          {{"5", "5 dozen", false}, {"60", "5 dozen", true}, {"5", "5 cents", false}, {"5 cents", "5", true}, {`\$5`, "500 cents", true}, {"0.05", "5 cents", true}},
		"words behind a number agree, or one has them all": {{"5 km north", "5 km south", false}, {"5 km north", "5 km", true}, {"5 red balls", "5 balls", true}, {"5 apples", "5 oranges", false}, {`30^\circ\text{ N}`, `30^\circ\text{ south}`, false}, {`44\text{ BC}`, `44\text{ BCE}`, true}},
		"the case of a prefix matters":                     {{`5\text{ MHz}`, `5\text{ mHz}`, false}, {`5\text{ mg}`, `5\text{ Mg}`, false}, {`5\text{ cm}`, `5\text{ CM}`, true}},
		"and is not or":                                    {{"x=1 or x=2", "x=1 and x=2", false}, {"1, 2", "1 and 2", true}, {"1, 2", "1 or 2", true}, {"x<1 or x>2", "x<1 and x>2", false}, {`x<1\text{ and }x>2`, `(-\infty,1)\cup(2,\infty)`, true}},
		"a cross product is none with a dot":               {{`\vec a\cdot\vec b`, `\vec a\times\vec b`, false}, {`\vec a\times\vec b`, `-\vec b\times\vec a`, true}, {`2\cdot 3`, `2\times 3`, true}},
		"a capital is another letter":                      {{`2\pi`, `2\Pi`, false}, {`\pi`, `\Pi`, false}},
		"points by the names of their coordinates":         {{"(1, 2)", "y=2; x=1", true}, {"(1, 2)", "y=1; x=2", false}, {"(5,2),(7,2)", "p=5,q=2;p=7,q=2", true}, {"(5,2),(7,2)", "p=5,q=2;p=2,q=7", false}},
		"a root that is there twice is one":                {{"1, 2", "1, 1, 2", true}, {"1, 1, 2", "1, 2", false}, {"(1, 2)", "(1, 1, 2)", false}},
		"mixed numbers":                                    {{`\frac{11}{4}`, `2\text{ and }\frac{3}{4}`, true}, {`\frac{5}{4}`, `2\text{ and }-\frac{3}{4}`, false}, {`-\frac{11}{4}`, `-2\text{ and }\frac{3}{4}`, true}},
		"distances":                                        {{"(1, 15)", "|x-8|<7", true}, {"[1, 15]", "|x-8|<7", false}},
		"units on one side, or the same": {
			{"12", `12\text{ cm}`, true}, {`12\text{ cm}`, `12\text{ centimeters}`, true}, {`12\text{ cm}`, `12\text{ m}`, false}, {`12\text{ cm}^2`, "12 square cm", true},
		},
		"bare lists in any order, tuples in theirs": {
			{"1, 2", "2, 1", true}, {"(1, 2)", "(2, 1)", false}, {`\{1, 2\}`, "2, 1", true}, {"1, 2", "(1, 2)", true}, {"1, 2", "(2, 1)", false}, {"1, 1, 2", "1, 2, 2", false}, {`\{1,1,2\}`, `\{1,2\}`, true},
		},
		"a pair is an open interval, others have their ends": {{"(1, 2)", "1<x<2", true}, {"[1, 2)", "(1, 2)", false}, {"[1,2]", `\{1,2\}`, false}},
		"regions":                   {{`x<1 \text{ or } x>2`, `(2,\infty)\cup(-\infty,1)`, true}, {`x \ne 2`, `\mathbb{R}\setminus\{2\}`, true}, {`|x|<2`, `x<2`, false}, {"x<2", "y<2", false}},
		"a value may have its name": {{"5", "x=5", true}, {"x=5", "5", true}, {"x=5", "y=5", false}, {"y=2x+1", "2x+1", true}, {"2x+3y=12", "12", false}, {"177", "m+n=177", true}, {"9", "x^2=9", false}},
		"equations up to a factor":  {{"y=2x+1", "4x-2y+2=0", true}, {"y=2x+1", "y=2x-1", false}, {"x>2", "2x>4", true}, {"x>2", "-x>-2", false}, {"x>2", "-x<-2", true}},
		"values to several names":   {{"x=1, y=2", "y=2, x=1", true}, {"x=1, y=2", "x=2, y=1", false}, {"(1,2)", "x=1, y=2", true}, {"1, 2", "x_1=2, x_2=1", true}},
		"matrices":                  {{`\begin{pmatrix}1\\2\end{pmatrix}`, "(1,2)", true}, {`\begin{pmatrix}1&2\\3&4\end{pmatrix}`, "[[1,2],[3,4]]", true}, {`\begin{pmatrix}1&2\\3&4\end{pmatrix}`, "[[1,3],[2,4]]", false}},
		"a number has its base":     {{"2516_8", "2516", false}, {"2516", "2516_{10}", true}, {"2516_8", "2516_{8}", true}, {"2516_8", "2516_{10}", false}, {"101_2", "5", false}, {"5", "5_8", false}},
		"ratios and times of day":   {{"3:2", "6:4", true}, {"3:2", `\frac{3}{2}`, true}, {"3:30", "6:60", false}, {"3:2", "2:3", false}, {"3:30 p.m.", "3:30", true}, {"3:30 p.m.", "3:30 a.m.", false}},
		"choices":                   {{"C", `\textbf{(C)}\ 12`, true}, {"12", `\textbf{(C)}\ 12`, true}, {"C", `\textbf{(D)}\ 12`, false}, {"C", "(C)", true}},
		"words":                     {{`\text{Evelyn}`, "evelyn", true}, {`\text{odd}`, "even", false}, {"ABC", "ACB", false}, {"ab", "ba", true}},
		"commas": {
			{"100,200,300", "100, 200, 300", true}, {"58,500", "58500", true}, {"58,500", "58, 500", true}, {`\{100,200\}`, "100200", false},
		},
		"± stands for two":            {{`\pm 3`, "3, -3", true}, {`\pm 3`, "3", false}, {`1\pm\sqrt{2}`, `1-\sqrt{2}, 1+\sqrt{2}`, true}, {`a\pm b`, `a\mp b`, false}, {`\frac{3\pm\sqrt5}{2}`, `\frac{-3\mp\sqrt5}{-2}`, true}},
		"a gold may be in a sentence": {{`The value is $\frac{1}{2}$.`, "0.5", true}, {`$\boxed{7}$`, "7", true}, {`\text{at most 3}`, "3", false}, {`\text{at most 3}`, `\text{At most } 3`, true}},
	} {
		for _, pair := range pairs {
			if got := maths.Check(pair.gold, pair.answer); got.Correct() != pair.want {
				t.Errorf("%s: gold %q, answer %q: %v", rule, pair.gold, pair.answer, got)
			}
		}
	}
}
