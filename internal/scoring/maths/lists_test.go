package maths_test

import (
	"context"
	"strings"
	"testing"

	"speceval/internal/scoring"
	"speceval/internal/scoring/maths"
)

// listed are kinds of several elements, each in one of its forms.
var listed = []row{
	{kind: "set", only: true, draw: `a = element ; b = element not a ; g = ` + gap, gold: `\{«a», «b»\}`,
		same: []string{`«between("\\{",b+g+a,"\\}")»`, `«between("\\{",form(a)+g+form(b),"\\}")»`, `\{«a»«g»«b»«g»«a»\}`, `«a», «b»`},
		near: []string{`\{«b»\}`, `«a»`, `«between("\\{",a+g+b+g+"1000","\\}")»`, `\{«miss(a)»«g»«form(b)»\}`, `\{«b»«g»«miss(a)»\}`}, open: []string{`(«a», «b»)`, `[«a», «b»]`}},
	{kind: "set", only: true, draw: `a = element ; b = element not a ; c = element not a,b ; g = ` + gap, gold: `\{«a», «b», «c»\}`,
		same: []string{`«between("\\{",c+g+a+g+b,"\\}")»`, `«between("\\{",form(b)+g+form(c)+g+form(a),"\\}")»`, `\{«a»«g»«b»«g»«c»«g»«a»\}`, `«a», «b», «c»`},
		near: []string{`\{«b», «c»\}`, `\{«a»«g»«b»\}`, `«a»`, `\{«a»«g»«b»«g»«c»«g»1000\}`, `«between("\\{",a+g+miss(b)+g+c,"\\}")»`, `\{«c»«g»«form(b)»«g»«miss(a)»\}`},
		open: []string{`(«a», «b», «c»)`, `[«a», «b», «c»]`}},
	{kind: "list", only: true, draw: `a = element ; b = element not a ; g = ` + gap, gold: `«a», «b»`,
		same: []string{`«a»«g»«b»`, `«form(a)»«g»«form(b)»`, `«form(a)»\text{ and }«form(b)»`, `«a»\text{ or }«form(b)»`, `\{«a»«g»«b»\}`, `x=«a», x=«b»`},
		near: []string{`«miss(a)»«g»«b»`, `«form(a)»«g»«miss(b)»`, `«a»«g»«b»«g»1000`, `«a»`, `«b»`, `«a»+«b»`}, open: []string{`«b»«g»«a»`, `(«a»«g»«b»)`}},
	{kind: "list", only: true, draw: `a = element ; b = element not a ; c = element not a,b ; g = ` + gap, gold: `«a», «b», «c»`,
		same: []string{`«a»«g»«b»«g»«c»`, `«form(a)»«g»«form(b)»«g»«form(c)»`, `«a», «form(b)»\text{ and }«c»`, `«form(a)», «b»\text{ or }«form(c)»`, `\{«a»«g»«b»«g»«c»\}`, `x=«a», x=«b», x=«c»`},
		near: []string{`«a»«g»«miss(b)»«g»«c»`, `«b»«g»«c»`, `«a»«g»«b»«g»«c»«g»1000`, `«a»`, `«c»`, `«a»+«b»+«c»`}, open: []string{`«b»«g»«c»«g»«a»`, `(«a»«g»«b»«g»«c»)`}},
	{kind: "tuple", draw: `a = element ; b = element not a ; g = ` + gap, gold: `(«a»,«b»)`,
		same: []string{`«between("(",a+g+b,")")»`, `«between("(",form(a)+g+form(b),")")»`, `(x,y) = «between("(",a+g+b,")")»`},
		near: []string{`«between("(",b+g+a,")")»`, `(«miss(a)»«g»«form(b)»)`, `«between("(",a+g+miss(b),")")»`, `(«a»«g»«b»«g»0)`, `(«b»)`, `«a»`, `«a»+«b»`},
		open: []string{`\{«a»,«b»\}`, `«a»,«b»`, `[«a»,«b»]`, `\langle «a»,«b» \rangle`}},
	{kind: "tuple", draw: `a = element ; b = element not a ; c = element not a,b ; g = ` + gap, gold: `(«a»,«b»,«c»)`,
		same: []string{`«between("(",a+g+b+g+c,")")»`, `«between("(",form(a)+g+form(b)+g+form(c),")")»`, `(a,b,c) = («a»«g»«form(b)»«g»«c»)`},
		near: []string{`(«b»«g»«a»«g»«c»)`, `«between("(",miss(a)+g+b+g+c,")")»`, `(«a»«g»«form(b)»«g»«miss(c)»)`, `(«a»«g»«b»«g»«c»«g»0)`, `(«b»,«c»)`, `«a»`, `«a»+«b»+«c»`},
		open: []string{`\{«a»,«b»,«c»\}`, `«a»,«b»,«c»`, `[«a»,«b»,«c»]`, `\langle «a»,«b»,«c» \rangle`}},
	{kind: "matrix", draw: `a = element ; b = element not a ; c = element not a,b ; d = element not a,b,c ; n = pick(" \\\\ ","\\\\")`, gold: `\begin{pmatrix} «a» & «b» \\ «c» & «d» \end{pmatrix}`,
		same: []string{`\begin{bmatrix} «a»&«b»«n»«c»&«d» \end{bmatrix}`, `\begin{pmatrix} «form(a)» & «form(b)»«n»«form(c)» & «form(d)»\end{pmatrix}`, `\left(\begin{array}{cc} «a» & «b»«n»«c» & «d» \end{array}\right)`,
			`A = \begin{pmatrix} «a»&«b»«n»«c»&«d» \end{pmatrix}`},
		near: []string{`\begin{pmatrix} «miss(a)» & «b»«n»«c» & «d» \end{pmatrix}`, `\begin{bmatrix} «a» & «form(b)»«n»«miss(c)» & «d»\end{bmatrix}`, `\begin{pmatrix} «a» & «b»«n»«c» & «d»«n»«a» & «b» \end{pmatrix}`,
			`\begin{pmatrix} «a» & «c»«n»«b» & «d» \end{pmatrix}`, `«a»`}},
	{kind: "matrix", draw: `a = element ; b = element not a ; c = element not a,b`, gold: `\begin{pmatrix} «a» & «b» & «c» \end{pmatrix}`,
		same: []string{`\begin{bmatrix} «form(a)»&«b»&«form(c)» \end{bmatrix}`, `\left(\begin{array}{ccc}«a» & «b» & «c»\end{array}\right)`},
		near: []string{`\begin{pmatrix} «a» & «miss(b)» & «c» \end{pmatrix}`, `\begin{pmatrix} «a» & «b» \end{pmatrix}`, `«a»`}, open: []string{`\begin{pmatrix} «a» \\ «b» \\ «c» \end{pmatrix}`}}, // vectors are written across, and down
	{kind: "boxes", whole: true, only: true, draw: `a = element ; b = element not a ; s = $ | `, gold: `«a», «b»`,
		same: []string{`The solutions are «s»\boxed{«a»}«s» and $\boxed{«b»}$.`, `The solutions are $\boxed{«form(a)»}$ and «s»\boxed{«form(b)»}«s».`},
		near: []string{`The solutions are «s»\boxed{«b»}«s».`, `The solutions are «s»\boxed{«miss(a)»}«s» and $\boxed{«b»}$.`, `The solutions are «s»\boxed{«a»}«s», \boxed{«b»} and $\boxed{1000}$.`}},
	{kind: "repeat", only: true, draw: `a = element ; b = element not a ; g = ` + gap, gold: `«a», «b»`,
		same: []string{`«b»«g»«a»«g»«b»`, `«a»«g»«a»«g»«b»`, `\{«a»«g»«b»«g»«a»\}`, `x=«b», x=«a», x=«b»`},
		near: []string{`«a», «a», «a»`, `«a»«g»«b»«g»«a»«g»1000`, `(«a»«g»«b»«g»«b», 0)`}},
}

// gap is a comma, with what may stand behind it without a meaning.
const gap = `pick(",",",",", ",",  ",",\\,",",\\;",",\\ ")`

// element is a small number for a list, in a few forms: whole, a fraction, a
// root, or a multiple of π.
func element(d *dice) sample {
	switch d.below(6) {
	case 0:
		return row{draw: `r = ratio()`, gold: `«r»`, same: []string{`«num(r)»/«den(r)»`, `«sign(r)»\dfrac{«num(abs(r))»}{«den(r)»}`, `«sign(r)»\frac{«3*num(abs(r))»}{«3*den(r)»}`},
			near: []string{`«r+1»`, `«-r»`}}.make(d)
	case 1:
		return row{draw: `b = 2..9 ; c = 2 | 3 | 5 | 6 | 7 | 10 | 11 | 13 | 14 | 15 | 17 | 19 | 21`, gold: `«b»\sqrt{«c»}`, same: []string{`\sqrt{«b*b*c»}`},
			near: []string{`«b+1»\sqrt{«c»}`, `-«b»\sqrt{«c»}`, `\sqrt{«b*c»}`}}.make(d)
	default:
		return row{draw: `n = -60..60`, gold: `«n»`, same: []string{`«n».0`, `\frac{«2*n»}{2}`}, near: []string{`«n+1»`, `«n-1»`, `«n+10»`}}.make(d)
	}
}

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
		{`2\sqrt{3}`, `so its length is 2\sqrt{3}.`, `2\sqrt{3}.`, "no box: the last value was read"},
		{"7", "There were 7 of them in the end.", "7", "no box: the last value was read"},
		{"7", " 7 ", "7", ""},
		{"7", "<answer>7</answer>", "7", "no box: the answer tag or field was read"},
		{"7", "Nothing is known.", "Nothing is known.", ""},
		{"7", strings.Repeat("Nothing is known. ", 100), "", "no answer was found"},
		{"7", "", "", ""},
	} {
		v, err := maths.New(test.gold).Score(context.Background(), scoring.Response{Text: test.text})
		if err != nil || v.Answer != test.answer || v.Note != test.note {
			t.Errorf("%q: %+v, %v, want %q, %q", test.text, v, err, test.answer, test.note)
		}
		if right := strings.ContainsAny(test.answer, "723"); v.Correct() != right {
			t.Errorf("%q for %q is %v", test.text, test.gold, v.Correct())
		}
	}
}

// TestALabelBeforeARelation takes nothing of it away.
func TestALabelBeforeARelation(t *testing.T) {
	for _, test := range []struct {
		gold, text string
		right      bool
	}{
		{"7", "Answer: x = 7", true}, {"7", "Answer: 2x = 7", false}, {"7", "Area: 2x = 7", false}, {"7", `Answer: \(x^2 = 7\)`, false},
		{`(7,\infty)`, "Answer: x > 7", true}, {"(3,7)", "Answer: 3 < x < 7", true}, {"7", "Answer: x > 7", false},
		{"3:2", "boys:girls = 3:2", true}, {"7", "Answer: 3 + 4 = 7", true}, {"7", "Answer: f(3) = 7", true},
		{"7", "Wrong: x = 7", false}, {"7", "Guess: x = 7", false},
	} {
		if v, err := maths.New(test.gold).Score(t.Context(), scoring.Response{Text: test.text}); err != nil || v.Correct() != test.right {
			t.Errorf("%q for %q: %+v, %v", test.text, test.gold, v, err)
		}
	}
}

// TestLinesOfResponses has answers in lines whose neighbours end without a point, behind headings, and
// before exclamation marks and conditions.
func TestLinesOfResponses(t *testing.T) {
	for text, right := range map[string]bool{
		"So there are 10-5=<<10-5=5>>5 bolts of fabric\n#### 5": true, "There are 10/2=5 bolts\n\n#### 5": true, "2 + 3 = 5\nAnswer: 5": true, "- 10/2 = 5\n- **Answer:** 5": true,
		"1. 10/2 = 5\n2. Final answer: 5": true, "### Final Answer\nThe farmer has **5** cows.": true, "**Final Answer**\nHe has 5 of them.": true,
		"The answer is **5**!": true, "The answer is $5$!": true, "The maximum is 5, attained at x = 2.": true, "There were 5 downloads over the 3 months.": true,
		"There are 5 bolts\n#### 6": false, "There are 6 bolts\n#### not 5": false, "6 bolts\n#### 5 or 6": false, "It is not:\nAnswer: 5": false, "I doubt that the\nanswer is 5": false,
		"The answer is 5!": false, "### Final Answer\nIt is not 5.": false, "There were 5 over 3": false, "The minimum is 6, attained at x = 5.": false, "This is not the **answer**\n5": false, "He left at 3, reached at 5": true,

		"The minimum is 5 when x = 2.": true, "So the maximum value is 5 at x = 2.": true, "The value of f is $5$ for $x=2$.": true, "**The minimum is 5 if x = 2.**": true, "The least value is 5, when x = y = 1.": true,
		"The minimum is 2 when x = 5.": false, "The minimum is not 5 when x = 2.": false, "The minimum is at least 5 when x = 2.": false, "It is false that the minimum is 5 if x = 2.": false, "Is it true that the value is 5 if x = 2?": false,
		"The value is 5 if x = 2 and 7 if x = 3.": false, "The value is 7 if x = 3 and the value is 5 if x = 2.": false, "The value is 5 if x = 2. Otherwise it is 6.": false, "We have x = 5 when y = 3.": false, "It is 5 or 6 when x = 2.": false,
		"The area is 5 when x = 2": true, "The area is **5** square units when $x = 2$.": true, "The speed is 5 km/h at t = 2.": true, "The area is 2 when x = 5": false, "The area is at most 5 when x = 2": false,

		"There are 5 left of 20": true, "5 left out of 20": true, "So, 5 marbles are left out of 20.": true, "She has 5 remaining from the original 20.": true, "20 of 5 are left": false, "There are 20 left of 5.": false,
		"There are 5 such primes: 2, 3, 5, 7, 11.": true, "There are **5** real solutions: 1, 2, 4, 6, and 7.": true, "There are 5 such primes: 2, 3, 7.": false, "There are 3 such primes: 2, 3 and 5.": false, "There are not 5 such primes: 2, 3, 5, 7, 11.": false,
		"It is $5$, or 500%.": true, "It is $5$, or $6$.": false, "It is not $5$, or 500%.": false,

		"**5**\n\nExplanation: 2+3=5, and 5 < 6.": true, "5\nExplanation: We have 6 boxes less 1.": true, "5\n\n**Reasoning:** 10 / 2, then\n1 for each of 7 days.": true, "Explanation: 10 - 5 = 5\n\n**5**": true, "Let me think: 10 / 2 = 5\n5": true, "10 / 2 = 5\n\n**5 cows**": true, "10 / 2 = 5\n\n6": false, "**5**\n\nHere's the breakdown:\n- 3 eggs\n- 2 more": true, "$5\n\n6 - 4 = 2\n2 + 3 = 5": true, "It costs 5 dollars.\n\nNote: this is for 9 eggs.": true, "#### 5\n\nIn other words, $5 a day.": true, "Reasoning: 6 less 1.\n5": true, "5.\nReasoning: 6 less 1.": true, "There are 5.\n\n***": true,
		"6\nExplanation: 10 / 2 = 5.": false, "5\nExplanation: 12 / 2 = 6.": false, "5\nExplanation: wait, it is 6.": false, "5\nExplanation: that is not right, we get 6.": false, "5\nReasoning: we have 8 less 2, so 6.": false, "not 5\nExplanation: 12 / 2 = 6.": false,
		"5 or 6\nExplanation: both hold.": false, "5?\nExplanation: 7 days.": false, "at most 5\nReasoning: 7 days.": false, "Explanation: It is not\n5": false, "Explanation: 10 - 4 = 6\n\n5": false, "Explanation: It is less than\n\n5": false, "5, 6\nReasoning: 7 days.": false, "Explanation: 5 + 1 = 6\n\n**6**": false, "5\nThe answer is 6.": false,

		"The answer is:\n- 5": true, "The answer is:\n\n- **5**\n": true, "**Answer:**\n- $5$ cows": true, "The answer is:\n* 5": true, "Final answer:\n- 5.\n\nThat is all.": true,
		"The answer is:\n-5": false, "The answer is: - 5": false, "The answer is:\n- 5\n- 6": false, "The answer is:\n* 6\n* 5": false, "The answers are:\n1. 6\n2. 5": false, "The solutions are:\n* $x=6$\n* $x=5$": false, "The cases are:\n- 6\n- 5\n\nThe answer is 5.": true, "Steps:\n1. 4 + 6 = 10\n2. 10 / 2 = 5": true, "We have:\n- eggs = 9 - 1 = 8\n- left = 8 - 3 = 5": true, "So:\n1. Multiply 2 by 5 to get 10\n2. Half of it is 5": true, "The steps are:\n- $2 + 8 = 10$\n- $10 / 2 = 5$": true, "The answer is:\n- 5\n\n- 6": false, "The answer is not:\n- 5": false, "The answer is:\n- not 5": false, "The answer is:\n- 5 or 6": false, "The answer is:\n- 5 - 6": false,
		"The answer is:\n- 5 is wrong": false, "I doubt that the answer is:\n- 5": false, "The answer is:\n- 5 dozen": false,

		"The answer is five (5).": true, "The answer is **five (5)**.": true, "Five (5)": true, "There are five ($5$) cows.": true, "Hence five (5) of them remain.": true, "The answer is not six (6) but five (5).": true,
		"five (6)": false, "six (5)": false, "The answer is six (5).": false, "The answer is five (6).": false, "The answer is not five (5).": false, "The answer is five (5) or six (6).": false, "The answer is at most five (5).": false,
		"The answer is twenty-five (5).": false, "The answer is twenty five (5).": false, "The answer is minus five (5).": false, "The answer is five (5) dozen.": false, "The answer is five (5). No, six (6).": false, "Only six (6), and five (5) is wrong.": false,

		"There are $5$ such triples $(a,b,c)$.": true, "Hence there are $5$ ordered pairs $(x, y)$.": true, "There are \\(5\\) possible values of \\(n\\).": true, "There are not $6$ but $5$ solutions $(x,y)$.": true,
		"There are not $5$ such triples $(a,b,c)$.": false, "There are at least $5$ such triples $(a,b,c)$.": false, "There are $6$ such triples $(a,b,c)$.": false, "There are $5$ or $6$ pairs $(a,b)$.": false, "There are $2$ of $5$ pairs $(a,b)$.": false,
		"There are $5$ pairs $(a,b)$, and $1$ pair $(b,a)$.": false, "It is false that there are $5$ values of $n$.": false, "There are $5$ values of $n$. No, $6$.": false, "There are $5$ pairs $(5,2)$.": false, "There are $5$ divisors $n$.": false,
	} {
		if v := check("5", text); v.Correct() != right {
			t.Errorf("%q: %+v", text, v)
		}
	}
	for text, right := range map[string]bool{"The answer is:\n-5": true, "The answer is: - 5": true, "The answer is:\n- 5": false, "The answer is:\n- -5": true, "The answer is:\n- \\frac{10}{2}": true} {
		if v := check("-5", text); v.Correct() != right {
			t.Errorf("%q for -5: %+v", text, v)
		}
	}
	for _, text := range []string{"The answer is:\n* 5\n* 6", "**The solutions are:**\n1. 6\n2. 5", "The solutions are:\n- $x = 5$\n- $x = 6$\n"} {
		if v := check(`5, 6`, text); !v.Correct() {
			t.Errorf("%q for 5, 6: %+v", text, v)
		}
	}
	if !check("2, 3, 5", "There are 3 such primes: 2, 3 and 5.").Correct() {
		t.Error("what is counted is no answer")
	}
	if !check("125", "The answer is one hundred and twenty-five (125).").Correct() || !check("2000", "It is two thousand (2,000).").Correct() {
		t.Error("a number in words and digits is none")
	}
	if check("120", "The answer is **5**!").Correct() || !check("120", "The answer is $5!$.").Correct() {
		t.Error("a mark of a sentence is a factorial, or a factorial is none")
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
		"a cross product is none with a dot":               {{`\vec a\cdot\vec b`, `\vec a\times\vec b`, false}, {`\vec a\times\vec b`, `\vec b\times\vec a`, false}, {`2\cdot 3`, `2\times 3`, true}},
		"a capital is another letter":                      {{`2\pi`, `2\Pi`, false}, {`\pi`, `\Pi`, false}},
		"points by the names of their coordinates":         {{"(1, 2)", "y=2; x=1", true}, {"(1, 2)", "y=1; x=2", false}},
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
			if got := check(pair.gold, pair.answer); got.Correct() != pair.want {
				t.Errorf("%s: gold %q, answer %q: %v", rule, pair.gold, pair.answer, got)
			}
		}
	}
}
