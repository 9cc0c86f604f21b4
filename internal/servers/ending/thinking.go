package ending

import (
	"cmp"
	"slices"
	"strings"
)

// tags open and close the thinking in a text, as models write it where their server has
// no reasoning parser: DeepSeek, Qwen and most others; Mistral; gpt-oss (Harmony); Seed;
// Cohere; Gemma; Kimi; LongCat; MedGemma; Apertus; and prompts that ask for tags.
var tags = []struct{ open, end string }{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"}, {"<reasoning>", "</reasoning>"},
	{"[THINK]", "[/THINK]"}, {"<|channel|>analysis", "<|channel|>final<|message|>"}, {"<seed:think>", "</seed:think>"},
	{"<|START_THINKING|>", "<|END_THINKING|>"}, {"<|channel>thought", "<channel|>"}, {"◁think▷", "◁/think▷"},
	{"<longcat_think>", "</longcat_think>"}, {"<unused94>", "<unused95>"}, {"<|inner_prefix|>", "<|inner_suffix|>"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"},
}

// mark is a tag in a text.
type mark struct {
	from, to int
	opens    bool
}

// marks are the tags in a text, in order.
func marks(text string) (all []mark) {
	for _, t := range tags {
		for _, tag := range [...]string{t.open, t.end} {
			for at := 0; ; {
				i := strings.Index(text[at:], tag)
				if i < 0 {
					break
				}
				all = append(all, mark{at + i, at + i + len(tag), tag == t.open})
				at += i + len(tag)
			}
		}
	}
	slices.SortFunc(all, func(a, b mark) int { return cmp.Compare(a.from, b.from) })
	return all
}

// AfterThinking is the part of a text that is the answer: what follows the last tag that
// closes thinking, up to a tag that opens more. closed is false if thinking was opened and
// not closed; the answer is then what stands before it, and is no whole one. opened says
// that the prompt has opened thinking, so that there is no answer before it is closed.
//
// Where thinking is nested, a model that finished its text has closed all of it with the
// last tag; in a text that ended otherwise each tag closes one. An opening tag right behind
// another one, which a chat template wrote, is the same.
func AfterThinking(text string, end Ending, opened bool) (answer string, closed bool) {
	all := marks(text)
	if opened {
		all = slices.Insert(all, 0, mark{opens: true})
	}
	from, depth, left := 0, 0, 0 // left is the depth behind the last closing tag
	for i, m := range all {
		switch {
		case !m.opens:
			depth = max(0, depth-1)
			from, left = m.to, depth
		case i == 0 || !all[i-1].opens || strings.TrimSpace(text[all[i-1].to:m.from]) != "":
			depth++
		}
	}
	if left > 0 && end != Finished {
		return "", false
	}
	if i := slices.IndexFunc(all, func(m mark) bool { return m.opens && m.from >= from }); i >= 0 {
		return text[from:all[i].from], false
	}
	return text[from:], true
}
