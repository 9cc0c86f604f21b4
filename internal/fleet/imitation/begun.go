package imitation

import (
	"slices"

	"speceval/internal/fleet"
)

// What the chat template puts before an answer, as tokens.
var (
	turn     = append([]int32{fleet.TurnStart}, fleet.Tokenize("assistant\n")...)
	opened   = fleet.Tokenize("<think>\n")
	unopened = fleet.Tokenize("<think>\n\n</think>\n\n")
)

// read are the tokens of the prompt.
func (q *request) read() []int32 {
	if q.tokens != nil {
		return q.tokens
	}
	return fleet.Tokenize(q.prompt)
}

// split is the prompt of a chat and the tokens of an answer that has begun. All is
// prompt unless that of a completion ends within an answer to a chat.
func (q *request) split(s *Settings) (prompt string, answer []int32) {
	if q.chat {
		return q.prompt, nil
	}
	tokens := q.read()
	at := len(tokens) - len(turn)
	for at >= 0 && !slices.Equal(tokens[at:at+len(turn)], turn) {
		at--
	}
	if at < 0 || slices.Contains(tokens[at+1:], fleet.TurnEnd) {
		return q.prompt, nil
	}
	at += len(turn)
	if s.Thinking {
		for _, head := range [][]int32{unopened, opened} {
			if len(tokens) >= at+len(head) && slices.Equal(tokens[at:at+len(head)], head) {
				at += len(head)
				break
			}
		}
	}
	return fleet.Detokenize(tokens[:at]), tokens[at:]
}

// half is the text of a prompt that ends within a character; "" of any other.
// vLLM's decoder has not told it when the answer begins, and tells all of it with
// the first character that becomes whole.
func (q *request) half() string {
	if text := fleet.Shown(q.read()); fleet.Complete(text) < len(text) {
		return text
	}
	return ""
}
