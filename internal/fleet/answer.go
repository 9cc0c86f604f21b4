package fleet

import (
	"strings"
	"unicode/utf8"
)

// Reasons why an answer ends, as vLLM names them.
const (
	Stop   = "stop"   // the model ended it, or a stop string or token did
	Length = "length" // max_tokens or the context did
)

// Answer is what a model writes for one request, whole before its first token
// is sent. Its tokens are the bytes of Thinking, a </think> if Closed, the bytes
// of Text and of Tail, and the end of the turn if Ended.
type Answer struct {
	Thinking string
	Closed   bool // </think> follows the thinking
	Text     string
	Tail     string // what was generated to the end of the stop string, and is not shown
	Ended    bool   // the last token ends the turn; it has no text

	Finish string // Stop or Length
	Cause  any    // the stop string or token id behind Stop; nil for the end of the turn
}

// Tokens is the number of tokens, at least 1 for what an Author writes.
func (a *Answer) Tokens() int {
	n := len(a.Thinking) + len(a.Text) + len(a.Tail)
	if a.Closed {
		n++
	}
	if a.Ended {
		n++
	}
	return n
}

// Piece is a run of an answer's tokens.
type Piece struct {
	Thinking string
	Closes   bool // </think> is among the tokens
	Text     string
}

// Piece is tokens from to to (excluded), which must be within the answer.
func (a *Answer) Piece(from, to int) Piece {
	var p Piece
	thinking := len(a.Thinking)
	p.Thinking = a.Thinking[min(from, thinking):min(to, thinking)]
	if a.Closed {
		p.Closes = from <= thinking && to > thinking
		thinking++
	}
	p.Text = a.Text[clamp(from-thinking, len(a.Text)):clamp(to-thinking, len(a.Text))]
	return p
}

// IDs is the ids of tokens from to to.
func (a *Answer) IDs(from, to int) []int32 {
	p := a.Piece(from, to)
	ids := make([]int32, 0, to-from)
	ids = appendBytes(ids, p.Thinking)
	if p.Closes {
		ids = append(ids, ThinkEnd)
	}
	ids = appendBytes(ids, p.Text)
	shown := a.Tokens() - len(a.Tail)
	if a.Tail != "" {
		ids = appendBytes(ids, a.Tail[clamp(from-shown, len(a.Tail)):clamp(to-shown, len(a.Tail))])
	}
	if a.Ended && to >= a.Tokens() && from < to {
		ids = append(ids, TurnEnd)
	}
	return ids
}

func appendBytes(ids []int32, text string) []int32 {
	for i := range len(text) {
		ids = append(ids, int32(text[i]))
	}
	return ids
}

// Raw is the whole text, as a server without a reasoning parser shows it.
func (a *Answer) Raw() string {
	if !a.Closed {
		return a.Thinking + a.Text
	}
	return a.Thinking + "</think>" + a.Text
}

// Limits are what a request sets around an answer.
type Limits struct {
	Most       int // tokens at most, at least 1
	Least      int // tokens before the turn may end
	Endless    bool
	Budget     int      // tokens of thinking before </think> is forced; -1: none
	Stops      []string // the answer ends before the first of these
	StopTokens []int32  // or after the first of these
}

// least is the number of tokens that there must be.
func (l Limits) least() int {
	if l.Endless {
		return l.Most
	}
	return min(l.Least, l.Most)
}

// budget ends the thinking of an answer at its budget.
func (l Limits) budget(a *Answer) {
	if l.Budget >= 0 && l.Budget < len(a.Thinking) {
		a.Thinking, a.Closed = a.Thinking[:l.Budget], true
	}
}

// bound bounds an answer by stop strings, stop tokens and the number of tokens.
func (l Limits) bound(a Answer) Answer {
	if l.Endless {
		l.Least = l.Most
	}
	a.Finish = Stop
	if !a.Ended {
		a.Finish = Length
	}
	l.stop(&a)
	a.cut(l.Most)
	return a
}

// after is the answer without its first n tokens.
func (a *Answer) after(n int) Answer {
	p := a.Piece(n, max(n, a.Tokens()))
	return Answer{Thinking: p.Thinking, Closed: p.Closes, Text: p.Text, Ended: a.Ended}
}

// cut leaves at most so many tokens.
func (a *Answer) cut(most int) {
	if a.Tokens() <= most {
		return
	}
	p := a.Piece(0, most)
	a.Thinking, a.Closed, a.Text, a.Ended = p.Thinking, p.Closes, p.Text, false
	a.Finish, a.Cause = Length, nil
}

// match is a place at which an answer stops: its tokens before the stop string
// or token, and that.
type match struct {
	at    int
	tail  string
	cause any
}

func (m match) end() int { return m.at + len(m.tail) }

// stop ends the answer at the first stop string or token that ends after Least
// tokens and within Most.
func (l Limits) stop(a *Answer) {
	var first *match
	consider := func(text string, start int, stop string, cause any) {
		i := strings.Index(text, stop)
		m := match{start + i, stop, cause}
		if i >= 0 && m.end() > l.Least && m.end() <= l.Most && (first == nil || m.end() < first.end()) {
			first = &m
		}
	}
	after := len(a.Thinking)
	if a.Closed {
		after++
	}
	for _, s := range l.Stops {
		consider(a.Thinking, 0, s, s)
		consider(a.Text, after, s, s)
	}
	for _, id := range l.StopTokens {
		if id >= 0 && id < EndOfText {
			consider(a.Thinking, 0, TokenText(id), id)
			consider(a.Text, after, TokenText(id), id)
		}
	}
	if first == nil {
		return
	}
	a.cut(first.at)
	a.Tail, a.Finish, a.Cause = first.tail, Stop, first.cause
}

func clamp(n, most int) int { return min(max(n, 0), most) }

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
