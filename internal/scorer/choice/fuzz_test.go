package choice_test

import (
	"strings"
	"testing"

	"speceval/internal/scorer"
	"speceval/internal/scorer/choice"
)

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
		text := strings.Repeat(piece, 1<<18/len(piece))
		read(t, 26, []string{"A", "a a a a", "answer"}, text, false)
		read(t, 26, []string{"A", "a a a a", "answer"}, `\boxed{`+strings.NewReplacer("{", "(", "}", ")").Replace(text)+`}`, false)
	}
}

// thought is 4 kB of prose, in lines, that speaks of answers, options and
// choices twelve times in all.
var thought = strings.Repeat("Substituting this back, most of the terms cancel, and the option of a larger mass is left.\n"+
	"Checking the smallest case by hand gives the same value, which is reassuring; the choice of units does not count.\n"+
	"A plane wave has no such answer, and I have to be careful with the sign here: the second term would vanish.\n"+
	strings.Repeat("Suppose the opposite; then two of the terms would have to be equal, and their sum would grow with time.\n", 7), 4)

// responses are of 4 kB, about 1000 tokens, with what decides at the end.
var responses = map[string]string{
	"box":    thought + "\n\nSo the answer is \\boxed{C}.",
	"phrase": thought + "\n\nSo the correct answer is **C**.",
	"line":   thought + "\n\n(C)",
	"text":   thought + "\n\nSo the correct answer is green.",
	"none":   thought + "\n\nI cannot tell.",
}

func BenchmarkScore(b *testing.B) {
	scorer4 := choice.New('C', 4, []string{"red", "blue", "green", "yellow"})
	for _, kind := range []string{"box", "phrase", "line", "text", "none"} {
		r := scorer.Response{Text: responses[kind]}
		b.Run(kind, func(b *testing.B) {
			b.SetBytes(int64(len(r.Text)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = scorer4.Score(b.Context(), r)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "responses/s")
		})
	}
}

func TestNothingIsAllocated(t *testing.T) {
	s := choice.New('C', 4, []string{"red", "blue", "green", "yellow"})
	for kind, text := range responses {
		if n := testing.AllocsPerRun(100, func() { _, _ = s.Score(t.Context(), scorer.Response{Text: text}) }); n > 0 {
			t.Errorf("%s: %v allocations", kind, n)
		}
		if v, _ := s.Score(t.Context(), scorer.Response{Text: text}); v.Correct() != (kind != "none") {
			t.Errorf("%s: %+v", kind, v)
		}
	}
}
