package vllm

import (
	"context"
	"slices"
	"strings"
)

// unfinished is what a decoder writes for the first bytes of a character. A
// server writes nothing while its text would end in it.
const unfinished = "�"

// nearby is how many tokens before its end a text is looked at for a character
// that has begun; where all of them are of unfinished ones, as many again.
const nearby = 32

// half is a character that a text of tokens ends within.
type half struct {
	client *Client
	model  string
	base   []int32 // ids of the tokens before it, the last of them at least
	text   string  // of those
	tail   []int32 // ids of its own so far
	whole  bool    // it has become one
}

// halfCharacter is the character that a text ends within; nil if it ends with a
// whole one.
func (c *Client) halfCharacter(ctx context.Context, model string, ids []int32) (*half, error) {
	for window := nearby; ; window *= 2 {
		from := max(0, len(ids)-window)
		for end := len(ids); end > from || end == 0; end-- {
			text, err := c.Detokenize(ctx, model, ids[from:end])
			switch {
			case err != nil:
				return nil, err
			case strings.HasSuffix(text, unfinished):
			case end == len(ids):
				return nil, nil
			default:
				return &half{client: c, model: model, base: slices.Clone(ids[from:end]), text: text, tail: slices.Clone(ids[end:])}, nil
			}
		}
		if from == 0 {
			return &half{client: c, model: model, tail: slices.Clone(ids)}, nil
		}
	}
}

// follows tells whether the character comes after the text that an answer shows:
// not if a special token, which no text shows, stands within it.
func (h *half) follows(p *Prefix) bool {
	if len(h.tail) >= len(p.IDs) {
		return true // nothing is before it
	}
	before := strings.TrimSuffix(strings.TrimSuffix(h.text, thinkEnd), thinkStart)
	shown := []rune(p.Text)
	if len(shown) == 0 {
		shown = []rune(p.Reasoning)
	}
	if len(shown) == 0 {
		return before != h.text
	}
	last := string(shown[max(0, len(shown)-nearby/4):])
	return strings.HasSuffix(before, last) || strings.HasSuffix(h.text, last)
}

// add is the text of the character once tokens have followed, "" while it is
// unfinished. A special token does not belong to it.
func (h *half) add(ctx context.Context, ids []int32, special bool) (string, error) {
	all, err := h.client.Detokenize(ctx, h.model, slices.Concat(h.base, h.tail, ids))
	if err != nil {
		return "", err
	}
	text, found := strings.CutPrefix(all, h.text)
	switch {
	case !found:
		return "", h.client.notContinued("its texts do not grow with the tokens", nil)
	case strings.HasSuffix(text, unfinished):
		h.tail = append(h.tail, ids...)
		return "", nil
	case special:
		return "", nil
	}
	h.whole = true
	return text, nil
}
