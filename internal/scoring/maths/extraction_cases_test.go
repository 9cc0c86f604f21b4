package maths_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/scoring"
	"speceval/internal/scoring/maths"
)

// labelled is a line of a file of cases, as `speceval check-scorer math` reads
// them: a right answer, another one, and whether the two are the same.
type labelled struct {
	gold, prediction string
	equal            bool
}

// check is the verdict on a prediction by itself.
func check(gold, prediction string) scoring.Verdict {
	v, _ := maths.New(gold).Score(context.Background(), scoring.Response{Text: prediction})
	return v
}

// cases reads a file of testdata. Equal pairs are in cases.tsv, pairs that are
// nearly equal in nearmisses.tsv. A pair on whose label mathematics and the
// usual conventions do not agree has no place in them.
func cases(t *testing.T, name string) []labelled {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []labelled
	seen := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 || fields[2] != "true" && fields[2] != "false" {
			t.Fatalf("%s: %q is not gold, prediction, and true or false, with tabs between", name, lines.Text())
		}
		if pair := fields[0] + "\t" + fields[1]; seen[pair] {
			t.Errorf("%s: %q is there twice", name, pair)
		} else {
			seen[pair] = true
		}
		all = append(all, labelled{fields[0], fields[1], fields[2] == "true"})
	}
	return all
}

func TestLabelledCases(t *testing.T) {
	for _, file := range []struct {
		name  string
		least int // cases, so that none is lost unnoticed
	}{{"cases.tsv", 1000}, {"nearmisses.tsv", 850}, {"languages.tsv", 65}} {
		all := cases(t, file.name)
		if len(all) < file.least {
			t.Errorf("%s: %d cases, want %d or more", file.name, len(all), file.least)
		}
		wrong := 0
		for _, c := range all {
			if v := check(c.gold, c.prediction); v.Correct() != c.equal {
				wrong++
				t.Errorf("%s against %s: %v, want %v (read %q; %s)", c.prediction, c.gold, v.Correct(), c.equal, v.Answer, v.Note)
			}
		}
		t.Logf("%s: %d of %d agree", file.name, len(all)-wrong, len(all))
	}
}

// TestEveryAnswerEqualsItself holds for whatever has an answer, mathematics or
// not; the surroundings of an answer do not matter.
func TestEveryAnswerEqualsItself(t *testing.T) {
	for _, name := range []string{"cases.tsv", "nearmisses.tsv"} {
		golds := map[string]bool{}
		for _, c := range cases(t, name) {
			golds[c.gold] = true
		}
		for gold := range golds {
			for _, prediction := range []string{gold, "$" + gold + "$", `\boxed{` + gold + "}", "The answer is $" + gold + "$."} {
				if !check(gold, prediction).Correct() {
					t.Errorf("%s does not equal %s", prediction, gold)
				}
			}
		}
	}
}

// TestResponses scores whole responses: which of the things that they say is
// the answer.
func TestResponses(t *testing.T) {
	long := strings.Repeat("We try $x = 3$, then $x = 4$, and see that neither helps. ", 2000)
	for _, test := range []struct {
		what, gold, text string
		cut, correct     bool
	}{
		{"one box", `12`, `We have $3 \cdot 4$, so the answer is $\boxed{12}$.`, false, true},
		{"another in the box", `12`, `We have $3 \cdot 4 = 12$, so the answer is $\boxed{13}$.`, false, false},
		{"the last box", `12`, "At first \\boxed{11} looks right.\n\nIt is not: \\boxed{12}", false, true},
		{"a box before the last", `11`, "At first \\boxed{11} looks right.\n\nIt is not: \\boxed{12}", false, false},
		{"the same box twice", `12`, "So \\boxed{12}.\n\n**Answer:** $\\boxed{12}$", false, true},
		{"numbers after the box", `12`, `$\boxed{12}$, which exceeds 11 by 1 and 10 by 2.`, false, true},
		{"a box in the middle of a long text", `12`, long + `$\boxed{12}$` + strings.Repeat(" So it is.", 5000), false, true},
		{"a box in displayed mathematics", `\frac{3}{8}`, "Hence\n\\[\n\\boxed{\\frac{3}{8}}\n\\]\n", false, true},
		{"a box over several lines", `\frac{3}{8}`, "Hence\n$$\n\\boxed{\n  \\frac{3}{8}\n}\n$$\n", false, true},
		{"an equation in the box", `12`, `\boxed{x = 12}`, false, true},
		{"a chain of equations in the box", `12`, `\boxed{x = 3 \cdot 4 = 12}`, false, true},
		{"a sum in the box", `12`, `\boxed{7 + 5}`, false, true},
		{"a nested box", `12`, `\boxed{\boxed{12}}`, false, true},
		{"a framed box", `12`, `\fbox{12}`, false, true},
		{"a space before the brace", `12`, `\boxed {12}`, false, true},
		{"text in the box", `12`, `\boxed{\text{The answer is } 12}`, false, true},
		{"a unit in the box", `12`, `\boxed{12 \text{ cm}^2}`, false, true},
		{"boxes of a list on one line", `2, 5`, `The solutions are \boxed{2} and \boxed{5}.`, false, true},
		{"too few boxes for a list", `2, 5`, `The first solution is \boxed{2}.`, false, false},
		{"a list in one box", `2, 5`, `\boxed{2, 5}`, false, true},
		{"an empty box", `12`, `It is 12, I think: \boxed{}`, false, false},
		{"courtesies", `12`, "The answer is: **12**\n\nLet me know if you have any questions!", false, true},
		{"a note", `12`, "Answer: 12\n\nNote: we assumed 7 days a week.", false, true},
		{"a doubt in the next line", `12`, "The answer is 12\nor perhaps not.", false, false},
		{"a confidence", `12`, "Explanation: 24/2\nAnswer: 12\nConfidence: 95%", false, true},
		{"a confidence is no answer", `95\%`, "Explanation: 24/2\nAnswer: 12\nConfidence: 95%", false, false},
		{"a heading of its own", `5`, "2 + 3 = 5\n\nFinal answer:\n\n**5**\n", false, true},
		{"a denial before displayed mathematics", `12`, "The answer is not\n\n$$12$$\n", false, false},
		{"sums in dollars", `70000`, "The profit is $200,000 - $130,000 = $70,000.\n\n**Josh made a profit of $70,000.**", false, true},
		{"an earlier sum in dollars", `130000`, "The profit is $200,000 - $130,000 = $70,000.\n\n**Josh made a profit of $70,000.**", false, false},
		{"dollars and formulas", `x+1`, "It costs $5 to read that the sum is $x+1$.", false, true},
		{"markdown", `12`, "### Final answer\n\n**12**", false, true},
		{"said so", `12`, `Adding 5 and 7, the final answer is 12.`, false, true},
		{"said so, in mathematics", `\sqrt{12}`, `Therefore the answer is $2\sqrt{3}$.`, false, true},
		{"said so, something else", `12`, `Adding 5 and 12, the final answer is 17.`, false, false},
		{"an adverb before it", `12`, `Therefore, 12.`, false, true},
		{"an adverb before an equation", `12`, `Thus, x = 12.`, false, true},
		{"said of a letter", `12`, `So the largest $n$ is 12.`, false, true},
		{"said of a letter, and no number", `12`, `We have $n = 12$, so $m$ is odd.`, false, false},
		{"said so of a letter", `12`, `Final Answer: The largest $n$ is 12.`, false, true},
		{"said so with words around", `12`, `Final Answer: She started 12 hours ago. I hope it is correct.`, false, true},
		{"concluded", `12`, `We get $d = \frac{90}{n}$. Therefore, there are 12 sequences. I hope it is correct.`, false, true},
		{"concluded with two numbers", `12`, `We get $d = 3$. Therefore, there are 12 of 90.`, false, false},
		{"a formula each", `2, 5`, `The roots are $x = 2$ and $x = 5$.`, false, true},
		{"one of the formulas", `5`, `The roots are $x = 2$ and $x = 5$.`, false, false},
		{"the last formula does not end", `12`, `With $a = 5$ and $b = 7$ we get $a + b = 12`, false, true},
		{"the last formula is in pieces", `7`, `With $a = 5$ and $b = 7$ we get $\frac{a}{`, false, false},
		{"a name with a digit", `2`, `AZYUK2A`, false, false},
		{"CRLF", `12`, "So\r\n\r\n$\\boxed{12}$\r\n", false, true},
		{"a thin Unicode minus", `-12`, "\\boxed{\u221212}", false, true},
		{"a no-break space", `12`, "\\boxed{12\u00a0}", false, true},
		{"nothing", `12`, ``, false, false},
		{"blanks", `12`, " \n\t ", false, false},
		{"no number at all", `12`, `I could not solve this problem.`, false, false},
		{"not UTF-8", `12`, "\xff\xfe \\boxed{12}", false, true},

		{"cut after the box", `12`, `$\boxed{12}$. To check this, we`, true, true},
		{"cut inside the box", `12`, `Hence the answer is $\boxed{12`, true, false},
		{"cut inside a longer number", `12`, `Hence the answer is 12`, true, false},
		{"cut inside the second box", `1234`, `First \boxed{7}, but then \boxed{1234`, true, false},
		{"cut behind a bare number", `7`, `7`, true, false},
		{"cut before any answer", `4`, long, true, false},
		{"not cut, but a box stays open", `12`, `Hence the answer is $\boxed{13`, false, false},
	} {
		v, err := maths.New(test.gold).Score(t.Context(), scoring.Response{Text: test.text, Cut: test.cut})
		if err != nil || v.Correct() != test.correct {
			t.Errorf("%s: %v, %v, want %v (read %q; %s)", test.what, v.Correct(), err, test.correct, v.Answer, v.Note)
		}
	}
}

// TestBoxesAreTakenBack has sentences behind a box of 17, that take it back for 18, for nothing, or not.
func TestBoxesAreTakenBack(t *testing.T) {
	for _, test := range []struct {
		is        string // right by the response; "": nothing
		sentences []string
	}{
		{"18", []string{"Actually, I made a mistake. It should be 18.", "Actually it's 18.", "Actually, 18.", "On second thought, it's 18.", "Scratch that: 18.", "EDIT: 18",
			"I take that back; the answer is 18.", "Hmm, I made an error: the correct value is 18.", "Upon review, the correct answer is 18.",
			"Ignore the above; the answer is 18.", "**Revised answer:** 18", "Updated answer: $18$"}},
		{"", []string{"The above is incorrect.", "Scratch that."}},
		{"17", []string{"Actually, we can check: 17 = 16 + 1.", "Actually, it is the 7th prime.", "Actually 3 more checks confirm this.", "Edit 3 lines of the proof to see it.", "Upon review, 17 is right.",
			"Actually this follows from 3 other facts.", "I made an error bar plot of 5 points."}},
	} {
		for _, sentence := range test.sentences {
			for _, between := range []string{"\n\n", " "} {
				text := `So it is $\boxed{17}$.` + between + sentence
				for _, gold := range []string{"17", "18"} {
					if v := check(gold, text); v.Correct() != (gold == test.is) {
						t.Errorf("%q for %s: read %q (%s)", text, gold, v.Answer, v.Note)
					}
				}
			}
		}
	}
}
