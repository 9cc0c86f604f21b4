package choice_test

import (
	"os"
	"strings"
	"testing"

	"speceval/internal/scoring"
	"speceval/internal/scoring/choice"
)

// TestCases holds the rules to labelled cases: gold, prediction, and whether
// that is right, with tabs between. The labels are ours, by the rules of the
// package's comment.
func TestCases(t *testing.T) {
	file, err := os.ReadFile("testdata/cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(file), "\n"), "\n")
	if len(lines) < 150 {
		t.Errorf("%d cases", len(lines))
	}
	seen := map[string]bool{}
	for i, line := range lines {
		fields := strings.Split(line, "\t")
		if len(fields) != 3 || fields[2] != "true" && fields[2] != "false" || seen[line] {
			t.Errorf("line %d: %q", i+1, line)
			continue
		}
		seen[line] = true
		if got, _ := choice.New(fields[0], 0, nil).Score(t.Context(), scoring.Response{Text: fields[1]}); got.Correct() != (fields[2] == "true") {
			t.Errorf("line %d: %q for %s: read %q (%s), want %s", i+1, fields[1], fields[0], got.Answer, got.Note, fields[2])
		}
	}
}

// TestStatements puts letters into statements: what is read is # of those that begin
// with X, and nothing of the others.
func TestStatements(t *testing.T) {
	file, err := os.ReadFile("testdata/statements.tsv")
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0
	for i, line := range strings.Split(strings.TrimSpace(string(file)), "\n") {
		want, frame, _ := strings.Cut(line, "\t")
		for _, letters := range []string{"BC", "CB", "AD", "DA", "BA", "CD"} {
			text := strings.NewReplacer("#", letters[:1], "@", letters[1:], `\n`, "\n").Replace(frame)
			if strings.Contains(frame, `\neg`) {
				text = strings.ReplaceAll(frame, "#", letters[:1])
			}
			pairs++
			got, note := read(t, 4, nil, text, false)
			if want == "X" && got != letters[:1] || want != "X" && got != "" {
				t.Errorf("line %d: %q: read %q (%s)", i+1, text, got, note)
			}
		}
	}
	if pairs < 1000 {
		t.Errorf("%d pairs", pairs)
	}
}

// read is the letter that is read of a response, and the note.
func read(t testing.TB, options int, texts []string, text string, cut bool) (string, string) {
	t.Helper()
	v, err := choice.New("A", options, texts).Score(t.Context(), scoring.Response{Text: text, Cut: cut})
	if err != nil {
		t.Fatal(err)
	}
	if v.Correct() != (v.Answer == "A") {
		t.Errorf("%q: answer %q is correct: %t", text, v.Answer, v.Correct())
	}
	return v.Answer, v.Note
}

func TestOrderOfRules(t *testing.T) {
	const cut = "no answer: cut short without a box that names an option"
	for _, test := range []struct{ text, want, note string }{
		{"The answer is A.\nAnswer: B\n\\boxed{C}\nD", "C", ""},
		{"The answer is A.\nSo it is \\boxed{12}.\nD", "A", "no option in the box: read from a phrase"},
		{"The answer is A.\n\nD", "A", "no box: read from a phrase"},
		{"Some thoughts.\n\nD", "D", "no box: read from the last line"},
		{"It is \\boxed{12}.\n\nD", "D", "no option in the box: read from the last line"},
		{"The answer is \\boxed{B}. It is \\boxed{12}.\nD", "B", ""},
		{"\\boxed{B}, \\boxed{F} and \\boxed{12}", "", "no answer: several options are named"},
		{"\\boxed{F} The answer is A.", "", "no answer: there is no option of this letter"},
		{"\\boxed{A, B} The answer is A.", "", "no answer: several options are named"},
		{"\\boxed{\\text{both A and B}} The answer is A.", "", "no answer: several options are named"},
		{"The answer is A. \\boxed{", "", "no answer: the response ends inside its box"},
		{"", "", "empty response"},
		{" \n\t", "", "empty response"},
		{"No idea.", "", "no answer: nothing in the response names an option"},
		{"CUT\\boxed{C} and then", "C", ""},
		{"CUT\\boxed{C} and \\boxed{12}, which", "C", ""},
		{"CUTThe answer is C. It", "", cut},
		{"CUTC", "", cut},
		{"CUT\\boxed{12} The answer is C. It", "", cut},
		{"CUT\\boxed{C} and \\boxed{", "", "no answer: the response ends inside its box"},
		{"CUT", "", "empty response"},
	} {
		text, short := strings.CutPrefix(test.text, "CUT")
		if got, note := read(t, 4, nil, text, short); got != test.want || note != test.note {
			t.Errorf("%q: %q (%s), want %q (%s)", test.text, got, note, test.want, test.note)
		}
	}
}

// TestLines has what a table of one-line cases cannot hold.
func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"Reasoning.\n\n**C**\n":                                       "C",
		"Reasoning.\r\n\r\n(C)\r\n":                                   "C",
		"Reasoning.\n\nC) the text":                                   "C",
		"Reasoning.\n\nC. The text":                                   "", // E. coli
		"Reasoning.\n\n**(C) the text**":                              "C",
		"A) one\nB) two\nC) three":                                    "",
		"A\nB\nC":                                                     "",
		"\n\nA.\nB.\nC.\n\nWho can say here.":                         "",
		" \nA\nB\nNot clear to me":                                    "",
		"\n\nB\n\nBecause it is so.":                                  "B",
		"- A: one\n- B: two":                                          "",
		"Choose the correct answer:\nA) one\nB) two":                  "",
		"Answer:\nC":                                                  "C",
		"Answer:\n\nA) one":                                           "A",
		"Answer:\nA plane is faster.":                                 "",
		"### Answer\n\nC":                                             "C",
		"C\n\nBecause the mass is conserved.":                         "C",
		"C\n\nThe others: D is too large.":                            "C",
		"A\n\nplane":                                                  "A",
		"Reasoning.\n\nA plane is faster than a train.":               "",
		"Reasoning.\nI think so.":                                     "",
		"Reasoning.\n(B) is wrong because of its mass.":               "",
		"Reasoning.\nB or C":                                          "",
		"Reasoning.\nThus (B) is correct.":                            "B",
		"**Answer: B**\n\nC) is wrong since x.":                       "B",
		"The correct answer is **B) Banana**.\n\nC) Cherry is wrong.": "B",
		"The answer is (C)\n\n(D) is wrong as x":                      "C",
		"The correct answer is B.\nC. is wrong":                       "B",
		"Choose the right answer:\nB) one\nC) two":                    "",
		"The correct answer: A) one\nB) two":                          "",
		"### Answer\n**C**\n\nBecause it is red.":                     "C",
		"**Final Answer**\n\n(C)\n\nIt is red.":                       "C",
		"# The correct answer\nC\nIt is red.":                         "C",
		"# Answer\nA\nB\nC\nNot sure.":                                "",
		"# Answer\nC is what some say.\nNot sure.":                    "",
		"# Tempting answer\nC\nNot sure.":                             "",
		"We seek an answer\nC\nNot sure.":                             "",
		"Reasoning.\nC is cold.\nTherefore, C is correct.":            "C",
		"I weigh them.\nSo it's C.":                                   "C",
		"I weigh them.\nI choose C.":                                  "C",
		"Reasoning.\n**B** is correct.":                               "B",
		"The answer is\n\nB":                                          "B",
		"The correct answer is B.\nA) is for planes.":                 "B",
		"Option A is right for x.\nOption B is correct.":              "B",
		"Answer: B\nAnswer: C":                                        "C",
		"Ans: B":                                                      "B",
	} {
		if got, note := read(t, 4, nil, text, false); got != want {
			t.Errorf("%q: %q (%s), want %q", text, got, note, want)
		}
	}
}

func TestTexts(t *testing.T) {
	colours := []string{"red", "blue", "green and blue", "red."}
	cells := []string{"A plane", "T cells", "B cells", "5", "5.2 km", "E. coli", `$\frac{1}{2}$`, "-5", "Vitamin C"}
	fruit := []string{"Apple", "Banana", "Cherry", "Date", "Elder", "Fig", "Grape", "Hazel", "Iris", "Jasmine"}
	lengths := []string{"5 m", "10 m", "15 m", "20 m"}
	for _, test := range []struct {
		texts      []string
		text, want string
	}{
		{colours, `\boxed{blue}`, "B"},
		{colours, `\boxed{\text{Green and blue}}`, "C"},
		{colours, `\boxed{red}`, ""}, // two of them
		{colours, `\boxed{C) green and blue}`, "C"},
		{colours, `\boxed{C \text{ green and blue}}`, "C"},
		{colours, `\boxed{C \text{ like the sky}}`, ""},
		{colours, `\boxed{B) green and blue}`, ""}, // one letter, another text
		{colours, `\boxed{violet}`, ""},
		{colours, "The correct answer is blue.", "B"},
		{colours, "The correct answer is green and blue, since the sky is.", "C"},
		{colours, "The answer is: **blue**", "B"},
		{colours, "The answer is bluer.", ""},
		{colours, "The answer is not blue.", ""},
		{colours, "The answer is red.", ""},
		{colours, "It is not:\nblue", ""},
		{colours, "The answer is blue. Wait, that is wrong.", ""},
		{colours, "The answer is blue if it is day.", ""},
		{colours, "The answer is blue. Wait, it's C.", "C"},
		{colours, "Hence:\n\nBlue.", "B"},
		{colours, "Hence:\n\n**green and blue**", "C"},
		{colours, "Hence:\n\nB) blue", "B"},
		{colours, "Hence:\n\nB. blue", "B"},
		{colours, "Hence:\n\nB. green and blue", ""},
		{colours, "Hence:\n\nB) the sky", ""},
		{colours, "The answer is blue. I mean, the answer is C.", "C"},
		{colours, "The answer is C. I mean, the answer is blue.", "C"}, // letters first
		{cells, "The answer is B cells.", "C"},
		{cells, `\boxed{B cells}`, "C"},
		{cells, `\boxed{\text{Vitamin C}}`, "I"},
		{cells, `\boxed{E. coli}`, "F"},
		{cells, "Answer: E. coli", "F"},
		{cells, "The answer is A plane.", "A"},
		{cells, "A plane", "A"},
		{cells, "A plane flies.", ""},
		{cells, "The answer is 5.", "D"},
		{cells, "The answer is 5.2 km.", "E"},
		{cells, "The answer is 5.3 km.", ""},
		{cells, "The answer is 5 kg.", ""},
		{cells, "The answer is -5.", "H"},
		{cells, `\boxed{\frac{1}{2}}`, "G"},
		{cells, `The answer is \(\frac{1}{2}\).`, "G"},
		{[]string{"B", "C", "A", "D"}, `\boxed{A}`, "A"}, // letters are letters
		{[]string{"B", "C", "A", "D"}, "The answer is B.", "B"},
		{fruit, "Answer: F) Grape", ""},
		{fruit, "Answer: G) Grape", "G"},
		{fruit, "Answer: G. grape", "G"},
		{fruit, "Answer: G grape", "G"},
		{fruit, "Answer: F) Grape is the fruit of a vine.", "F"},
		{fruit, "The answer is Grape (F).", ""},
		{fruit, "The answer is **Grape** (**F**).", ""},
		{fruit, "The answer is Grape (G).", "G"},
		{fruit, "The answer is Grape (Z).", "G"},
		{fruit, "The answer is F.\nGrape", "F"},
		{lengths, "The answer is B, 15 m.", ""},
		{lengths, "The answer is C, 15 m.", "C"},
		{lengths, "The answer is B, 12 m.", "B"},
		{lengths, `\boxed{B. 15 m}`, ""},
		{colours, `So \boxed{C. green and blue} it is.`, "C"},
		{colours, `So \boxed{C green and blue} it is. Answer: A`, "A"},
		{colours, `So \boxed{B. green and blue} it is. Answer: A`, ""},
		{[]string{"5", "5, 6", "7", "8"}, "The answer is 5, 6.", "B"},
		{[]string{"", "", "x", ""}, "The answer is .", ""},
		{[]string{"", "", "x", ""}, `\boxed{ }`, ""},
	} {
		if got, note := read(t, len(test.texts), test.texts, test.text, false); got != test.want {
			t.Errorf("%q of %q: %q (%s), want %q", test.text, test.texts, got, note, test.want)
		}
	}
}

func TestNumbersOfOptions(t *testing.T) {
	for options := 2; options <= 26; options++ {
		for i := range 26 {
			letter := string(rune('A' + i))
			want := letter
			if i >= options {
				want = ""
			}
			for _, text := range []string{`\boxed{` + letter + `}`, "The answer is " + letter + ".", "(" + letter + ")", letter} {
				if got, _ := read(t, options, nil, text, false); got != want {
					t.Errorf("%d options, %q: %q, want %q", options, text, got, want)
				}
			}
		}
	}
	for _, options := range []int{0, 1, 99} {
		read(t, options, []string{"one", "two"}, "The answer is two. \\boxed{B}", false)
	}
}

// TestGoldDoesNotCount: which option is right must not change what is read.
func TestGoldDoesNotCount(t *testing.T) {
	for _, text := range []string{"A\nB", `\boxed{c}`, "The answer is B or C", "I"} {
		var answers []string
		for _, gold := range strings.Split("ABCDEFGHIJ", "") {
			v, _ := choice.New(gold, 10, nil).Score(t.Context(), scoring.Response{Text: text})
			answers = append(answers, v.Answer)
		}
		if strings.Join(answers, "") != strings.Repeat(answers[0], 10) {
			t.Errorf("%q: %q", text, answers)
		}
	}
}

// FuzzScore checks what holds for every response: an answer is an option, it is
// right if it is the right one, a cut response needs a box, and a closed box
// with another letter behind it decides.
func FuzzScore(f *testing.F) {
	f.Add(`\boxed{\text{C) red}} The answer is **B**, or`, true, byte(4))
	f.Add("Option (A) is the correct answer.\n\nA plane", false, byte(10))
	f.Add("Answer: red\nB) blue \\fbox{A and B}", false, byte(26))
	f.Fuzz(func(t *testing.T, text string, cut bool, options byte) {
		n := 2 + int(options)%25
		texts := []string{"red", "Blue one", "E. coli", "5"}[:min(n, 4)]
		for _, texts := range [][]string{nil, texts} {
			got, note := read(t, n, texts, text, cut)
			switch {
			case got == "" && note == "":
				t.Errorf("%q: no answer, and no reason", text)
			case got != "" && (len(got) != 1 || int(got[0]-'A') >= n):
				t.Errorf("%q: answer %q of %d", text, got, n)
			case got != "" && cut && !strings.Contains(text, "box"):
				t.Errorf("%q: %q though cut short", text, got)
			}
		}
		if strings.ContainsAny(text, `{}\`) {
			return
		}
		if got, _ := read(t, n, texts, text+` \boxed{B}`, cut); got != "B" {
			t.Errorf("%q before a box: %q", text, got)
		}
	})
}

// TestHugeResponses would take minutes if a rule took quadratic time.
func TestHugeResponses(t *testing.T) {
	for _, claim := range []string{"Answer: A. ", "Answer: B ", "Answer:\nB. "} {
		read(t, 4, nil, strings.Repeat(claim, 1<<20/len(claim))+"\nC) x", false) // are they of a list?
	}
	for _, piece := range []string{
		`\boxed{`, `\boxed{A `, `A `, `A, `, `A))))`, `((((A`, "answer is ", "answer: ", "answer ((((", "option A ", "the answer to ",
		"is the correct answer ", "A is the correct answer ", "A\n", "\n", " ", `\text{`, `\ `, "**", "answer is the the ", "answer is A or ", "choice",
		"not ", "answer\n", "answer - ", "A (and ", "A, maybe ", "I'd go with ", "so ", "<b>", "</b>", "'", "A'", "A – ", "most likely answer ",
	} {
		text := strings.Repeat(piece, 1<<16/len(piece))
		read(t, 26, []string{"A", "a a a a", "answer"}, text, false)
		read(t, 26, []string{"A", "a a a a", "answer"}, `\boxed{`+strings.NewReplacer("{", "(", "}", ")").Replace(text)+`}`, false)
	}
}

// TestLettersWithTheirTexts has the text of an option beside its letter, in tags and in JSON.
func TestLettersWithTheirTexts(t *testing.T) {
	s := choice.New("B", 4, []string{"red", "blue", "light green", "yellow"})
	for text, want := range map[string]string{
		"<answer>blue</answer>": "B", "<answer>B. blue</answer>": "B", "<answer>A or B</answer>": "", "<answer>neither</answer>": "",
		`{"answer": "blue"}`: "B", `{"answer": "B", "explanation": "A is wrong, C too"}`: "B", "```json\n{\"why\": \"not A\", \"answer\": \"B) blue\"}\n```": "B",
		"(B) blue is the right choice": "B", "Option B (blue) is correct.": "B", "I'd pick blue (B).": "B", "(A) red is tempting, but (B) blue is correct.": "B",
		"Option B (blue) is wrong.": "", "Is it B (blue)?": "", "Option B (blue) or C (light green)": "", "A) red\nB) blue\nC) light green\nD) yellow": "",
	} {
		if v, err := s.Score(t.Context(), scoring.Response{Text: text}); err != nil || v.Answer != want {
			t.Errorf("%q: %+v, %v, want %q", text, v, err, want)
		}
	}
}
