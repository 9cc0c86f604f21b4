package vllm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"speceval/internal/servers/ending"
)

// lingerWithin is how long a stream may stay open after it said that it is done.
const lingerWithin = time.Second

// Stream asks for a completion in pieces. Each piece with content is passed to seen, on the
// caller's goroutine; seen may be nil. After an error or an abort, the Completion holds the
// received part. For a request with a Prefix, the pieces and the times cover the rest, and
// the Completion is the whole answer, by the law of an answer in a single piece. An error of
// kind NotContinued says why there can be none such.
func (c *Client) Stream(ctx context.Context, r Request, seen func(Piece)) (Completion, error) {
	if r.Prefix != nil && len(r.Prefix.IDs) == 0 && r.Prefix.Finish == "" { // nothing was drawn
		r.Prefix, r.TokenIDs = nil, true
	}
	if r.Prefix != nil {
		return c.resume(ctx, r, seen)
	}
	return c.ask(ctx, r, seen)
}

// ask sends a request, and reads what the server sends: in pieces or not, as it likes.
func (c *Client) ask(ctx context.Context, r Request, seen func(Piece)) (Completion, error) {
	stream := r.LeaveOut&LeaveStream == 0 || r.Prefix != nil
	a := c.assembly(&r, seen, !stream)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.options.Idle > 0 {
		ctx, _ = c.within(ctx, a.watch.left)
	}
	response, most, err := c.post(ctx, &r, stream)
	if err == nil {
		defer response.Body.Close()
		a.Software = clip(string(c.options.Key.hide([]byte(response.Header.Get("Server")))))
		a.most = most
		err = c.blame(ctx, a.read(response.Body))
	}
	a.Finished = c.options.Clock.Now()
	if err == nil { // a body that is read to its end lets its connection be used again
		go func() {
			if c.options.Clock.Sleep(ctx, lingerWithin) == nil {
				cancel()
			}
		}()
		io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // an error costs a connection, no more
	}
	return a.Completion, err
}

// assembly puts the chunks of an answer together.
type assembly struct {
	Completion
	request *Request
	client  *Client
	seen    func(Piece)
	watch   silence
	most    limits

	chunk           reply // the last
	text, reasoning strings.Builder
	said, thought   joiner
	chosen          bool   // a choice came
	whole           bool   // a whole answer came, which no [DONE] follows
	pieces          int    // that have brought something
	pending         []byte // an event, with lines still to come
	events          bool   // the body is a stream of events, not JSON itself
	failing         bool   // the event is an error by its name
	odd             []byte // the beginning of what came that is no answer, for the error if none comes
}

// assembly is of a request that is about to be sent.
func (c *Client) assembly(r *Request, seen func(Piece), whole bool) *assembly {
	now := c.options.Clock.Now()
	a := &assembly{request: r, client: c, seen: seen, whole: whole, watch: silence{client: c, last: now}}
	if a.Sent, a.Usage = now, (Usage{Reasoning: -1}); c.Plain() {
		a.Usage = notCounted
	}
	if whole {
		a.watch.whole = r.MaxTokens
	}
	return a
}

// errDone ends the reading of lines, errHalf is of a line that is the beginning of JSON.
var errDone, errHalf = errors.New("[DONE]"), errors.New("half of an event")

// read reads a body: server-sent events (WHATWG HTML, section 9.2), JSON, or JSON in lines.
func (a *assembly) read(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 4<<10), a.most.event)
	lines.Split(splitLine)
	var err error
	for mark := []byte("\ufeff"); err == nil && len(a.pending) <= a.most.event && lines.Scan(); mark = nil {
		err = a.line(bytes.TrimPrefix(lines.Bytes(), mark))
	}
	broken := lines.Err()
	if err == nil && broken == nil {
		err = a.flush()
	}
	a.Text, a.Reasoning = a.text.String(), a.reasoning.String()
	switch {
	case errors.Is(broken, bufio.ErrTooLong) || len(a.pending) > a.most.event:
		return garbage("an event of more than %d bytes, where max_tokens is %d", a.most.event, a.most.asked)
	case err != nil && err != errDone:
		return err
	case broken != nil:
		return &Error{Kind: Cut, Message: "the answer broke", Err: broken}
	}
	return a.end(err == errDone)
}

// splitLine is the next line without its end, which is LF, CRLF or CR.
func splitLine(data []byte, atEOF bool) (advance int, line []byte, err error) {
	lf, before := bytes.IndexByte(data, '\n'), data
	if lf >= 0 {
		before = data[:lf]
	}
	switch cr := bytes.IndexByte(before, '\r'); {
	case len(data) == 0, !atEOF && (cr+1 == len(data) || cr < 0 && lf < 0): // LF may follow
		return 0, nil, nil
	case cr >= 0 && cr+1 != lf:
		return cr + 1, data[:cr], nil
	case cr >= 0:
		return lf + 1, data[:cr], nil
	case lf >= 0:
		return lf + 1, before, nil
	}
	return len(data), data, nil
}

// line reads a line of an event, or of JSON that is the body itself.
func (a *assembly) line(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":")) // a comment and an empty line have the name ""
	switch field := string(name); {
	case field == "data":
		a.events, line = true, bytes.TrimPrefix(value, []byte(" "))
	case len(a.pending) > 0 && !a.events: // the body goes on
	case len(line) == 0:
		return a.flush()
	case field == "error":
		return failure(0, a.client.options.Key.hide(value))
	case field == "event":
		a.failing = bytes.Contains(value, []byte("error"))
		return nil
	case field == "" || field == "id" || field == "retry":
		return nil
	default:
		if line = bytes.TrimLeft(line, " \t"); !bytes.HasPrefix(line, []byte("{")) && !bytes.HasPrefix(line, []byte("[")) {
			a.note(line)
			return nil
		}
	}
	if len(a.pending) == 0 {
		if err := a.event(line); err != errHalf {
			return err
		}
	}
	a.pending = append(append(a.pending, line...), '\n') // only its end shows whether it is whole
	return nil
}

func (a *assembly) note(line []byte) {
	if len(a.odd) < longestName {
		a.odd = append(append(a.odd, line[:min(len(line), longestName)]...), '\n')
	}
}

// flush reads an event of several lines.
func (a *assembly) flush() (err error) {
	if len(a.pending) > 0 {
		if err = a.event(a.pending); err == errHalf {
			err = &Error{Kind: Cut, Message: "half an event, which starts " + starts(a.pending)}
		}
	}
	a.pending, a.failing = nil, false
	return err
}

// event reads the data of an event, or JSON that is the body or a line of it.
func (a *assembly) event(data []byte) error {
	data = a.client.options.Key.hide(bytes.TrimSpace(data))
	switch {
	case len(data) == 0: // to keep the connection alive
		return nil
	case string(data) == "[DONE]":
		return errDone
	case a.failing:
		return failure(0, data)
	}
	err := a.chunk.read(data)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || bytes.HasPrefix([]byte("[DONE]"), data):
		return errHalf
	case err != nil:
		return err
	}
	if fault := a.chunk.failure(data); fault != nil {
		return failure(0, fault)
	}
	if len(a.chunk.Choices) == 0 {
		a.note(data)
	}
	return a.addChunk(&a.chunk)
}

// addChunk adds a chunk to the completion.
func (a *assembly) addChunk(chunk *reply) error {
	now, plain := a.client.options.Clock.Now(), a.most.plain
	piece, told, whole, err := chunk.piece()
	if err == nil && string(chunk.Model) != a.Model {
		// An answer may leave out what the name that was asked for has in front or behind: "openai/m", "m:free".
		asked, named := a.request.Model, string(chunk.Model)
		if named != "" && named != asked && !(plain && (SameModel(asked, named) || SameModel(named, asked))) {
			err = &Error{Kind: OtherModel, Message: fmt.Sprintf("asked for the model %q, and %q answered: ask for that one, or serve the other under its name", asked, named)}
		}
	}
	if err == nil && !a.events && a.chosen && whole {
		err = garbage("a second answer")
	}
	if err != nil {
		return err
	}
	ended := piece.Finish != ""
	a.ID, a.Model, a.Fingerprint, a.Finish = string(chunk.ID), string(chunk.Model), string(chunk.Fingerprint), cmp.Or(piece.Finish, a.Finish)
	a.whole = a.whole || !a.events
	a.chosen = a.chosen || told || ending.Of(piece.Finish) >= ending.Filtered // Gemini names the filter that withheld an answer, and sends no message
	piece.Text, piece.Reasoning = a.said.next(piece.Text, ended), a.thought.next(piece.Reasoning, ended)
	a.text.WriteString(piece.Text)
	a.reasoning.WriteString(piece.Reasoning)
	a.TokenIDs = append(a.TokenIDs, piece.IDs...)
	if a.PromptIDs == nil && len(chunk.PromptIDs) > 0 {
		a.PromptIDs = slices.Clone(chunk.PromptIDs)
		piece.PromptIDs = a.PromptIDs
	}
	u, counted := piece.Usage, chunk.Usage.told
	if err := a.most.check(len(a.TokenIDs), max(len(chunk.PromptIDs), u.Prompt), u.Completion, a.text.Len()+a.reasoning.Len()); err != nil {
		return err
	}
	if counted {
		if plain && u.Prompt > 0 { // Gemini and xAI count thinking in the total alone
			u.Completion = max(u.Completion, min(chunk.Usage.is.Total.value()-u.Prompt, a.most.tokens))
		}
		if err := u.check(); err == nil {
			a.Usage = u
		} else if counted = false; !plain { // an impossible count of a plain server is ignored
			return err
		}
	}
	brings := piece.Text != "" || piece.Reasoning != "" || len(piece.IDs) > 0
	if brings {
		a.pieces++
	}
	a.watch.heard(now, cmp.Or(max(a.Usage.Completion, len(a.TokenIDs), 0), a.pieces)) // pieces, of a server that does not count
	if piece.Usage = a.Usage; a.seen != nil && (brings || counted || piece.PromptIDs != nil || ended) {
		a.seen(piece)
	}
	return nil
}

// end says what is wrong with an answer that has ended; done says that its server said so.
func (a *assembly) end(done bool) error {
	plain := a.most.plain
	uncounted := a.Usage.Completion == 0 && len(a.Text)+len(a.Reasoning)+len(a.TokenIDs) > 0
	switch {
	case !a.chosen && (a.whole || a.Finish == "" && len(a.odd) > 0):
		return garbage("no choices in the answer, which starts %s", starts(a.odd))
	case a.whole:
	case a.Finish == "":
		return &Error{Kind: Cut, Message: "the stream ended without a finish_reason, so that nothing says that the answer is whole"}
	case !done && !plain: // other servers may end a stream by its finish_reason
		return &Error{Kind: Cut, Message: "the stream ended without [DONE]"}
	}
	if !plain && a.Usage.Prompt < 1 {
		return garbage("no usage")
	}
	if plain && uncounted {
		a.Usage = notCounted
	}
	if err := a.Ended(""); err != nil || plain || !uncounted {
		return err
	}
	return garbage("a text of 0 tokens by its usage")
}
