package ending

import (
	"regexp"
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

// special are tokens that end an answer, which some servers write out.
var special = regexp.MustCompile(`(?:\s*(?:</s>|<end_of_turn>|<\|(?:im_end|eot_id|end|return|endoftext|end_of_text)\|>))+\s*$`)

// tagAt is the length of the tag that a text begins with, 0 without one, and whether it opens.
func tagAt(text string) (length int, opens bool) {
	for _, t := range tags {
		if strings.HasPrefix(text, t.open) {
			return len(t.open), true
		}
		if strings.HasPrefix(text, t.end) {
			return len(t.end), false
		}
	}
	return 0, false
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
	text = special.ReplaceAllString(text, "")
	from, to := 0, len(text)        // of the answer
	depth, left, behind := 0, 0, -1 // left is the depth behind the last closing tag, behind the end of an opening one that came last
	if opened {
		depth, to, behind = 1, 0, 0
	}
	for at := 0; ; {
		next := strings.IndexAny(text[at:], "<[◁")
		if next < 0 {
			break
		}
		at += next
		length, opens := tagAt(text[at:])
		switch {
		case length == 0:
			at++
			continue
		case !opens:
			depth = max(0, depth-1)
			from, to, left, behind = at+length, len(text), depth, -1
		default:
			if behind < 0 || strings.TrimSpace(text[behind:at]) != "" {
				depth++
			}
			to, behind = min(to, at), at+length
		}
		at += length
	}
	if left > 0 && end != Finished {
		return "", false
	}
	return text[from:to], behind < 0
}
