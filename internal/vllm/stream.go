package vllm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"speceval/internal/ending"
)

// lingerWithin is how long a stream may stay open after it said that it is done.
const lingerWithin = time.Second

// Complete asks for a completion in one piece. With an error, the Completion holds what
// was received: of most servers times only. The rest of an answer always comes in pieces:
// see Stream.
func (c *Client) Complete(ctx context.Context, r Request) (Completion, error) {
	if r.Prefix != nil {
		return c.Stream(ctx, r, nil)
	}
	return c.ask(ctx, r, false, nil)
}

// Stream asks for a completion in pieces. Each piece with content is
// passed to seen, on the caller's goroutine; seen may be nil. After an error or an
// abort, the Completion holds what was received.
//
// A request with a Prefix gets the rest of that answer, and seen its pieces. The
// Completion is that of the whole answer, its tokens, texts and usage; its times
// are those of the rest. It is an answer as one in a single piece would be, by the
// same law. An error of kind NotContinued says why there can be none such.
func (c *Client) Stream(ctx context.Context, r Request, seen func(Piece)) (Completion, error) {
	if r.Prefix != nil && len(r.Prefix.IDs) == 0 && r.Prefix.Finish == "" { // nothing was drawn
		r.Prefix, r.TokenIDs = nil, true
	}
	if r.Prefix != nil {
		return c.resume(ctx, r, seen)
	}
	return c.ask(ctx, r, true, seen)
}

// blank is the completion of a request that is about to be sent.
func (c *Client) blank() Completion {
	completion := Completion{Sent: c.options.Clock.Now(), Usage: Usage{Reasoning: -1}}
	if c.Plain() {
		completion.Usage = untold
	}
	return completion
}

// ask sends a request, and reads what the server sends: in pieces or not, as it likes.
func (c *Client) ask(ctx context.Context, r Request, stream bool, seen func(Piece)) (Completion, error) {
	completion := c.blank()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := c.watch(&r, completion.Sent)
	if !stream {
		watch.first.Store(1) // nothing is heard of it before its end
	}
	if watch.longest > 0 {
		go watch.run(ctx, cancel, c.root)
	}
	plain := c.Plain()
	response, most, err := c.post(ctx, &r, stream)
	if err == nil {
		completion.Software = response.Header.Get("Server")
		completion.Software = completion.Software[:min(len(completion.Software), longestName)]
		a := assembly{request: &r, completion: &completion, client: c, seen: seen, watch: watch, plain: plain, most: most, whole: !stream}
		if err = c.blame(a.read(response.Body)); err != nil && ctx.Err() != nil {
			err = c.ended(ctx)
		}
		if !stream {
			completion.First = time.Time{}
		}
	}
	completion.Finished = c.options.Clock.Now()
	if response != nil {
		if err == nil {
			c.linger(ctx, cancel, response.Body)
		}
		response.Body.Close()
	}
	return completion, err
}

// linger reads a stream that is done to its end, so that its connection can be
// used again, but not for long.
func (c *Client) linger(ctx context.Context, cancel context.CancelCauseFunc, body io.Reader) {
	go func() {
		if c.options.Clock.Sleep(ctx, lingerWithin) == nil {
			cancel(nil)
		}
	}()
	io.Copy(io.Discard, io.LimitReader(body, 64<<10)) // an error costs a connection, no more
}

// assembly puts the chunks of an answer together.
type assembly struct {
	request    *Request
	completion *Completion
	client     *Client
	seen       func(Piece)
	watch      *silence
	plain      bool
	most       limits

	chunk           reply // the last
	text, reasoning strings.Builder
	said, thought   joiner
	counted         bool   // a usage came
	chosen          bool   // a choice came
	whole           bool   // a whole answer came, which no [DONE] follows
	pieces          int    // that have brought something
	pending         []byte // an event of which lines are to come
	open            bool   // it is no event, but the body itself
	failing         bool   // the event is an error by its name
	odd             []byte // what came that is no answer
}

// errDone ends the reading of lines.
var errDone = errors.New("[DONE]")

// errHalf is of a line that is the beginning of JSON.
var errHalf = errors.New("half of an event")

// read reads a body: server-sent events (WHATWG HTML, section 9.2), JSON, or JSON in lines.
func (a *assembly) read(body io.Reader) error {
	limited := &io.LimitedReader{R: body, N: a.most.stream}
	lines := bufio.NewScanner(limited)
	lines.Buffer(make([]byte, 4<<10), int(a.most.whole))
	unended := false // of the last line
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		advance, line := splitLine(data, atEOF)
		unended = atEOF && advance == len(data) && len(line) == len(data)
		return advance, line, nil
	})
	var err error
	for first := true; err == nil && lines.Scan(); first = false {
		line := lines.Bytes()
		if first {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if unended && limited.N <= 0 {
			break
		}
		err = a.line(line)
		if errors.Is(err, errHalf) {
			err = nil
		}
	}
	if err == nil && lines.Err() == nil && limited.N > 0 {
		err = a.flush()
	}
	a.completion.Text, a.completion.Reasoning = a.text.String(), a.reasoning.String()
	a.completion.Mended = a.said.mended + a.thought.mended
	switch broken := lines.Err(); {
	case err == errDone:
		return a.end(true)
	case err != nil:
		return err
	case errors.Is(broken, bufio.ErrTooLong):
		return a.most.tooLong("an event", a.most.whole)
	case broken != nil:
		return &Error{Kind: Cut, Message: "the answer broke", Err: broken}
	case limited.N <= 0:
		return a.most.tooLong("an answer", a.most.stream)
	}
	return a.end(false)
}

// splitLine is the next line without its end, which is LF, CRLF or CR.
func splitLine(data []byte, atEOF bool) (advance int, line []byte) {
	end := bytes.IndexByte(data, '\n')
	before := data
	if end >= 0 {
		before = data[:end]
	}
	switch cr := bytes.IndexByte(before, '\r'); {
	case cr >= 0 && cr+1 == len(data) && !atEOF:
		return 0, nil // LF may follow
	case cr >= 0 && cr+1 == end:
		return end + 1, data[:cr]
	case cr >= 0:
		return cr + 1, data[:cr]
	case end >= 0:
		return end + 1, before
	case atEOF && len(data) > 0:
		return len(data), data
	}
	return 0, nil
}

// line reads a line. errHalf says that it is to be continued.
func (a *assembly) line(line []byte) error {
	if len(line) == 0 && !a.open {
		return a.flush()
	}
	name, value, _ := bytes.Cut(line, []byte(":")) // a comment has the name ""
	value = bytes.TrimPrefix(value, []byte(" "))
	switch start := bytes.TrimLeft(line, " \t"); {
	case a.open:
		return a.more(line)
	case string(name) == "data" && len(a.pending) == 0:
		return a.event(value, true)
	case string(name) == "data":
		return a.more(value)
	case string(name) == "error":
		return failure(0, a.client.hider.answer(value))
	case string(name) == "event":
		a.failing = bytes.Contains(value, []byte("error"))
	case string(name) == "", string(name) == "id", string(name) == "retry":
	case len(start) > 0 && (start[0] == '{' || start[0] == '['):
		err := a.event(start, false)
		a.open = errors.Is(err, errHalf)
		return err
	default:
		a.note(line)
	}
	return nil
}

// more continues an event by a line. Only its end shows whether it is whole.
func (a *assembly) more(line []byte) error {
	a.pending = append(append(a.pending, '\n'), line...)
	if int64(len(a.pending)) > a.most.whole {
		return a.most.tooLong("an event", a.most.whole)
	}
	return errHalf
}

// note keeps the beginning of what is no part of an answer, for the error if none comes.
func (a *assembly) note(line []byte) {
	if len(a.odd) < longestName {
		a.odd = append(append(a.odd, line[:min(len(line), longestName)]...), '\n')
	}
}

// flush reads an event of several lines.
func (a *assembly) flush() error {
	defer func() { a.failing = false }()
	if len(a.pending) == 0 {
		return nil
	}
	data := a.pending
	a.pending = nil
	err := a.event(data, !a.open)
	if errors.Is(err, errHalf) {
		return &Error{Kind: Cut, Message: "half an event, which starts " + starts(data)}
	}
	return err
}

// event reads the data of an event, or JSON that is the body or a line of it.
func (a *assembly) event(data []byte, sse bool) error {
	data = bytes.TrimSpace(data)
	switch string(data) {
	case "": // to keep the connection alive
		return nil
	case "[DONE]":
		return errDone
	}
	shown := a.client.hider.answer(data)
	if a.failing {
		return failure(0, shown)
	}
	if err := a.chunk.read(shown); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || bytes.HasPrefix([]byte("[DONE]"), data) {
			if len(a.pending) == 0 {
				a.pending = append(a.pending, data...)
			}
			return errHalf
		}
		return err
	}
	if a.chunk.failed() {
		return failure(0, shown)
	}
	return a.add(&a.chunk, sse, data)
}

// add adds a chunk to the completion.
func (a *assembly) add(chunk *reply, sse bool, data []byte) error {
	into, now := a.completion, a.client.options.Clock.Now()
	one, err := chunk.choose()
	if err != nil {
		return err
	}
	if model := string(chunk.Model); model != into.Model {
		if err := a.request.answeredBy(model, a.plain); err != nil {
			return err
		}
		into.Model = model
	}
	into.ID, into.Fingerprint = string(chunk.ID), string(chunk.Fingerprint)
	if !sse {
		if a.chosen && one.Message.told {
			return garbage("a second answer")
		}
		a.whole = true
	}
	a.chosen = a.chosen || one.told() || ending.Of(string(one.Finish)) >= ending.Filtered // Gemini names the filter that withheld an answer, and sends no message
	if len(chunk.Choices) == 0 && !chunk.Usage.told {
		a.note(data)
	}
	last := one.Finish != ""
	text, reasoning := a.said.next(one.said(), last), a.thought.next(one.thought(), last)
	a.text.WriteString(text)
	a.reasoning.WriteString(reasoning)
	before := len(into.TokenIDs)
	into.TokenIDs = append(into.TokenIDs, one.TokenIDs...)
	first := len(chunk.PromptIDs) > 0 && into.PromptIDs == nil
	if first {
		into.PromptIDs = slices.Clone(chunk.PromptIDs)
	}
	into.Finish = cmp.Or(string(one.Finish), into.Finish)
	if err := a.most.check(into, a.text.Len()+a.reasoning.Len(), len(chunk.PromptIDs)); err != nil {
		return err
	}
	counted, err := a.count(&chunk.Usage)
	if err != nil {
		return err
	}
	brings := text != "" || reasoning != "" || len(one.TokenIDs) > 0
	if into.First.IsZero() && (brings || counted && into.Usage.Completion > 0) {
		into.First = now
	}
	if brings {
		a.pieces++
	}
	a.watch.heard(now, a.progress())
	if a.seen == nil || !brings && !first && !counted && one.Finish == "" {
		return nil
	}
	piece := Piece{Usage: into.Usage, IDs: slices.Clip(into.TokenIDs[before:]), Text: text, Reasoning: reasoning, Finish: string(one.Finish)}
	if first {
		piece.PromptIDs = into.PromptIDs
	}
	a.seen(piece)
	return nil
}

// count takes in the usage of a chunk, if it has one. That of a plain server which cannot be
// counts as none.
func (a *assembly) count(c *counts) (counted bool, err error) {
	if !c.told {
		return false, nil
	}
	u := Usage{Prompt: int(c.Prompt), Completion: int(c.Completion), Reasoning: int(c.Details.Reasoning)}
	if over := a.most.usage(u); over != nil {
		return false, over
	}
	if err := u.check(); err != nil {
		if a.plain {
			return false, nil
		}
		return false, err
	}
	a.completion.Usage, a.counted = u, true
	return true, nil
}

// end says what is wrong with an answer that has ended; done says that its server said so.
func (a *assembly) end(done bool) error {
	switch {
	case !a.chosen && a.completion.Finish == "" && len(a.odd) > 0:
		return garbage("no choices in the answer, which starts " + starts(bytes.TrimSpace(a.client.hider.answer(a.odd))))
	case a.whole && !a.chosen:
		return garbage("no choices in the answer")
	case a.completion.Finish == "" && !a.whole:
		return &Error{Kind: Cut, Message: "the stream ended without a finish_reason, so that nothing says that the answer is whole"}
	case !done && !a.plain && !a.whole: // other servers may end a stream by its finish_reason
		return &Error{Kind: Cut, Message: "the stream ended without [DONE]"}
	case !a.counted && !a.plain:
		return garbage("no usage")
	}
	return a.completion.fault(a.plain)
}

// progress is how many tokens have come: as the server counts them or, of one that does
// not, the pieces. Of those no more count than there may be tokens, unless their text is
// too short for so many: servers may send less than a token at a time.
func (a *assembly) progress() int {
	if told := max(a.completion.Usage.Completion, len(a.completion.TokenIDs)); told > 0 {
		return told
	}
	if bytes := a.text.Len() + a.reasoning.Len(); bytes > shortToken*a.most.asked {
		return min(a.pieces, a.most.asked)
	}
	return a.pieces
}

// shortToken is how many bytes of text on average show that a token has come.
const shortToken = 8
