package vllm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"speceval/internal/ending"
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
	if ending.Of(piece.Finish) != ending.Failed {
		p.Finish = cmp.Or(piece.Finish, p.Finish)
	}
}

// Prefix is what a completion holds, from which it can be continued. It is nil
// unless the request asked for TokenIDs and the server told them.
func (c *Completion) Prefix() *Prefix {
	if len(c.PromptIDs) == 0 || len(c.TokenIDs) == 0 {
		return nil
	}
	p := new(Prefix)
	p.Add(Piece{PromptIDs: c.PromptIDs, IDs: c.TokenIDs, Text: c.Text, Reasoning: c.Reasoning, Finish: c.Finish})
	return p
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
	all := p.all()
	if at := slices.IndexFunc(all, func(id int32) bool { return id < 0 }); at >= 0 {
		return fmt.Errorf("the prefix has the token %d", all[at])
	}
	return nil
}

// all are the ids that the model has read when it goes on.
func (p *Prefix) all() []int32 { return slices.Concat(p.PromptIDs, p.IDs) }

// continuation is an answer that goes on from its prefix.
type continuation struct {
	client  *Client
	request Request // with the prefix as it came
	seen    func(Piece)

	now       Prefix // as far as the answer is
	separator separator
	half      *half // the character that the prefix ends within, until it is whole; nil for none
}

// resume asks for the rest of an answer. The rest comes from /v1/completions, to
// a prompt of the very ids that the model would have read had it gone on.
func (c *Client) resume(ctx context.Context, r Request, seen func(Piece)) (Completion, error) {
	whole := c.blank()
	x := continuation{client: c, request: r, seen: seen, now: *r.Prefix}
	x.now.IDs = slices.Clip(r.Prefix.IDs)
	if x.now.Finish == "" && len(x.now.IDs) >= r.MaxTokens {
		x.now.Finish = "length"
	}
	err := x.rest(ctx, &whole)
	whole.Finished = c.options.Clock.Now()
	whole.Model = cmp.Or(whole.Model, r.Model) // whose answer it was when it began
	whole.PromptIDs, whole.TokenIDs = x.now.PromptIDs, x.now.IDs
	whole.Text, whole.Reasoning, whole.Finish, whole.Usage = x.now.Text, x.now.Reasoning, x.now.Finish, x.usage()
	if err == nil {
		err = whole.Ended(c.root)
	}
	return whole, err
}

func (x *continuation) usage() Usage {
	return Usage{Prompt: len(x.now.PromptIDs), Completion: len(x.now.IDs), Reasoning: -1}
}

// rest asks for the rest, if there is one; into gets what is no part of the answer.
func (x *continuation) rest(ctx context.Context, into *Completion) error {
	if err := errors.Join(x.request.fault(), x.now.fault()); err != nil {
		return x.client.unsent(err)
	}
	if x.now.Finish != "" {
		return nil
	}
	if x.client.Plain() {
		return x.client.notContinued("it may be none of vLLM, and other servers take no prompt of token ids", nil)
	}
	before := x.now
	if err := x.prepare(ctx, &before); err != nil {
		return err
	}
	r := x.request
	r.Prefix, r.TokenIDs = &before, true
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	var fault error
	rest, err := x.client.ask(asking, r, true, func(p Piece) {
		if fault == nil {
			fault = x.hear(asking, p)
		}
		if fault != nil {
			cancel()
		}
	})
	into.ID, into.Model, into.Fingerprint, into.Software, into.First = rest.ID, rest.Model, rest.Fingerprint, rest.Software, rest.First
	read := len(before.PromptIDs) + len(before.IDs)
	switch e := (*Error)(nil); {
	case fault != nil:
		return x.client.blame(ctx, fault)
	case errors.As(err, &e) && (e.Kind == Rejected || e.Kind == UnknownModel):
		return x.client.notContinued("it refuses what would", err)
	case err != nil:
		return err
	case len(rest.TokenIDs) != rest.Usage.Completion:
		return x.client.blame(ctx, garbage(fmt.Sprintf("%d ids of %d tokens", len(rest.TokenIDs), rest.Usage.Completion)))
	case rest.Usage.Prompt != read:
		return x.client.blame(ctx, garbage(fmt.Sprintf("continued %d tokens of a prompt and an answer, and it has read %d", read, rest.Usage.Prompt)))
	}
	return nil
}

// prepare finds out where in an answer, and in which character, the prefix ends.
func (x *continuation) prepare(ctx context.Context, before *Prefix) error {
	marks, err := x.client.marks(ctx, x.request.Model)
	if err != nil {
		return err
	}
	thinking, err := before.thinking(marks)
	if errors.Is(err, errUnseen) {
		thinking, err = x.client.separates(ctx, x.request)
	}
	if err == nil {
		before.left, err = before.budget(x.request.ThinkingBudget, marks)
	}
	if err != nil {
		return x.client.notContinued(err.Error(), nil)
	}
	x.separator = separator{marks: marks, thinking: thinking}
	x.half, err = x.client.halfCharacter(ctx, x.request.Model, before.all())
	if e := (*Error)(nil); errors.As(err, &e) && (e.Kind == Rejected || e.Kind == UnknownModel) {
		return x.client.notContinued("its text is unknown", err)
	}
	return err
}

// hear takes in a piece of the rest, and gives it on as a piece of the whole.
func (x *continuation) hear(ctx context.Context, p Piece) error {
	if x.half != nil {
		text, err := x.half.add(ctx, p)
		if err != nil {
			return err
		}
		if p.Text = text; text != "" {
			x.half = nil
		}
	}
	var err error
	if p.Text, p.Reasoning, err = x.separator.split(p.Text, p.IDs); err != nil {
		return x.client.notContinued(err.Error(), nil)
	}
	if most := textOf(x.request.MaxTokens); len(x.now.Text)+len(x.now.Reasoning)+len(p.Text)+len(p.Reasoning) > most {
		return garbage(fmt.Sprintf("a text of more than %d bytes, where max_tokens is %d", most, x.request.MaxTokens))
	}
	p.PromptIDs = nil
	x.now.Add(p)
	if p.Usage = x.usage(); x.seen != nil {
		x.seen(p)
	}
	return nil
}

// notContinued is the error of an answer that cannot go on from its prefix.
func (c *Client) notContinued(why string, cause error) error {
	return &Error{Kind: NotContinued, URL: c.root, Message: why, Err: cause}
}

// unfinished is what a decoder writes for the first bytes of a character. A
// server writes nothing while its text would end in it.
const unfinished = "�"

// nearby is how many tokens before its end a text is looked at for a character
// that has begun; where all of them are of unfinished ones, as many again.
const nearby = 32

// half is a character that a text of tokens ends within. A server reads the prompt's half of
// it without having written it, and writes the text of the whole prompt with the first whole
// character: so its text counts from there on only, and what is before is asked for.
type half struct {
	client *Client
	model  string
	base   []int32 // ids of the tokens before it, the last of them at least
	text   string  // of those
	tail   []int32 // ids of its own so far
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
			case strings.Contains(strings.TrimLeft(text, unfinished), unfinished):
				return nil, c.notContinued("it ends within a character that a special token interrupts", nil)
			default:
				return &half{client: c, model: model, base: slices.Clone(ids[from:end]), text: text, tail: slices.Clone(ids[end:])}, nil
			}
		}
		if from == 0 {
			return &half{client: c, model: model, tail: slices.Clone(ids)}, nil
		}
	}
}

// add is the text from the character on once a piece has followed, "" while it is unfinished.
func (h *half) add(ctx context.Context, p Piece) (string, error) {
	ids := p.IDs
	if p.Finish == "stop" && len(ids) > 0 {
		ids = ids[:len(ids)-1] // the end, which no text shows
	}
	h.tail = append(h.tail, ids...)
	if p.Text == "" {
		return "", nil
	}
	all, err := h.client.Detokenize(ctx, h.model, slices.Concat(h.base, h.tail))
	if err != nil {
		return "", err
	}
	text, found := strings.CutPrefix(all, h.text)
	if !found {
		return "", h.client.notContinued("its texts do not grow with the tokens", nil)
	}
	if strings.HasSuffix(text, unfinished) && p.Finish == "" {
		return "", nil
	}
	return text, nil
}
