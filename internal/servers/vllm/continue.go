package vllm

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"speceval/internal/policy/seed"
	"speceval/internal/servers/ending"
)

// Prefix is all pieces of an answer as far as it was received. A Request with one asks for the
// rest, and its Completion is the whole: see Client.Stream.
type Prefix = Piece

// Add takes in the next piece of the answer.
func (p *Piece) Add(piece Piece) {
	if piece.Anew {
		*p = Prefix{}
	}
	if len(piece.PromptIDs) > 0 {
		p.PromptIDs = slices.Clone(piece.PromptIDs)
	}
	p.IDs, p.Text, p.Reasoning = append(p.IDs, piece.IDs...), p.Text+piece.Text, p.Reasoning+piece.Reasoning
	if ending.Of(piece.Finish) != ending.Failed {
		p.Finish = cmp.Or(piece.Finish, p.Finish)
	}
}

// Prefix returns the part of a completion from which it can be continued. It is nil unless
// the request asked for TokenIDs and the server returned them.
func (c *Completion) Prefix() *Prefix {
	if len(c.PromptIDs) == 0 || len(c.TokenIDs) == 0 {
		return nil
	}
	p := new(Prefix)
	p.Add(Piece{PromptIDs: c.PromptIDs, IDs: c.TokenIDs, Text: c.Text, Reasoning: c.Reasoning, Finish: c.Finish})
	return p
}

// ContinuationSeed is the seed of what follows n tokens of an answer to a request with a seed:
// another for every n but 0, since a sampler that started again with the seed that made the
// prefix would draw the prefix's own random numbers.
func ContinuationSeed(of int64, n int) int64 {
	if n == 0 {
		return of
	}
	stream := seed.Root(uint64(of)).Child("continuation").Index(n).Stream()
	return int64(stream.Uint64() >> 1)
}

// all are the ids that the model has read when it continues.
func (p *Piece) all() []int32 { return slices.Concat(p.PromptIDs, p.IDs) }

// continuation is an answer that continues its prefix.
type continuation struct {
	client  *Client
	request Request // with the prefix as it came
	seen    func(Piece)

	now      Prefix // as far as the answer is
	tags     tags
	thinking bool // the answer proper has not begun

	// Where the prefix ends within a character, the text until that is whole has to be asked for.
	read   []int32 // ids of the prefix's last tokens and those after it; nil once the character is whole
	before string  // their text before the character
}

// resume asks for the rest of an answer, if there is one, of /v1/completions: by a prompt of the
// very ids that the model would have read had the answer not been lost.
func (c *Client) resume(ctx context.Context, r Request, seen func(Piece)) (whole Completion, err error) {
	x := continuation{client: c, request: r, seen: seen, now: *r.Prefix}
	x.now.IDs = slices.Clip(r.Prefix.IDs)
	if x.now.Finish == "" && len(x.now.IDs) >= r.MaxTokens {
		x.now.Finish = "length"
	}
	sent := c.options.Clock.Now()
	switch {
	case len(x.now.PromptIDs) == 0 || len(x.now.IDs) == 0:
		err = c.unsent(errors.New("the prefix has no ids of the prompt or of tokens: ask for TokenIDs when it is begun"))
	case x.now.Finish != "":
	case c.Plain():
		err = notContinued("it may be none of vLLM, and other servers take no prompt of token ids")
	default:
		if x.request.left, err = x.prepare(ctx); err == nil {
			whole, err = x.rest(ctx)
		}
	}
	whole.Sent, whole.Finished = sent, c.options.Clock.Now()
	whole.Model = cmp.Or(whole.Model, r.Model) // whose answer it was when it began
	whole.PromptIDs, whole.TokenIDs = x.now.PromptIDs, x.now.IDs
	whole.Text, whole.Reasoning, whole.Finish, whole.Usage = x.now.Text, x.now.Reasoning, x.now.Finish, x.usage()
	if err == nil {
		err = whole.Ended(c.root)
	}
	return whole, c.blame(ctx, err)
}

func (x *continuation) usage() Usage {
	return Usage{Prompt: len(x.now.PromptIDs), Completion: len(x.now.IDs), Reasoning: -1}
}

// rest asks for what follows the prefix.
func (x *continuation) rest(ctx context.Context) (Completion, error) {
	r, prefix := x.request, x.now // which grows
	read := len(prefix.all())
	r.Prefix, r.TokenIDs = &prefix, true
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	var fault error
	rest, err := x.client.ask(asking, r, func(p Piece) {
		if fault == nil {
			if fault = x.hear(asking, p); fault != nil {
				cancel()
			}
		}
	})
	switch {
	case fault != nil:
		err = fault
	case err != nil:
		err = refused("it refuses what would", err)
	case len(rest.TokenIDs) != rest.Usage.Completion:
		err = garbage("%d ids of %d tokens", len(rest.TokenIDs), rest.Usage.Completion)
	case rest.Usage.Prompt != read:
		err = garbage("continued %d tokens of a prompt and an answer, and it has read %d", read, rest.Usage.Prompt)
	}
	return rest, err
}

// notContinued is the error of an answer that cannot continue its prefix.
func notContinued(why string) error { return &Error{Kind: NotContinued, Message: why} }

// refused is that error where a server does not do what it was asked for, or the server's own.
func refused(why string, err error) error {
	if kind := KindOf(err); kind == Rejected || kind == UnknownModel {
		return &Error{Kind: NotContinued, Message: why, Err: err}
	}
	return err
}

// prepare finds out where in an answer, and in which character, the prefix ends, and the
// thinking budget to ask for.
func (x *continuation) prepare(ctx context.Context) (left *int, err error) {
	c := x.client
	if x.tags, err = c.tagsOf(ctx, x.request.Model); err != nil {
		return nil, refused("it has no /tokenize, and so its tokens are unknown", err)
	}
	x.thinking, err = x.now.thinking(x.tags)
	if err == errUnseen {
		if x.thinking, err = c.separates(ctx, x.request); err == errUnseen {
			err = notContinued(err.Error())
		}
	}
	if err == nil {
		left, err = x.now.budget(x.request.ThinkingBudget, x.tags)
	}
	if err == nil {
		err = refused("its text is unknown", x.findHalf(ctx, x.now.all()))
	}
	return left, err
}

// hear takes in a piece of the rest, and tells it on as a piece of the whole.
func (x *continuation) hear(ctx context.Context, p Piece) (err error) {
	if x.read != nil {
		if p.Text, err = x.complete(ctx, p); err != nil {
			return err
		}
	}
	if p.Text, p.Reasoning, err = x.split(p.Text, p.IDs); err != nil {
		return err
	}
	if most := textOf(x.request.MaxTokens); len(x.now.Text)+len(x.now.Reasoning)+len(p.Text)+len(p.Reasoning) > most {
		return garbage("a text of more than %d bytes, where max_tokens is %d", most, x.request.MaxTokens)
	}
	p.PromptIDs = nil
	x.now.Add(p)
	if p.Usage = x.usage(); x.seen != nil {
		x.seen(p)
	}
	return nil
}

// unfinished stands for the first bytes of a character in the text of a decoder. A server
// writes nothing while its text would end in it.
const unfinished = "�"

// nearby is how many tokens show whether a character ends with the last of them.
const nearby = 32

// findHalf finds the character that a text ends within.
func (x *continuation) findHalf(ctx context.Context, ids []int32) error {
	for n := nearby; ; n *= 2 {
		x.read = slices.Clone(ids[max(0, len(ids)-n):])
		text, err := x.client.Detokenize(ctx, x.request.Model, x.read)
		x.before = strings.TrimRight(text, unfinished)
		switch {
		case err != nil:
			return err
		case x.before == text:
			x.read = nil
		case strings.Contains(strings.TrimLeft(x.before, unfinished), unfinished):
			return notContinued("it ends within a character that a special token interrupts")
		case x.before == "" && n < len(ids):
			continue
		}
		return nil
	}
}

// complete is the text from the half character on once a piece has followed, "" while it is
// unfinished.
func (x *continuation) complete(ctx context.Context, p Piece) (string, error) {
	ids := p.IDs
	if p.Finish == "stop" && len(ids) > 0 {
		ids = ids[:len(ids)-1] // the end, which no text shows
	}
	x.read = append(x.read, ids...)
	if p.Text == "" {
		return "", nil
	}
	all, err := x.client.Detokenize(ctx, x.request.Model, x.read)
	text, found := strings.CutPrefix(all, x.before)
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", notContinued("its texts do not grow with the tokens")
	case strings.HasSuffix(text, unfinished) && p.Finish == "":
		return "", nil
	case text != "":
		x.read = nil
	}
	return text, nil
}
