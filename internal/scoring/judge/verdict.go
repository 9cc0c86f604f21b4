package judge

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"speceval/internal/scoring"
	"speceval/internal/scoring/words"
	"speceval/internal/servers/ending"
)

// field is the field of a reply with the verdict, and how it is asked for.
type field struct {
	prompt    func(s *Settings) *template.Template
	reminder  string         // is added to the turn when a first reply held no verdict
	line, key *regexp.Regexp // it in a line, and in JSON
	in        func(o object) any
	read      func(value string) (reward float64, ok bool)
	graded    bool // any of several verdicts may be the last
}

// fieldLine matches a line such as `**correct:** yes`, `3. correct: yes` or
// `"correct": "yes",`.
func fieldLine(name string) *regexp.Regexp {
	const marks = "*_\"'`"
	return regexp.MustCompile(`(?i)^[ \t` + marks + `#>\[{0-9.)-]*` + name + `[ \t` + marks + `\]]*:(.*)`)
}

var (
	answerLine = fieldLine("extracted_final_answer")
	correct    = &field{
		func(s *Settings) *template.Template { return s.Prompt },
		"\n\nYour reply must have one line that is either \"correct: yes\" or \"correct: no\".",
		fieldLine("correct"), regexp.MustCompile(`(?i)"correct"\s*:`), func(o object) any { return o.Correct }, yesOrNo, false,
	}
	// grade is a number from 0 to 10. A reply that ends with another one has no verdict,
	// whatever it said before.
	grade = &field{
		func(s *Settings) *template.Template { return s.Grading },
		"\n\nYour reply must have one line \"grade: N\" with a number N from 0 to 10.",
		fieldLine("grade"), regexp.MustCompile(`(?i)"grade"\s*:`), func(o object) any { return o.Grade }, readGrade, true,
	}
)

// object is a verdict in JSON.
type object struct {
	Answer  any `json:"extracted_final_answer"`
	Correct any `json:"correct"`
	Grade   any `json:"grade"`
}

// statement is a verdict that a reply states.
type statement struct {
	reward float64
	ok     bool // it can be read
	quoted bool
	after  string // the rest of the reply
}

// mostRead bounds the bytes that are read of a reply as JSON, from each line with a brace on to the end.
const mostRead = 16 << 20

// plainColons writes colons and blanks in one way.
var plainColons = strings.NewReplacer("：", ":", "\u00a0", " ", "\r", "")

// parse reads a judge's reply: the reward, the answer that the judge found in the
// response, and whether there is a verdict. Verdicts are JSON objects with the
// field and lines of it, such as "correct: yes", in any case and markup, with the
// word on the next line or not.
func (f *field) parse(reply string) (reward float64, answer string, ok bool) {
	reply, _ = ending.AfterThinking(reply, ending.Finished, false) // of a server that does not separate it
	text := plainColons.Replace(reply)
	var said []statement
	quoting := false // a line such as "The response ends with:" stands before
	for read := 0; text != ""; {
		line, rest, _ := strings.Cut(text, "\n")
		quoted := quoting || strings.HasPrefix(strings.TrimSpace(line), ">")
		at := strings.IndexByte(line, '{')
		if at >= 0 && read < mostRead {
			read += len(text) - at
			var o object
			d := json.NewDecoder(strings.NewReader(text[at:]))
			if d.Decode(&o) == nil && f.in(o) != nil {
				whole := text[at : at+int(d.InputOffset())]
				text = text[at+len(whole):]
				reward, ok := f.read(textOf(f.in(o)))
				said = append(said, statement{reward, ok && len(f.key.FindAllString(whole, 2)) == 1, quoted, text})
				answer = answerOf(textOf(o.Answer))
				continue
			}
		}
		if found := f.line.FindStringSubmatch(line); found != nil {
			value := unmarked(found[1])
			if value == "" {
				value, rest, _ = strings.Cut(strings.TrimLeft(rest, " \t\n"), "\n")
			}
			reward, ok := f.read(unmarked(value))
			said = append(said, statement{reward, ok, quoted, rest})
		} else if found := answerLine.FindStringSubmatch(line); found != nil {
			answer = answerOf(unmarked(found[1]))
		} else if strings.TrimSpace(line) != "" {
			quoting = introduces.MatchString(line)
		}
		text = rest
	}
	reward, ok = f.settle(said)
	return reward, answer, ok
}

// settle decides between verdicts. The last one that is not quoted counts, or the
// last one if all are. "Yes" counts only if it is not quoted, and no later one, no
// earlier "no" that the judge has not turned from, and no remark behind it says
// otherwise.
func (f *field) settle(said []statement) (reward float64, ok bool) {
	last := statement{quoted: true}
	for _, s := range said {
		if (s.ok || f.graded) && (!s.quoted || last.quoted) {
			last = s
		}
	}
	if f.graded || last.reward == 0 {
		return last.reward, last.ok
	}
	for _, s := range said {
		later := len(s.after) < len(last.after)
		if later && (!s.ok || s.reward == 0) ||
			!later && s.ok && s.reward == 0 && !s.quoted && !turn.MatchString(strings.TrimSuffix(s.after, last.after)) {
			return 0, false
		}
	}
	remark := last.after
	if next := fields.FindStringIndex(remark); next != nil {
		remark = remark[:next[0]]
	}
	return last.reward, !last.quoted && !words.Contradicts(remark)
}

var (
	fields     = regexp.MustCompile(`(?im)^\W*(?:extracted_final_answer|reasoning|explanation|correct|grade|confidence)\W*:`)
	introduces = regexp.MustCompile(`(?i)\b(?:respon\w+|student\w*|model\w*|quot\w+|answer\w*|text)\b.*:\s*$`)
	turn       = regexp.MustCompile(`(?i)\b(?:wait|actually|so|but|however|correction|second thought|final\w*)\b`)
)

// textOf is a JSON value as text; "" for kinds of values that no field has.
func textOf(value any) string {
	switch value := value.(type) {
	case string:
		return strings.TrimSpace(value)
	case bool:
		return map[bool]string{true: "yes", false: "no"}[value]
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return ""
}

// unmarked is the value of a field without markup around it.
func unmarked(value string) string { return strings.Trim(value, " \t\r\n*_\"'`,[]}>") }

// answerOf is the answer that a judge found.
func answerOf(value string) string {
	if strings.EqualFold(strings.TrimRight(value, "."), "none") {
		return ""
	}
	return value
}

// yesOrNo reads the value of the field correct: one of the two words, alone or
// with a remark. "Yes or no" is neither, nor is "yes if they mean the same", as
// the prompt puts it.
func yesOrNo(value string) (reward float64, ok bool) {
	word, rest := value, ""
	if end := strings.IndexFunc(value, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		word, rest = value[:end], strings.TrimLeft(value[end:], " \t*\"'`")
	}
	yes := strings.EqualFold(word, "yes") || strings.EqualFold(word, "true")
	no := strings.EqualFold(word, "no") || strings.EqualFold(word, "false")
	return scoring.PassFail(yes), (no || yes && !words.Contradicts(rest)) && isRemark(rest)
}

// isRemark reports whether a text may follow a verdict.
func isRemark(text string) bool {
	if text == "" || strings.ContainsRune(".,;:!(-–—", []rune(text)[0]) {
		return true
	}
	word, _, _ := strings.Cut(text, " ")
	return slices.Contains([]string{"because", "since", "as", "for"}, strings.ToLower(word))
}
