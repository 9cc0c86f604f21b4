package checkpoint

import (
	"fmt"
	"strings"
)

// Thinking is what the template of a chat is told about thinking.
type Thinking int

// Values of Thinking: None for a model that cannot.
const (
	None Thinking = iota
	On
	Off
)

// around is what the template writes around a user's turn, a space standing for a
// special token.
var around = map[Thinking]string{
	None: " user\n \n assistant\n",
	On:   " user\n \n assistant\n \n",
	Off:  " user\n \n assistant\n \n\n \n\n",
}

// Filler is a user's turn that makes a prompt of so many tokens by a folder's
// tokenizer and template: another one for every number. A prompt cannot have
// fewer tokens than the template and a number have.
func Filler(tokens, number int, thinking Thinking) string {
	text := fmt.Sprintf("Task %d.", number)
	const more = " Nobody answers this."
	missing := max(0, tokens-len(around[thinking])-len(text))
	return text + strings.Repeat(more, missing/len(more)+1)[:missing]
}
