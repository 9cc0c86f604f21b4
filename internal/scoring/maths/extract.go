package maths

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/scoring/maths/latex"
	"speceval/internal/scoring/words"
)

// Bounds on what is tried without a box.
const (
	longestWhole = 400 // of a text that is an answer as a whole, in bytes
	longestTail  = 300 // of the text behind "the answer is"
	mostWords    = 12  // of an answer in a sentence
)

// final finds the final answer of a text: what is in the last box, or, if there
// is none and the text ends where its author wanted, what is at the places
// where people look for it. Several says that the answers in the boxes of the
// last line that has any belong together.
func final(text string, ended, several bool) words.Final {
	if value, back := words.TakenBack(text); back && ended {
		if value == "" {
			return words.Final{Note: "the last box is taken back"}
		}
		text = "The answer is " + value
	}
	if found, ends := words.Marked(text, !ended, several); ends {
		if !found.Boxed {
			found.Text = trimmed(found.Text)
		}
		return found
	}
	text = exclaims.ReplaceAllString(annotation.ReplaceAllString(text, "$1"), "$1.$2")
	text = uncounted(once(unexplained(unchecked(text), several)), several)
	if word, ok := lastWord(text); ok {
		return words.Final{Text: word, Note: "no box: the last value was read"}
	}
	if whole := trimmed(text); len(whole) <= longestWhole && !lastLine.MatchString(whole) {
		if a, ok := latex.Read(whole); ok && !explanation.MatchString(whole) && !(strings.Contains(whole, "\n") && strings.Contains(lowered(whole), "answer") || strings.Contains(whole, "\n\n") && prose.MatchString(whole)) && !(hasWords(a) && (strings.Contains(whole, "answer") || strings.Contains(whole, "\n") || strings.ContainsAny(whole, "$0123456789") || !several && spoken(a))) {
			return words.Final{Text: whole}
		}
	}
	refused := -1
	for i, finder := range finders {
		if i == amongWords && !prose.MatchString(text[:min(len(text), 2000)]) && !strings.Contains(text, " is ") {
			return words.Final{Text: trimmed(text)[:min(len(trimmed(text)), longest)]}
		}
		p, content, ok := finder.find(text)
		if ok && content == "" {
			return words.Final{Note: "no box, and the last formula does not end"}
		}
		if ok && p.from >= refused {
			if value, ok := found(text, p, content); ok {
				return words.Final{Text: value, Note: finder.note}
			}
			refused = p.to
		}
	}
	if refused > 0 {
		return words.Final{Note: "no box, and no value is stated as the answer"}
	}
	if len(text) <= longestWhole {
		return words.Final{Text: trimmed(text)}
	}
	return words.Final{Note: "no answer was found"}
}

var (
	// annotation is a computation for a calculator, in responses in the style of GSM8K:
	// 3 + 4 = <<3+4=7>>7; or an arrow or an icon before what a line says.
	annotation = regexp.MustCompile(`<<[^<>\n]*=[^<>\n]*>>|(?m:^([ \t*]*)(?:=>|[⇒→➡✅👉•]\x{fe0f}?) ?)`)
	// exclaims is the mark of a sentence that another follows, and no factorial.
	exclaims = regexp.MustCompile(`(\d)!+( +[\p{Lu}\p{So}])`)
	isBefore = regexp.MustCompile(`(?i)\b(?:is|are|equals|must be) `)
	answered = regexp.MustCompile(`(?i)answers?\b.*(?:\b(?:is|are|be|equals)\b|[:=])`)
)

var (
	// checked begins a check at the end of a text: Check: 16 + 2 = 18.
	checked = regexp.MustCompile(`(?i)(?:\n|[.!] |\()[\s*#_>(-]*(?:(?:let'?s|let us|let me|we can|to|quick|double|as a|as)[ -])*(?:check|checking|verify|verifying|verification|substituting|plugging)\b`)
	// letters are a word, or a command of LaTeX.
	letters = regexp.MustCompile(`\\?[\pL'’]{2,}`)
	// confirms are the words of a check that says no more than that the answer holds.
	confirms = strings.Fields(`and are as back both checks condition conditions correct correctly does equal equals equation equations expected for get gives good hand have holds in
		indeed into is it left makes matches means now of original our over problem required right satisfied satisfies satisfy sense side sides sum that the this true value values we which with works yes`)
)

// remark is a remark in brackets behind a value at the end of a text.
var remark = regexp.MustCompile(`(\d[^\n(]*) \((?i:the|i\.?e\.?,?|that is|since|because|as|which|note:?|approximately|approx\.?|about|rounded|only|also|or (?:about|approximately)) [^()]*\)[.*]*\s*$`)

// apart is a last paragraph or the end of a last sentence that speaks of something else: including the 24 minutes.
var apart = regexp.MustCompile(`(\d[^\n,]*?)(?:\.?\**\s*\n[\s(*_]*Note\b[^\n]*|, (?:including|excluding|not counting) [^.\n]*[.*]*)\s*$`)

// attained is a last sentence of a value and where it is attained: the area is 5 when x = 2.
var attained = regexp.MustCompile(`((?:^|[.!?\n])(?:[^.!?;\n=\d]* is )?\**(?:-?\d[\d.,/]*|\$[^$=]+\$)\**(?: [a-z/²³]+){0,3}),? (?:which is |is )?(?:(?:attained|achieved|obtained|reached|occurring) )?(?:only )?(?:when|where|at|for|if) [$(]*(?:[a-z]\w* ?= ?)+[^=\s?]+[.*]*\s*$`)

// unchecked is a text without a remark at its end, and without a check, which has the
// last number before it and says no more than that this holds: x = 16. Check: 16 + 2 = 18.
func unchecked(text string) string {
	start := max(0, len(text)-longestWhole)
	text = text[:start] + attained.ReplaceAllString(remark.ReplaceAllString(apart.ReplaceAllString(text[start:], "$1"), "$1"), "$1")
	for _, at := range checked.FindAllStringIndex(text[start:], -1) {
		head, tail := text[:start+at[0]+1], text[start+at[1]:]
		given := numeral.FindAllString(head[max(0, len(head)-longestTail):], -1)
		more := func(word string) bool { return word[0] != '\\' && !slices.Contains(confirms, strings.ToLower(word)) }
		if len(given) > 0 && slices.Contains(numeral.FindAllString(tail, maxItems), given[len(given)-1]) &&
			!slices.ContainsFunc(letters.FindAllString(tail, -1), more) && !strings.ContainsAny(tail, "✗✘❌≠") && !strings.Contains(tail, `\ne`) {
			return strings.TrimRight(head, "\n (")
		}
	}
	return text
}

// counting is a number at the end of a text with what it counts, and between the things counted.
var (
	counting = regexp.MustCompile(`\b(\d{1,2})[*$]* (?:[a-z]+ ){0,3}[a-z]+s: ([^.:;\n]+)\.?\s*$`)
	between  = regexp.MustCompile(`,? and |, `)
)

// uncounted is a text without the things that its last number counts, if they are as many: there are 3
// such primes: 2, 3 and 5. With several it is these things.
func uncounted(text string, several bool) string {
	start := max(0, len(text)-longestWhole)
	at := counting.FindStringSubmatchIndex(text[start:])
	if at == nil || strconv.Itoa(len(between.Split(text[start+at[4]:start+at[5]], -1))) != text[start+at[2]:start+at[3]] {
		return text
	} else if several {
		return text[start+at[4]:]
	}
	return text[:start+at[4]-len(": ")]
}

var (
	// explanation begins with the word for it, after an answer or before it.
	explanation = regexp.MustCompile(`^\W*(?:(?:Explanation|Reasoning|Breakdown|Calculation|Steps):|Here(?:'s| is| are)\b)`)
	// withdraws matches words of an explanation that may give another answer, or deny the one before.
	withdraws = regexp.MustCompile(`(?i)\b(?:answer|wait|actually|instead|however|but|not?|\w+n['’]t|wrong\w*|incorrect\w*|correct\w*|mist\w+|sorry|oops|should|maybe|perhaps|rather|cannot|false|therefore|thus|hence|so|final\w*|option)\b|[?≠]|\\ne`)
	// quantity is a number, perhaps with what it counts.
	quantity = regexp.MustCompile(`^(-?\.?\d(?:[\d.,/]*\d)?)(?: [a-z]+){0,2}$`)
	// concludes ends in a number, a formula or a sentence.
	concludes = regexp.MustCompile(`[\d.$)\]]\**$`)
	// result is the last number behind an equals sign.
	result = regexp.MustCompile(`(?s).*= *\$?(-?[\d.,/]*\d)`)
)

// unexplained is the first line of a text if that is only a number, and an explanation follows
// that has no other result; or such a last line, if no word is before it.
func unexplained(text string, several bool) string {
	text = strings.TrimSpace(text)
	line, rest, _ := strings.Cut(text, "\n")
	if value, is := lone(line, rest); is && (explanation.MatchString(rest) || strings.Contains(rest, "= "+value)) && !withdraws.MatchString(rest) {
		return value
	}
	last := strings.LastIndexByte(text, '\n') + 1
	rest = strings.TrimRight(text[:last], " \n")
	if value, is := lone(text[last:], rest); is && !several && !item.MatchString(text[last:]) && concludes.MatchString(rest) {
		return value
	}
	return text
}

// lone is the number that a line holds alone, if the rest of the text has no other result.
func lone(line, rest string) (string, bool) {
	value := strings.Trim(trimmed(line), `.$\[]() `)
	is, last := quantity.FindStringSubmatch(value), result.FindStringSubmatch(rest)
	return value, is != nil && (last == nil || last[1] == is[1])
}

// twice matches a number that is said in words and then in digits: twenty-five (25).
var twice = regexp.MustCompile(`((?:\pL+[- ]){0,6}\pL+) \(\$?(\d[\d,]*)\$?\)`)

// once is a text with digits alone for such numbers, which it denies where the two differ.
func once(text string) string {
	return twice.ReplaceAllStringFunc(text, func(both string) string {
		m := twice.FindStringSubmatch(both)
		for at := range m[1] {
			if n, ok := words.Number(strings.ToLower(m[1][at:])); ok && (at == 0 || strings.IndexByte(" -", m[1][at-1]) >= 0) {
				if strconv.FormatInt(n, 10) == strings.ReplaceAll(m[2], ",", "") {
					return m[1][:at] + m[2]
				}
				return m[1] + " ≠ " + m[2]
			}
		}
		return both
	})
}

// lastWord is the name of a number at the end of a text, said of something before it: The
// result is seven. Behind the answer, as in "The answer is 9. Its root is three", it is none.
func lastWord(text string) (string, bool) {
	word, before := behindLink(text)
	return word, word != "" && (spelled(word) != word || word == "infinity") && !answered.MatchString(before)
}

// closingWords is all that the last sentence of a text says that something is, if nothing before is
// called the answer and the sentence says so of one thing alone, with no reason or condition: not
// "It is even, because 3 is odd."
func closingWords(text string) string {
	word, before := behindLink(text)
	sentence := before[1+max(strings.LastIndexAny(before, ".?!\n"), -1):]
	if first := firstSentence.FindStringSubmatch(before); first != nil && !words.Remark(first[1]) && !strings.EqualFold(first[1], word) { // Blue. Tom's favourite is red
		return ""
	}
	if _, tagged := words.Tagged(text); tagged || answered.MatchString(before) || isBefore.MatchString(sentence) || aside.MatchString(sentence) || announcedWords(text) != "" {
		return ""
	}
	return word
}

// firstSentence is a first sentence of one word.
var firstSentence = regexp.MustCompile(`^\W*(\pL+)\W*[.!]\W`)

// aside begins a part of a sentence that does not say the answer.
var aside = regexp.MustCompile(`(?i)\b(?:because|since|as|if|when|while|where|whereas|although|though|unless|whether|what|which)\b[^,]*$`)

// behindLink is what stands between the last "is" of a text and its end, if that is stated, and
// what is before: Tuesday, of "It is Tuesday."
func behindLink(text string) (word, before string) {
	const most = 120 // bytes
	start := max(0, len(text)-most)
	links := isBefore.FindAllStringIndex(text[start:], -1)
	if links == nil {
		return "", ""
	}
	last := links[len(links)-1]
	from := start + last[1]
	word = strings.TrimRight(text[from:], ".!* \n")
	from += len(word) - len(strings.TrimLeft(word, "*"))
	if to := start + last[1] + len(word); words.States(text, from, to) == words.Stated {
		return text[from:to], text[:start+last[0]]
	}
	return "", ""
}

// stated is the answer that a gold states: in a box, in formulas of a sentence,
// or as it is.
func stated(gold string) string {
	if content, _, _ := words.Boxed(gold, true); content != "" {
		return content
	}
	if _, ok := latex.Read(gold); !ok {
		if p, content, ok := lastMath(gold); ok && words.States(gold, p.from, p.to) == words.Stated && content != "" {
			return content
		}
	}
	return trimmed(gold)
}

// trimmed is a text without the marks around it. A single quotation mark is the
// sign for inches.
func trimmed(text string) string {
	text = strings.Trim(exclaimed.ReplaceAllString(strings.TrimSpace(text), "$1"), "*#` \n")
	if strings.HasPrefix(text, `"`) {
		text = strings.Trim(text, "*#\"` \n")
	}
	return text
}

// exclaimed is a mark of a sentence behind bold letters or a formula, and no factorial: **5**!
var exclaimed = regexp.MustCompile(`(\*\*|\$|\\[)\]])!+$`)

// spoken reports whether a list begins with words and ends in something else, as a sentence
// does: Therefore, x = 42.
func spoken(a latex.Answer) bool {
	return a.Kind == latex.List && a.Items[0].Kind == latex.Words && a.Items[len(a.Items)-1].Kind != latex.Words
}
