package fleet

import (
	"strings"
	"unicode/utf8"
)

// Reasons why an answer ends, as vLLM names them.
const (
	Stop   = "stop"   // the model ended it
	Length = "length" // max_tokens or the context did
)

// Answer is an answer to one request, whole before its first token is sent, or a
// run of its tokens: the bytes of Thinking, a </think> if Closed, the bytes of Text,
// and the end of the turn if Ended.
type Answer struct {
	Thinking string
	Closed   bool // </think> follows the thinking
	Text     string
	Ended    bool   // the last token ends the turn; it has no text
	Finish   string // of a whole answer: Stop or Length
}

// Tokens is the number of tokens, at least 1 for a whole answer.
func (a Answer) Tokens() int {
	n := a.thought() + len(a.Text)
	if a.Ended {
		n++
	}
	return n
}

// thought is the number of tokens before the text.
func (a Answer) thought() int {
	if a.Closed {
		return len(a.Thinking) + 1
	}
	return len(a.Thinking)
}

// Part is tokens from to to (excluded), which must be within the answer.
func (a Answer) Part(from, to int) Answer {
	end, thought := len(a.Thinking), a.thought()
	return Answer{
		Thinking: a.Thinking[min(from, end):min(to, end)],
		Closed:   a.Closed && from <= end && to > end,
		Text:     a.Text[clamp(from-thought, len(a.Text)):clamp(to-thought, len(a.Text))],
		Ended:    a.Ended && to >= a.Tokens(),
	}
}

func clamp(n, most int) int { return min(max(n, 0), most) }

// IDs is the ids of the tokens.
func (a Answer) IDs() []int32 {
	ids := make([]int32, 0, a.Tokens())
	for i := range len(a.Thinking) {
		ids = append(ids, int32(a.Thinking[i]))
	}
	if a.Closed {
		ids = append(ids, ThinkEnd)
	}
	for i := range len(a.Text) {
		ids = append(ids, int32(a.Text[i]))
	}
	if a.Ended {
		ids = append(ids, TurnEnd)
	}
	return ids
}

// Raw is the text as a server without a reasoning parser shows it.
func (a Answer) Raw() string {
	if !a.Closed {
		return a.Thinking + a.Text
	}
	return a.Thinking + specials[ThinkEnd-EndOfText] + a.Text
}

// Limits are the limits of a request on its answer.
type Limits struct {
	Most    int  // tokens at most, at least 1
	Endless bool // the model does not end the answer
	Budget  int  // tokens of thinking before </think> is forced; -1: none
}

// bound bounds an answer by the number of tokens.
func (l Limits) bound(a Answer) Answer {
	a.Finish = Stop
	if !a.Ended || a.Tokens() > l.Most {
		a = a.Part(0, min(l.Most, a.Tokens()))
		a.Finish = Length
	}
	return a
}

// Tokens of the simulated models: the 256 bytes, and the special ones of Qwen's
// chat format, in the order of the ids of the small real models of the drills.
const (
	EndOfText  int32 = 256 + iota // <|endoftext|>
	TurnStart                     // <|im_start|>
	TurnEnd                       // <|im_end|>, ends an answer
	ThinkStart                    // <think>
	ThinkEnd                      // </think>
	Vocabulary                    // number of tokens
)

// specials are the texts of the special tokens, from id 256.
var specials = [...]string{"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"}

// LongestToken is the number of characters of the longest token.
const LongestToken = len("<|endoftext|>")

// Tokenize is the tokens of a text: bytes, and special tokens where their texts
// stand.
func Tokenize(text string) []int32 {
	tokens := make([]int32, 0, len(text))
next:
	for text != "" {
		if text[0] == '<' {
			for i, s := range specials {
				if strings.HasPrefix(text, s) {
					tokens, text = append(tokens, EndOfText+int32(i)), text[len(s):]
					continue next
				}
			}
		}
		tokens, text = append(tokens, int32(text[0])), text[1:]
	}
	return tokens
}

// Detokenize is the text of tokens, whose bytes may make no UTF-8. Unknown ids have no
// text.
func Detokenize(tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		switch {
		case t >= 0 && t < EndOfText:
			b.WriteByte(byte(t))
		case t >= EndOfText && t < Vocabulary:
			b.WriteString(specials[t-EndOfText])
		}
	}
	return b.String()
}

// Valid is text with U+FFFD for bytes that are no UTF-8, as a server decodes tokens:
// one for the beginning of a character, and one for every byte that begins none.
func Valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		for r == utf8.RuneError && size < len(text) && !utf8.FullRuneInString(text[:size+1]) {
			size++
		}
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}

// Complete is the length of text without bytes at its end that make no character, which
// a server holds back: the next token may complete one.
func Complete(text string) int {
	for text != "" {
		r, size := utf8.DecodeLastRuneInString(text)
		if r != utf8.RuneError {
			break
		}
		text = text[:len(text)-size]
	}
	return len(text)
}
