package vllm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The tags of thinking. A server with a reasoning parser writes what is before
// the end as reasoning, and neither tag.
const (
	thinkStart = "<think>"
	thinkEnd   = "</think>"
	toolCall   = "<tool_call>" // ends the thinking as well, to some parsers
)

// tags are the ids of both; -1 of one that is no single token.
type tags struct{ start, end int32 }

// tagsOf asks for the tags of a model, once.
func (c *Client) tagsOf(ctx context.Context, model string) (found tags, err error) {
	if known, ok := c.tags.Load(model); ok {
		return known.(tags), nil
	}
	found = tags{-1, -1}
	for tag, id := range map[string]*int32{thinkStart: &found.start, thinkEnd: &found.end} {
		ids, err := c.Tokenize(ctx, model, tag)
		if err != nil {
			return found, err
		}
		if len(ids) == 1 {
			*id = ids[0]
		}
	}
	c.tags.Store(model, found)
	return found, nil
}

// errUnseen is of a prefix whose text does not show how the server separates.
var errUnseen = errors.New("nothing is seen yet of how thinking is separated from the answer")

// thinking reports whether the prefix ends within the reasoning that its server separates.
// By then an answer without a parser is all text, and so it goes on.
func (p *Piece) thinking(t tags) (bool, error) {
	switch {
	case t.end >= 0 && slices.Contains(p.IDs, t.end):
		return false, nil
	case p.Reasoning != "" && t.end < 0:
		return false, notContinued("its thinking does not end with a token " + thinkEnd)
	case p.Reasoning != "" && p.Text != "":
		return false, notContinued("its thinking has ended without " + thinkEnd)
	case p.Reasoning != "":
		return true, nil
	case p.Text != "" || t.end < 0 || lastIndex(p.PromptIDs, t.end) > lastIndex(p.PromptIDs, t.start):
		return false, nil
	}
	return false, errUnseen
}

// probeTokens show whether a server separates thinking.
const probeTokens = 16

// separates asks the question of a request anew to see whether its answers begin
// with thinking that the server separates.
func (c *Client) separates(ctx context.Context, r Request) (bool, error) {
	r.Prefix, r.TokenIDs, r.MaxTokens, r.Temperature = nil, false, probeTokens, 0
	answer, err := c.ask(ctx, r, nil)
	if err == nil && answer.Reasoning == "" && answer.Text == "" {
		err = errUnseen
	}
	return answer.Reasoning != "", err
}

// split divides a text, which came with tokens of the given ids, into answer proper and
// thinking, as a reasoning parser does that reads token by token.
func (x *continuation) split(text string, ids []int32) (answer, reasoning string, err error) {
	switch before, after, found := strings.Cut(text, thinkEnd); {
	case !x.thinking:
		return text, "", nil
	case slices.Contains(ids, x.tags.end):
		if !found && text != "" {
			return "", "", notContinued("its text does not show where the thinking ends")
		}
		x.thinking = false
		return after, strings.Replace(before, thinkStart, "", 1), nil
	case strings.Contains(text, toolCall):
		return "", "", notContinued("it thinks of " + toolCall + ", by which some servers end the thinking")
	case slices.Contains(ids, x.tags.start):
		text = strings.Replace(text, thinkStart, "", 1)
	}
	return "", text, nil
}

// budget is the thinking_token_budget of the rest by which the thinking ends where it would
// have: nil for none. vLLM 0.23 counts once, from the last <think> among the prompt's ids; of an
// answer it counts from the first <think> of all.
func (p *Piece) budget(whole int, t tags) (*int, error) {
	if whole == 0 {
		return nil, nil
	}
	if t.start < 0 || t.end < 0 {
		return nil, notContinued(fmt.Sprintf("it has a thinking budget, and %s or %s is no token of its model", thinkStart, thinkEnd))
	}
	all, end := p.all(), slices.Index(p.IDs, t.end)
	first := lastIndex(p.PromptIDs, t.start) // where the thinking has begun, among all ids
	if first <= lastIndex(p.PromptIDs, t.end) {
		if first = slices.Index(p.IDs, t.start); first >= 0 {
			first += len(p.PromptIDs)
		}
	}
	switch {
	case first < 0:
		return &whole, nil
	case end >= 0 && len(p.PromptIDs)+end < first:
		return nil, notContinued("its thinking has ended before it began, and with it the count of its budget")
	case end >= 0:
		return nil, nil
	case len(all)-first-1 > whole:
		return nil, notContinued(fmt.Sprintf("its thinking is longer than its budget of %d tokens: the server does not end it with %s alone", whole, thinkEnd))
	}
	left := max(0, whole-(lastIndex(all, t.start)-first))
	return &left, nil
}

func lastIndex(ids []int32, id int32) int {
	for i, other := range slices.Backward(ids) {
		if other == id {
			return i
		}
	}
	return -1
}
