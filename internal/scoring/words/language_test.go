package words_test

import (
	"strings"
	"testing"

	"speceval/internal/scoring/words"
)

// TestEnglish has what answers in other languages become.
func TestEnglish(t *testing.T) {
	for text, want := range map[string]string{
		"Die richtige Antwort ist 18.":  "the answer is 18.",
		"Die Antwort lautet nicht 18.":  "the answer is not 18.",
		"**Antwort:** 18":               "**the answer:** 18",
		"La réponse n'est pas B.":       "the answer is not B.",
		"La respuesta correcta es la B": "the answer is B",
		"A resposta é 18.":              "the answer is 18.",
		"Ответ: 18":                     "the answer: 18",
		"答案：１８":                         "the answer:18",
		"正确答案不是18。":                     "the answer is not 18.",
		"所以她每天赚18美元。":                   "所以她每天赚 18 dollars.",
		"答えは18です。":                      "the answer is 18 .",
		"정답은 18입니다.":                    "the answer is 18 .",
		"الإجابة هي ١٨":                 "the answer is 18",
		"উত্তর: ১৮":                     "the answer: 18",
		"18以上":                          "18 at least",
		"Mindestens 18":                 "at least 18",
		"ansvar 5, nichts":              "ansvar 5, nichts",
		"The answer is 18.":             "The answer is 18.",
		`\frac{1}{2} naïve`:             `\frac{1}{2} naïve`,
		"İ 18":                          "İ 18",
	} {
		if got := strings.Join(strings.Fields(words.English(text)), " "); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
