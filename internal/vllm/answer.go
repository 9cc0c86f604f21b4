package vllm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/ending"
)

// answer is what is read of a chat completion, whole or a chunk of a stream.
// It has one choice at most, that of index 0: no more are asked for.
type answer struct {
	limits          *limits
	id, fingerprint string
	model           string // of this answer or the last that told one
	modelAsJSON     string // the same, as it came
	chosen          bool   // there is a choice
	message         bool   // and it has a message
	text, reasoning string
	finish          string
	tokens          []int32
	prompt          []int32 // ids of the prompt
	counted         bool    // there is a usage
	usage           Usage
	failure
}

// read reads a JSON text with a walker.
func (a *answer) read(w *walker, data []byte) error {
	*a = answer{limits: a.limits, tokens: a.tokens[:0], prompt: a.prompt[:0], model: a.model, modelAsJSON: a.modelAsJSON}
	w.start(data)
	w.fields(func(name jsontext.Value) {
		switch string(name) {
		case `"id"`:
			w.name(&a.id)
		case `"model"`:
			a.readModel(w)
		case `"system_fingerprint"`:
			w.name(&a.fingerprint)
		case `"choices"`:
			w.items(func(int) { a.readChoice(w) })
		case `"prompt_token_ids"`: // next to the choices, where the answer is to a chat
			w.ids(&a.prompt, a.limits.prompt)
		case `"usage"`:
			a.readUsage(w)
		case `"error"`:
			a.Error = []byte(w.raw().Clone())
		default:
			w.skip()
		}
	})
	if err := w.end(); err != nil {
		return &Error{Kind: Garbage, Message: fmt.Sprintf("starts %q", clip(string(data[:min(len(data), 80)]))), Err: err}
	}
	return nil
}

// readModel reads the name of the model, of which only a new one takes memory.
func (a *answer) readModel(w *walker) {
	if w.next() == 'n' {
		w.skip()
		return
	}
	raw := w.raw()
	if string(raw) == a.modelAsJSON {
		return
	}
	if len(raw) > longestName {
		w.fail(fmt.Errorf("a model's name of %d bytes", len(raw)))
		return
	}
	name, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		w.fail(fmt.Errorf("the model's name: %w", err))
		return
	}
	a.model, a.modelAsJSON = string(name), string(raw)
}

// readChoice reads the one choice that was asked for, which a server need not number.
func (a *answer) readChoice(w *walker) {
	index := 0
	var delta, whole, bare message // of which a chunk may have several, and one that is empty
	w.fields(func(name jsontext.Value) {
		switch string(name) {
		case `"index"`:
			index = w.whole()
		case `"delta"`:
			a.message = a.message || w.next() != 'n'
			delta.read(w)
		case `"message"`:
			a.message = a.message || w.next() != 'n'
			whole.read(w)
		case `"text"`: // of /v1/completions
			a.message = a.message || w.next() != 'n'
			w.kept(&bare.text)
		case `"finish_reason"`:
			w.name(&a.finish)
			if ending.Of(a.finish) == ending.Open {
				a.finish = "" // "null" of some servers, for one
			}
		case `"token_ids"`:
			w.ids(&a.tokens, a.limits.tokens)
		default:
			w.skip()
		}
	})
	a.text = cmp.Or(delta.text, whole.text, bare.text, delta.refusal, whole.refusal)
	a.reasoning = cmp.Or(delta.reasoning, whole.reasoning)
	switch {
	case index != 0:
		w.fail(fmt.Errorf("choice %d, where one was asked for", index))
	case a.chosen:
		w.fail(errors.New("choice 0 twice"))
	}
	a.chosen = true
}

// message is the text of a choice, or of a chunk.
type message struct {
	text, reasoning string
	refusal         string // of the model's provider, in place of a text
}

func (m *message) read(w *walker) {
	w.fields(func(name jsontext.Value) {
		switch string(name) {
		case `"content"`:
			w.kept(&m.text)
		case `"reasoning"`, `"reasoning_content"`: // the latter by other servers, or both with one empty
			w.kept(&m.reasoning)
		case `"refusal"`:
			w.kept(&m.refusal)
		default:
			w.skip()
		}
	})
}

func (a *answer) readUsage(w *walker) {
	if w.null() {
		return
	}
	a.counted = true
	a.usage = Usage{Reasoning: -1}
	w.fields(func(name jsontext.Value) {
		switch string(name) {
		case `"prompt_tokens"`:
			a.usage.Prompt = w.count()
		case `"completion_tokens"`:
			a.usage.Completion = w.count()
		case `"completion_tokens_details"`:
			a.readDetails(w)
		default:
			w.skip()
		}
	})
}

func (a *answer) readDetails(w *walker) {
	w.fields(func(name jsontext.Value) {
		if string(name) != `"reasoning_tokens"` || w.next() == 'n' {
			w.skip()
			return
		}
		if a.usage.Reasoning = w.whole(); a.usage.Reasoning < 0 {
			w.fail(fmt.Errorf("%d reasoning tokens", a.usage.Reasoning))
		}
	})
}

// check says what is wrong with a usage.
func (u Usage) check() error {
	switch {
	case u.Prompt < 1 || u.Completion < 0:
		return garbage(fmt.Sprintf("usage of %d prompt and %d completion tokens", u.Prompt, u.Completion))
	case u.Reasoning > u.Completion:
		return garbage(fmt.Sprintf("usage of %d reasoning tokens in %d", u.Reasoning, u.Completion))
	}
	return nil
}

func garbage(message string) error { return &Error{Kind: Garbage, Message: message} }

// decodeAnswer reads a whole chat completion.
func decodeAnswer(data []byte, plain bool, most *limits, into *Completion) error {
	a := answer{limits: most}
	if err := a.read(new(walker), bytes.TrimPrefix(data, byteOrderMark)); err != nil {
		return err
	}
	switch {
	case a.present():
		return a.event("")
	case !a.message && ending.Of(a.finish) < ending.Filtered: // Gemini names the filter that withheld an answer, and sends no message
		return garbage("no choices in the answer")
	}
	into.Model, into.ID, into.Fingerprint, into.Finish, into.TokenIDs, into.PromptIDs = a.model, a.id, a.fingerprint, a.finish, a.tokens, a.prompt
	into.Text, into.Reasoning = a.text, a.reasoning
	if err := a.limits.content(len(a.text) + len(a.reasoning)); err != nil {
		return err
	}
	if !a.counted && !plain {
		return garbage("no usage")
	}
	if err := into.count(&a, plain); err != nil {
		return err
	}
	return into.fault(plain)
}

// count takes in the usage of an answer or a chunk, if it has one. That of a
// plain server which cannot be counts as none.
func (c *Completion) count(a *answer, plain bool) error {
	if !a.counted {
		return nil
	}
	err := a.usage.check()
	if over := a.limits.usage(a.usage); over != nil {
		return over
	}
	switch {
	case err == nil:
		c.Usage = a.usage
	case plain:
		a.counted, err = false, nil
	}
	return err
}

// fault says what is wrong with a completion that came to its end.
func (c *Completion) fault(plain bool) error {
	if plain && c.contradicts() {
		c.Usage = untold
	}
	if err := c.Ended(""); err != nil {
		return err
	}
	switch {
	case c.contradicts():
		return garbage("a text of 0 tokens by its usage")
	case !plain && len(c.Text)+len(c.Reasoning) > textOf(c.Usage.Completion):
		return garbage(fmt.Sprintf("a text of %d bytes of %d tokens by its usage", len(c.Text)+len(c.Reasoning), c.Usage.Completion))
	}
	return nil
}

// Ended is an *Error of the server at a URL unless the completion came to an end by which
// it is a rollout: see ending.Of.
func (c *Completion) Ended(url string) error {
	switch e := ending.Of(c.Finish); {
	case e.Answers():
		return nil
	case e == ending.Open:
		return &Error{Kind: Garbage, URL: url, Message: "no finish_reason, so that nothing says that the answer is whole: serve the model by a server that names one"}
	case e == ending.Failed:
		return &Error{Kind: Cut, URL: url, Message: fmt.Sprintf("the server ended the request itself (finish_reason %q)", c.Finish)}
	}
	return &Error{Kind: UnknownEnd, URL: url, Message: fmt.Sprintf("finish_reason %q is in no table of end reasons, so the answer may be whole or cut: "+
		"find out from the server's documentation, and have the server or a gateway before it say stop or length instead; or ask for the word to be added to speceval", c.Finish)}
}

// contradicts tells whether there is a text of no tokens.
func (c *Completion) contradicts() bool {
	return c.Usage.Completion == 0 && (c.Text != "" || c.Reasoning != "" || len(c.TokenIDs) > 0)
}

// decode reads JSON of a control answer.
func decode(data []byte, into any) error {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if err := json.Unmarshal(data, into); err != nil {
		return &Error{Kind: Garbage, Message: fmt.Sprintf("not the JSON expected, starts %q", clip(string(data[:min(len(data), 80)]))), Err: err}
	}
	return nil
}

// errLongLine ends a stream whose line or event has no reasonable end.
var errLongLine = errors.New("a line too long")

// events reads the data of server-sent events (WHATWG HTML, section 9.2):
// lines that end in LF, CRLF or CR, comments, and data over several lines.
// Other fields than data mean nothing here.
type events struct {
	source  io.Reader
	longest int // bytes of a line and of an event

	buffer     []byte
	start, end int // of what was read and not yet used
	begun      bool
	afterCR    bool
	data       []byte
}

func newEvents(source io.Reader, longest int) *events {
	e := &events{buffer: make([]byte, min(8<<10, longest))}
	e.restart(source, longest)
	return e
}

// restart reads from another source, in which lines and events are at most so long.
func (e *events) restart(source io.Reader, longest int) {
	e.source, e.longest, e.start, e.end, e.begun, e.afterCR = source, longest, 0, 0, false, false
}

// byteOrderMark may stand at the beginning of a body.
var byteOrderMark = []byte("\ufeff")

// next is the data of the next event, valid until the next call. At the end of
// the source it returns io.EOF, and drops an event that has not ended.
func (e *events) next() ([]byte, error) {
	e.data = e.data[:0]
	seen := false
	for {
		line, err := e.line()
		if err != nil {
			return nil, err
		}
		if !e.begun {
			e.begun = true
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if len(line) == 0 {
			if seen {
				return e.data, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":")) // a comment has the name ""
		if string(name) != "data" {
			continue
		}
		if seen {
			e.data = append(e.data, '\n')
		}
		seen = true
		e.data = append(e.data, bytes.TrimPrefix(value, []byte(" "))...)
		if len(e.data) > e.longest {
			return nil, errLongLine
		}
	}
}

// line is the next line without its end.
func (e *events) line() ([]byte, error) {
	searched := 0
	for {
		if e.afterCR && e.start < e.end {
			e.afterCR = false
			if e.buffer[e.start] == '\n' {
				e.start++
			}
		}
		pending := e.buffer[e.start:e.end]
		if i := lineEnd(pending[searched:]); i >= 0 {
			i += searched
			e.start += i + 1
			e.afterCR = pending[i] == '\r'
			return pending[:i], nil
		}
		searched = len(pending)
		if err := e.fill(); err != nil {
			return nil, err
		}
	}
}

func lineEnd(data []byte) int {
	lf := bytes.IndexByte(data, '\n')
	if lf >= 0 {
		data = data[:lf]
	}
	if cr := bytes.IndexByte(data, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads more behind what is pending, and makes room for it first.
func (e *events) fill() error {
	if e.start > 0 {
		e.end = copy(e.buffer, e.buffer[e.start:e.end])
		e.start = 0
	}
	if e.end == len(e.buffer) {
		if e.end >= e.longest {
			return errLongLine
		}
		larger := make([]byte, min(2*len(e.buffer), e.longest))
		copy(larger, e.buffer[:e.end])
		e.buffer = larger
	}
	for range 100 { // a reader may return nothing now and then, not for ever
		n, err := e.source.Read(e.buffer[e.end:])
		e.end += n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}
