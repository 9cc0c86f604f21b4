package fleet

import (
	"strings"
	"unicode/utf8"
)

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

// special is the special token that text starts with, and its length; 0 if
// there is none.
func special(text string) (id int32, length int) {
	for i, s := range specials {
		if strings.HasPrefix(text, s) {
			return EndOfText + int32(i), len(s)
		}
	}
	return 0, 0
}

// Tokenize is the tokens of a text: bytes, and special tokens where their texts
// stand.
func Tokenize(text string) []int32 {
	tokens := make([]int32, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '<' {
			if id, length := special(text[i:]); length > 0 {
				tokens = append(tokens, id)
				i += length - 1
				continue
			}
		}
		tokens = append(tokens, int32(text[i]))
	}
	return tokens
}

// CountTokens is the number of tokens of a text.
func CountTokens(text string) int {
	n := len(text)
	for i := strings.IndexByte(text, '<'); i >= 0; {
		length := 1
		if _, l := special(text[i:]); l > 0 {
			length = l
			n -= l - 1
		}
		next := strings.IndexByte(text[i+length:], '<')
		if next < 0 {
			break
		}
		i += length + next
	}
	return n
}

// Detokenize is the text of tokens. Unknown ids have no text, and bytes that
// make no UTF-8 become U+FFFD.
func Detokenize(tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(TokenText(t))
	}
	return Valid(b.String())
}

// Valid is text with U+FFFD for what is no UTF-8, as a server decodes tokens: one
// for the beginning of a character, and one for every byte that begins none.
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

// TokenText is the text of one token: a byte, which may be part of a character
// only, or the name of a special token.
func TokenText(t int32) string {
	switch {
	case t >= 0 && t < EndOfText:
		return string([]byte{byte(t)})
	case t >= EndOfText && t < Vocabulary:
		return specials[t-EndOfText]
	}
	return ""
}

// Complete is the length of text without bytes at its end that make no character:
// what a server has decoded of it. Those of one that has begun may become one, and
// of others it does not know better either.
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

// Shown is the text of tokens as an answer shows them: without those of special
// ones, but with the tags of thinking.
func Shown(tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		if t < EndOfText || t >= ThinkStart {
			b.WriteString(TokenText(t))
		}
	}
	return b.String()
}
