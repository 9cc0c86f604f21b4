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

// continuation is an answer that goes on from its prefix.
type continuation struct {
	client  *Client
	request Request // with the prefix as it came
	seen    func(Piece)

	now        Prefix // as far as the answer is
	marks      marks
	separator  separator
	completion Completion
	watch      *silence // over all that the rest takes
}

// resume asks for the rest of an answer. The rest comes from /v1/completions, to
// a prompt of the very ids that the model would have read had it gone on.
func (c *Client) resume(ctx context.Context, r Request, seen func(Piece)) (Completion, error) {
	x := continuation{client: c, request: r, seen: seen, now: *r.Prefix, completion: c.blank()}
	x.now.Finish, x.now.IDs = r.Prefix.ended(&r), slices.Clip(r.Prefix.IDs)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.watch = c.watch(&r, x.completion.Sent)
	if x.watch.longest > 0 {
		go x.watch.run(ctx, cancel, c.root)
	}
	err := x.run(ctx)
	x.completion.Finished = c.options.Clock.Now()
	whole := x.whole()
	if err == nil {
		err = whole.Ended(c.root)
	}
	return whole, err
}

// whole is the answer as far as it is, the prefix included.
func (x *continuation) whole() Completion {
	whole := x.completion
	whole.Model = cmp.Or(whole.Model, x.request.Model) // whose answer it was when it began
	whole.PromptIDs, whole.TokenIDs = x.now.PromptIDs, x.now.IDs
	whole.Text, whole.Reasoning, whole.Finish = x.now.Text, x.now.Reasoning, x.now.Finish
	whole.Usage = Usage{Prompt: len(x.now.PromptIDs), Completion: len(x.now.IDs), Reasoning: -1}
	return whole
}

func (x *continuation) run(ctx context.Context) error {
	if err := errors.Join(x.request.fault(), x.now.fault()); err != nil {
		return &Error{Kind: Rejected, URL: x.client.root, Message: "not sent", Unsent: true, Err: err}
	}
	if x.now.Finish != "" {
		return nil
	}
	if x.client.Plain() {
		return x.client.notContinued("it may be none of vLLM, and other servers take no prompt of token ids", nil)
	}
	if err := x.prepare(ctx); err != nil {
		return err
	}
	if err := x.completeCharacter(ctx); err != nil || x.now.Finish != "" {
		return err
	}
	return x.leg(ctx, x.request.MaxTokens, x.hear)
}

// prepare finds out in which part of the answer the prefix ends.
func (x *continuation) prepare(ctx context.Context) error {
	var err error
	if x.marks, err = x.client.marks(ctx, x.request.Model); err != nil {
		return err
	}
	thinking, err := x.now.thinking(x.marks)
	if errors.Is(err, errUnseen) {
		thinking, err = x.client.separates(ctx, x.request)
	}
	if err != nil {
		return x.client.notContinued(err.Error(), nil)
	}
	x.separator = separator{marks: x.marks, thinking: thinking}
	return nil
}

// leg asks for tokens until the answer ends or has as many as limit, and gives
// each piece of the rest to hear.
func (x *continuation) leg(ctx context.Context, limit int, hear func(Piece) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, before := x.request, x.now
	r.MaxTokens, r.Prefix, r.TokenIDs = limit, &before, true
	budget, err := before.budget(x.request.ThinkingBudget, x.marks)
	if err != nil {
		return x.client.notContinued(err.Error(), nil)
	}
	before.left = budget
	var fault error
	rest, err := x.client.stream(ctx, r, func(p Piece) {
		if fault == nil {
			fault = hear(p)
		}
		if fault != nil {
			cancel(fault)
		}
	})
	x.note(&rest)
	if fault != nil {
		return x.client.blame(fault)
	}
	if err != nil {
		return x.refused(err)
	}
	return x.client.blame(x.check(&before, &rest))
}

// note keeps of a leg what is no part of the answer.
func (x *continuation) note(rest *Completion) {
	into := &x.completion
	into.ID, into.Model = cmp.Or(rest.ID, into.ID), cmp.Or(rest.Model, into.Model)
	into.Fingerprint, into.Software = cmp.Or(rest.Fingerprint, into.Fingerprint), cmp.Or(rest.Software, into.Software)
	if into.First.IsZero() {
		into.First = rest.First
	}
}

// refused tells a server that does not continue from one that fails.
func (x *continuation) refused(err error) error {
	var e *Error
	if errors.As(err, &e) && (e.Kind == Rejected || e.Kind == UnknownModel) {
		return x.client.notContinued("it refuses what would", err)
	}
	return err
}

// check finds out whether the server has read the prefix, and told all of the
// rest.
func (x *continuation) check(before *Prefix, rest *Completion) error {
	read := len(before.PromptIDs) + len(before.IDs)
	switch {
	case len(rest.TokenIDs) != rest.Usage.Completion:
		return garbage(fmt.Sprintf("%d ids of %d tokens", len(rest.TokenIDs), rest.Usage.Completion))
	case rest.Usage.Prompt != read:
		return garbage(fmt.Sprintf("continued %d tokens of a prompt and an answer, and it has read %d", read, rest.Usage.Prompt))
	}
	return nil
}

// hear takes in a piece of the rest, and gives it on as a piece of the whole.
func (x *continuation) hear(p Piece) error {
	answer, reasoning, err := x.separator.split(p.Text, p.IDs)
	if err != nil {
		return x.client.notContinued(err.Error(), nil)
	}
	if most := textOf(x.request.MaxTokens); len(x.now.Text)+len(x.now.Reasoning)+len(answer)+len(reasoning) > most {
		return x.client.blame(garbage(fmt.Sprintf("a text of more than %d bytes, where max_tokens is %d", most, x.request.MaxTokens)))
	}
	x.tell(Piece{IDs: p.IDs, Text: answer, Reasoning: reasoning, Finish: p.Finish})
	x.watch.heard(x.client.options.Clock.Now(), len(x.now.IDs)-len(x.request.Prefix.IDs))
	return nil
}

// tell adds a piece to the whole.
func (x *continuation) tell(p Piece) {
	x.now.Add(p)
	p.Usage = Usage{Prompt: len(x.now.PromptIDs), Completion: len(x.now.IDs), Reasoning: -1}
	if x.seen != nil {
		x.seen(p)
	}
}

// completeCharacter asks for single tokens while the answer ends within a
// character. A server reads the prompt's half of it without having written it,
// and would then write the text of the whole prompt with the first whole
// character: so its text counts from there on only.
func (x *continuation) completeCharacter(ctx context.Context) error {
	h, err := x.client.halfCharacter(ctx, x.request.Model, x.now.all())
	switch {
	case err != nil:
		return x.refused(err)
	case h == nil:
		return nil
	case !h.follows(&x.now):
		return x.client.notContinued("it ends within a character that a special token interrupts", nil)
	}
	for !h.whole && x.now.Finish == "" {
		var p Piece
		err := x.leg(ctx, len(x.now.IDs)+1, func(next Piece) error {
			p.IDs, p.Text, p.Finish = append(p.IDs, next.IDs...), p.Text+next.Text, cmp.Or(p.Finish, next.Finish)
			return nil
		})
		if err != nil {
			return err
		}
		if err := x.single(ctx, h, p); err != nil {
			return err
		}
	}
	return nil
}

// single takes in one token that was asked for within a character. Its text is
// the server's own only in that a token without any is a special one, or leaves
// the character unfinished.
func (x *continuation) single(ctx context.Context, h *half, p Piece) error {
	if p.Finish == "length" && len(x.now.IDs)+len(p.IDs) < x.request.MaxTokens {
		p.Finish = ""
	}
	special := p.Text == ""
	p.Text = ""
	if p.Finish != "stop" {
		text, err := h.add(ctx, p.IDs, special)
		if err != nil {
			return x.refused(err)
		}
		p.Text = text
	}
	return x.hear(p)
}

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
