package vllm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/ending"
)

// reply is a chat completion, whole or one event of a stream. It is reused: names stay
// until another comes.
type reply struct {
	ID          label    `json:"id"`
	Model       label    `json:"model"`
	Fingerprint label    `json:"system_fingerprint"`
	Choices     []choice `json:"choices"`
	PromptIDs   []int32  `json:"prompt_token_ids"` // next to the choices, where the answer is to a chat
	Usage       counts   `json:"usage"`

	Error     jsontext.Value `json:"error"` // and other signs of a failure: see failed
	Errors    jsontext.Value `json:"errors"`
	Detail    jsontext.Value `json:"detail"`
	ErrorCode jsontext.Value `json:"error_code"`
	Object    jsontext.Value `json:"object"`
}

// choice is the one answer that was asked for, which a server need not number.
type choice struct {
	Index    number  `json:"index"`
	Delta    message `json:"delta"`   // of a chunk
	Message  message `json:"message"` // of a whole answer; chunks may have both, one of them empty
	Text     content `json:"text"`    // of /v1/completions
	Finish   label   `json:"finish_reason"`
	TokenIDs []int32 `json:"token_ids"`
}

type message struct {
	Role      label   `json:"role"`
	Content   content `json:"content"`
	Reasoning content `json:"reasoning"`
	Thought   content `json:"reasoning_content"` // the same by other servers, or both with one empty
	Refusal   content `json:"refusal"`           // of the model's provider, in place of a text
}

func (m *message) told() bool {
	return m.Role != "" || m.Content.told || m.Reasoning.told || m.Thought.told
}

type counts struct {
	Prompt     number  `json:"prompt_tokens"`
	Completion number  `json:"completion_tokens"`
	Details    details `json:"completion_tokens_details"`
	told       bool
}

type details struct {
	Reasoning number `json:"reasoning_tokens"`
	told      bool
}

func (c *counts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type fields counts
	*c = counts{Details: details{Reasoning: -1}}
	return object(d, (*fields)(c), &c.told)
}

func (s *details) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type fields details
	*s = details{Reasoning: -1}
	return object(d, (*fields)(s), &s.told)
}

// object reads an object, and sets told. Anything else leaves it unset: some
// write an empty list.
func object(d *jsontext.Decoder, into any, told *bool) error {
	if *told = d.PeekKind() == '{'; !*told {
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, into)
}

// label is a name: a string or a number. Anything else is no name, and no fault.
type label string

func (l *label) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	switch {
	case err != nil:
		return err
	case len(raw) > longestName:
		return fmt.Errorf("a name of %d bytes", len(raw))
	case raw.Kind() == '0':
		*l = label(raw)
	case raw.Kind() != '"' || len(raw) == 2 || string(raw[1:len(raw)-1]) == string(*l) && bytes.IndexByte(raw, '\\') < 0:
	default:
		name, _ := jsontext.AppendUnquote(nil, raw) // halves of characters are mended
		*l = label(name)
	}
	return nil
}

// number is a count or an index: a whole number in any notation, also as a string. -1 is
// null, -2 no such number; what has more than 32 bits is the largest that has not.
type number int

func (n *number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(string(bytes.Trim(raw, `"`)), 64)
	switch {
	case raw.Kind() == 'n':
		*n = -1
	case err != nil && !errors.Is(err, strconv.ErrRange) || f < 0 || f != math.Trunc(f):
		*n = -2
	default:
		*n = number(min(f, math.MaxInt32))
	}
	return nil
}

// content is text: a string, a part, or a list of these, which may hold the thinking as well.
type content struct {
	answer, thought text
	told            bool
}

func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	c.told = true // a null as well
	switch d.PeekKind() {
	case 'n':
		return d.SkipValue()
	case '[':
		var parts []content
		err := json.UnmarshalDecode(d, &parts)
		for _, p := range parts {
			c.answer, c.thought = c.answer.plus(p.answer), c.thought.plus(p.thought)
		}
		return err
	case '{':
		return c.part(d)
	}
	var t text
	err := t.UnmarshalJSONFrom(d)
	if t != (text{}) { // an empty text behind another takes nothing away
		c.answer = t
	}
	return err
}

// part reads a part. What one without a text is, its type has to say.
func (c *content) part(d *jsontext.Decoder) error {
	var p struct {
		Type      label   `json:"type"`
		Text      content `json:"text"`
		Content   content `json:"content"`
		Refusal   content `json:"refusal"`
		Thinking  content `json:"thinking"`
		Reasoning content `json:"reasoning"`
	}
	err := json.UnmarshalDecode(d, &p)
	said, thought := cmp.Or(p.Text.all(), p.Content.all(), p.Refusal.all()), p.Thinking.all().plus(p.Reasoning.all())
	if kind := strings.ToLower(string(p.Type)); strings.Contains(kind, "think") || strings.Contains(kind, "reason") {
		said, thought = text{}, thought.plus(said)
	}
	c.answer, c.thought = said, thought
	if err == nil && p.Type == "" && said == (text{}) && thought == (text{}) && !p.Text.told {
		err = errors.New("a part without a type or a text")
	}
	return err
}

// all is the text of a content, whatever it is part of.
func (c *content) all() text { return c.thought.plus(c.answer) }

// text is a string; raw is the same as JSON if it has halves of surrogate pairs.
type text struct{ s, raw string }

func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	if raw.Kind() != '"' {
		return fmt.Errorf("%s in place of a text", raw.Kind())
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		t.s = string(raw[1 : len(raw)-1])
		return nil
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if t.s = string(s); err != nil {
		t.raw = string(raw)
	}
	return nil
}

func (t text) quoted() string {
	if t.raw != "" {
		return t.raw
	}
	quoted, _ := jsontext.AppendQuote(nil, t.s) // its UTF-8 is valid
	return string(quoted)
}

func (t text) plus(u text) text {
	if t.raw == "" && u.raw == "" {
		return text{s: t.s + u.s}
	}
	first, second := t.quoted(), u.quoted()
	return text{s: t.s + u.s, raw: first[:len(first)-1] + second[1:]}
}

// joiner joins halves of surrogate pairs that came in two chunks.
type joiner struct {
	half   string // the first half that the last chunk has ended with
	mended int    // halves without another, each of which became U+FFFD
}

var endsInHalf = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})"$`)

// next is a text of which no half of a pair is left; last says that none follows.
func (j *joiner) next(t text, last bool) string {
	if j.half == "" && t.raw == "" {
		return t.s
	}
	raw := `"` + j.half + t.quoted()[1:]
	if j.half = ""; !last {
		if m := endsInHalf.FindStringSubmatch(raw); m != nil {
			j.half = m[1]
			raw = strings.TrimSuffix(raw, m[1]+`"`) + `"`
		}
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		j.mended += strings.Count(string(s), "\ufffd") - strings.Count(raw, "\ufffd") - strings.Count(strings.ToLower(raw), `\ufffd`)
	}
	return string(s)
}

// noNumber is what Python writes for numbers that JSON has not: of probabilities, say.
// It matches strings as well, which stay.
var noNumber = regexp.MustCompile(`"(?:\\.|[^"\\])*"|-?(?:NaN|Infinity)`)

// lenient takes duplicate names, and halves of surrogate pairs, which joiner mends.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// read reads one JSON text.
func (c *reply) read(data []byte) error {
	blank := reply{ID: c.ID, Model: c.Model, Fingerprint: c.Fingerprint, Choices: c.Choices[:0], PromptIDs: c.PromptIDs[:0]}
	*c = blank
	err := json.Unmarshal(data, c, lenient)
	if err != nil && (bytes.Contains(data, []byte("NaN")) || bytes.Contains(data, []byte("Infinity"))) {
		*c = blank
		err = json.Unmarshal(noNumber.ReplaceAllFunc(data, func(found []byte) []byte {
			if found[0] == '"' {
				return found
			}
			return []byte("null")
		}), c, lenient)
	}
	if err == nil && !utf8.Valid(data) {
		err = errors.New("invalid UTF-8")
	}
	if err != nil {
		return &Error{Kind: Garbage, Message: "starts " + starts(data), Err: err}
	}
	return nil
}

// failed reports whether a chunk is the failure of a server: {"error"}, {"errors"}, {"detail"},
// {"text","error_code"} or {"object":"error"}.
func (c *reply) failed() bool {
	says := func(v jsontext.Value) bool {
		switch string(v) {
		case "", "null", "false", "0", `""`, "{}", "[]":
			return false
		}
		return true
	}
	return says(c.Error) || len(c.Choices) == 0 && !c.Usage.told && (says(c.Errors) || says(c.Detail) || says(c.ErrorCode) || string(c.Object) == `"error"`)
}

// drawn is what a chunk has brought of the answer.
type drawn struct {
	said, thought text
	finish        string
	ids           []int32
	told, whole   bool // there is a text, perhaps an empty one; and it is that of a whole answer
}

// choose is the one choice of a chunk, of which a server may send parts side by side.
func (c *reply) choose() (one drawn, err error) {
	for i := range c.Choices {
		next := &c.Choices[i]
		d, m := &next.Delta, &next.Message
		said := cmp.Or(d.Content.answer, m.Content.answer, next.Text.answer, d.Refusal.all(), m.Refusal.all())
		switch {
		case next.Index != 0 && next.Index != -1:
			return one, garbage(fmt.Sprintf("choice %d, where one was asked for", next.Index))
		case one.said != (text{}) && said != (text{}):
			return one, garbage("choice 0 twice")
		}
		one.said = cmp.Or(said, one.said)
		one.thought = cmp.Or(d.thought(), m.thought(), next.Text.thought, one.thought)
		one.finish, one.ids = cmp.Or(string(next.Finish), one.finish), append(one.ids, next.TokenIDs...)
		one.told, one.whole = one.told || d.told() || m.told() || next.Text.told, one.whole || m.told()
	}
	if ending.Of(one.finish) == ending.Open {
		one.finish = "" // "null" of some servers, for one
	}
	return one, nil
}

// thought is the thinking, which may stand in the content as well.
func (m *message) thought() text {
	return cmp.Or(m.Reasoning.all(), m.Thought.all()).plus(m.Content.thought)
}

// check says what is wrong with a usage.
func (u Usage) check() error {
	switch {
	case u.Prompt < 1 || u.Completion < 0:
		return garbage(fmt.Sprintf("usage of %d prompt and %d completion tokens", u.Prompt, u.Completion))
	case u.Reasoning > u.Completion || u.Reasoning < -1:
		return garbage(fmt.Sprintf("usage of %d reasoning tokens in %d", u.Reasoning, u.Completion))
	}
	return nil
}

// fault says what is wrong with a completion that came to its end.
func (c *Completion) fault(plain bool) error {
	contradicts := c.Usage.Completion == 0 && (c.Text != "" || c.Reasoning != "" || len(c.TokenIDs) > 0)
	if plain && contradicts {
		c.Usage, contradicts = untold, false
	}
	if err := c.Ended(""); err != nil {
		return err
	}
	switch n := len(c.Text) + len(c.Reasoning); {
	case contradicts:
		return garbage("a text of 0 tokens by its usage")
	case !plain && n > textOf(c.Usage.Completion):
		return garbage(fmt.Sprintf("a text of %d bytes of %d tokens by its usage", n, c.Usage.Completion))
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
