package vllm

import (
	"errors"
	"fmt"
	"slices"

	"speceval/internal/seed"
)

// Prefix is an answer as far as it was received. A Request with one asks for the
// rest, and its Completion is the whole: see Client.Stream.
type Prefix struct {
	PromptIDs []int32 // of the rendered prompt
	IDs       []int32 // of the answer's tokens so far, thinking included
	Text      string  // of the answer proper, so far
	Reasoning string  // of the thinking, so far
	Finish    string  // why the answer ended; "" while it has not

	left *int // the thinking budget to ask for with it; nil for none
}

// Add takes in the next piece of the answer.
func (p *Prefix) Add(piece Piece) {
	if piece.Anew {
		*p = Prefix{}
	}
	if len(piece.PromptIDs) > 0 {
		p.PromptIDs = slices.Clone(piece.PromptIDs)
	}
	p.IDs = append(p.IDs, piece.IDs...)
	p.Text += piece.Text
	p.Reasoning += piece.Reasoning
	if piece.Finish != "" {
		p.Finish = piece.Finish
	}
}

// Prefix is what a completion holds, from which it can be continued. It is nil
// unless the request asked for TokenIDs and the server told them.
func (c *Completion) Prefix() *Prefix {
	if len(c.PromptIDs) == 0 || len(c.TokenIDs) == 0 {
		return nil
	}
	return &Prefix{PromptIDs: c.PromptIDs, IDs: slices.Clip(c.TokenIDs), Text: c.Text, Reasoning: c.Reasoning, Finish: c.Finish}
}

// ContinuationSeed is the seed of what follows n tokens of an answer to a request
// with the given seed. It is another for every n: a sampler that starts again with
// the seed that made the prefix draws the prefix's own random numbers, and what
// follows would depend on it in a way in which no answer does. 0 tokens are no
// prefix, and their seed is the request's own.
func ContinuationSeed(of int64, n int) int64 {
	if n == 0 {
		return of
	}
	stream := seed.Root(uint64(of)).Child("continuation").Index(n).Stream()
	return int64(stream.Uint64() >> 1)
}

// fault says what is wrong with a prefix before a server sees it; nil if nothing is.
func (p *Prefix) fault() error {
	if len(p.PromptIDs) == 0 {
		return errors.New("the prefix has no ids of the prompt: ask for TokenIDs when it is begun")
	}
	if len(p.IDs) == 0 && p.Text+p.Reasoning != "" {
		return errors.New("the prefix has a text and no ids of tokens")
	}
	for _, ids := range [][]int32{p.PromptIDs, p.IDs} {
		if at := slices.IndexFunc(ids, func(id int32) bool { return id < 0 }); at >= 0 {
			return fmt.Errorf("the prefix has the token %d", ids[at])
		}
	}
	return nil
}

// all are the ids that the model has read when it goes on.
func (p *Prefix) all() []int32 { return slices.Concat(p.PromptIDs, p.IDs) }

// ended is why a prefix is a whole answer to the request; "" if it is not.
func (p *Prefix) ended(r *Request) string {
	if p.Finish == "" && len(p.IDs) >= r.MaxTokens {
		return "length"
	}
	return p.Finish
}
