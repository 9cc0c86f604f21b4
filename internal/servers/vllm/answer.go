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
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/servers/ending"
)

// reply is a chat completion, whole or one event of a stream. It is reused: names stay
// until another comes.
type reply struct {
	spoke, mused bool // deltas have brought text, and thinking, which a message at their end repeats (Perplexity, MiniMax)
	refused      bool // a text was a refusal, which OpenAI ends with "stop"

	ID          label          `json:"id"`
	Model       label          `json:"model"`
	Fingerprint label          `json:"system_fingerprint"`
	Choices     []choice       `json:"choices"`
	PromptIDs   []int32        `json:"prompt_token_ids"` // next to the choices, where the answer is to a chat
	Usage       object[counts] `json:"usage"`            // once read, wherever it stood
	Groq        object[struct {
		Usage object[counts] `json:"usage"`
		Error jsontext.Value `json:"error"`
	}] `json:"x_groq"`

	Error     jsontext.Value `json:"error"` // and other signs of a failure: see failure
	Errors    jsontext.Value `json:"errors"`
	Detail    jsontext.Value `json:"detail"`
	ErrorCode jsontext.Value `json:"error_code"`
	BaseResp  jsontext.Value `json:"base_resp"` // of MiniMax
	Object    jsontext.Value `json:"object"`
}

// choice is the one answer that was asked for, which a server need not number.
type choice struct {
	Index    number         `json:"index"`
	Delta    message        `json:"delta"`   // of a chunk
	Message  message        `json:"message"` // of a whole answer; chunks may have both, one of them empty
	Text     content        `json:"text"`    // of /v1/completions
	Finish   label          `json:"finish_reason"`
	TokenIDs []int32        `json:"token_ids"`
	Usage    object[counts] `json:"usage"` // in streams of Kimi
	Error    jsontext.Value `json:"error"` // in answers of OpenRouter
}

type message struct {
	Role      label   `json:"role"`
	Content   content `json:"content"`
	Reasoning content `json:"reasoning"`
	Thought   content `json:"reasoning_content"` // the same by other servers, or both with one empty
	Refusal   content `json:"refusal"`           // of the model's provider, in place of a text
}

// thought is the thinking, which may stand in the content as well.
func (m *message) thought() string {
	return cmp.Or(m.Reasoning.all(), m.Thought.all()) + m.Content.thought
}

func (m *message) isSet() bool {
	return m.Role != "" || m.Content.told || m.Reasoning.told || m.Thought.told
}

// counts are of tokens.
type counts struct {
	Prompt     number         `json:"prompt_tokens"`
	Completion number         `json:"completion_tokens"`
	Total      number         `json:"total_tokens"`
	Cost       jsontext.Value `json:"cost"`
	Details    object[struct {
		Reasoning number `json:"reasoning_tokens"`
	}] `json:"completion_tokens_details"`
}

// object is one that a server may leave out, or write an empty list for.
type object[T any] struct {
	is   T
	told bool
}

func (o *object[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if *o = (object[T]{told: d.PeekKind() == '{'}); !o.told {
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &o.is)
}

// label is a name: a string or a number. Anything else is no name, and no fault.
type label string

func (l *label) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	name := bytes.Trim(raw, `"`)
	switch {
	case err != nil:
		return err
	case len(raw) > longestName:
		return fmt.Errorf("a name of %d bytes", len(raw))
	case bytes.IndexByte(raw, '\\') >= 0:
		name, _ = jsontext.AppendUnquote(nil, raw) // halves of characters are mended
	}
	if kind := raw.Kind(); (kind == '"' || kind == '0') && len(name) > 0 && string(name) != string(*l) {
		*l = label(name)
	}
	return nil
}

// number is one more than a count or an index: a whole number in any notation, also as a
// string, of at most 32 bits. 0 is of none, -1 of what is no such number.
type number int

// value is -1 of none, -2 of what is no such number.
func (n number) value() int { return int(n) - 1 }

func (n *number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if *n = 0; err != nil || raw.Kind() == 'n' {
		return err
	}
	f, err := strconv.ParseFloat(string(bytes.Trim(raw, `"`)), 64)
	if *n = -1; (err == nil || errors.Is(err, strconv.ErrRange)) && f >= 0 && f == math.Trunc(f) {
		*n = number(min(f, math.MaxInt32)) + 1
	}
	return nil
}

// content is text: a string, a part, or a list of these, which may hold the thinking as well.
type content struct {
	answer, thought string
	told            bool // if as null
}

// all is the text of a content, whatever it is part of.
func (c *content) all() string { return c.thought + c.answer }

func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	c.told = true
	switch d.PeekKind() {
	case 'n':
		return d.SkipValue()
	case '[':
		var parts []content
		err := json.UnmarshalDecode(d, &parts)
		for _, p := range parts {
			c.answer, c.thought = c.answer+p.answer, c.thought+p.thought
		}
		return err
	case '{':
		return c.part(d)
	}
	raw, err := d.ReadValue()
	if err == nil && raw.Kind() != '"' {
		err = fmt.Errorf("%s in place of a text", raw.Kind())
	}
	if err == nil && len(raw) > 2 { // an empty text behind another takes nothing away
		c.answer = unquote(raw)
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
		Summary   content `json:"summary"` // of thinking, by Databricks
	}
	err := json.UnmarshalDecode(d, &p)
	c.answer, c.thought = cmp.Or(p.Text.all(), p.Content.all(), p.Refusal.all()), p.Thinking.all()+p.Reasoning.all()+p.Summary.all()
	if kind := strings.ToLower(string(p.Type)); strings.Contains(kind, "think") || strings.Contains(kind, "reason") {
		c.answer, c.thought = "", c.thought+c.answer
	}
	if err == nil && p.Type == "" && c.all() == "" && !p.Text.told {
		err = errors.New("a part without a type or a text")
	}
	return err
}

// escape is one of JSON; of a whole pair of surrogates it is both.
var escape = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)`)

// unquote is the text of a string of JSON. Of half a pair of surrogates it has the three bytes
// that UTF-8 would have if there were such characters; joiner makes whole ones of them.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		s = escape.ReplaceAllFunc(raw[1:len(raw)-1], func(one []byte) []byte {
			char, err := jsontext.AppendUnquote(nil, []byte(`"`+string(one)+`"`))
			if err != nil { // which is the one fault that a string that was read can have
				half, _ := strconv.ParseUint(string(one[2:]), 16, 16)
				char = []byte{0xed, 0x80 | byte(half>>6)&0x3f, 0x80 | byte(half)&0x3f}
			}
			return char
		})
	}
	return string(s)
}

// joiner joins halves of surrogate pairs that came in two chunks. It is the first half that the
// last chunk has ended with.
type joiner string

// next returns a text without the half of a pair at its end; last says that none follows. Halves
// without another become U+FFFD.
func (j *joiner) next(s string, last bool) string {
	if s == "" && !last || *j == "" && utf8.ValidString(s) {
		return s
	}
	var whole []byte
	for s, *j = string(*j)+s, ""; s != ""; {
		char, n := utf8.DecodeRuneInString(s)
		if first := surrogate(s); first != 0 {
			n = 3
			if pair := utf16.DecodeRune(first, surrogate(s[3:])); pair != utf8.RuneError {
				char, n = pair, 6
			} else if !last && len(s) == 3 && first < 0xdc00 {
				*j = joiner(s)
				break
			}
		}
		whole, s = utf8.AppendRune(whole, char), s[n:]
	}
	return string(whole)
}

// surrogate is the half of a pair that a text begins with; 0 for none.
func surrogate(s string) rune {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 {
		return 0
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
}

// noNumber matches the numbers that Python writes and JSON has not, as of probabilities. It
// matches strings as well, which stay.
var noNumber = regexp.MustCompile(`"(?:\\.|[^"\\])*"|-?(?:NaN|Infinity)`)

// lenient takes duplicate names, and halves of surrogate pairs, which joiner mends.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// read reads one JSON text.
func (c *reply) read(data []byte) error {
	*c = reply{spoke: c.spoke, mused: c.mused, ID: c.ID, Model: c.Model, Fingerprint: c.Fingerprint, Choices: c.Choices[:0], PromptIDs: c.PromptIDs[:0]}
	err := json.Unmarshal(data, c, lenient)
	if err == nil && utf8.Valid(data) {
		for i := 0; i < len(c.Choices) && !c.Usage.told; i++ {
			c.Usage = c.Choices[i].Usage
		}
		if !c.Usage.told {
			c.Usage = c.Groq.is.Usage
		}
		return nil
	}
	numbers := noNumber.ReplaceAllFunc(data, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
	if err != nil && !bytes.Equal(numbers, data) {
		return c.read(numbers)
	}
	return &Error{Kind: Garbage, Message: "starts " + starts(data), Err: cmp.Or(err, errors.New("invalid UTF-8"))}
}

var nothing = regexp.MustCompile(`^(null|false|0|""|{}|\[\])?$`)

// failure is the part of a chunk that tells of the failure of a server, nil if it tells of none:
// all of {"error"}, {"errors"}, {"detail"}, {"text","error_code"} and {"object":"error"}, or the
// error of a choice or of x_groq.
func (c *reply) failure(data []byte) []byte {
	bare := len(c.Choices) == 0 && !c.Usage.told
	if !nothing.Match(c.Error) || bare && (!nothing.Match(c.Errors) || !nothing.Match(c.Detail) || !nothing.Match(c.ErrorCode) || !nothing.Match(c.BaseResp) || string(c.Object) == `"error"`) {
		return data
	}
	for _, choice := range c.Choices {
		if !nothing.Match(choice.Error) {
			return choice.Error
		}
	}
	if !nothing.Match(c.Groq.is.Error) {
		return c.Groq.is.Error
	}
	return nil
}

// piece returns the part of the answer in a chunk, perhaps from several fields. told reports
// whether it has a text, even an empty one, and whole whether that is the text of a whole
// answer.
func (c *reply) piece() (p Piece, told, whole bool, err error) {
	for i := range c.Choices {
		next := &c.Choices[i]
		d, m := &next.Delta, &next.Message
		said, thought := cmp.Or(d.Content.answer, next.Text.answer, d.Refusal.all()), cmp.Or(d.thought(), next.Text.thought)
		if c.spoke = c.spoke || said != ""; !c.spoke {
			said = cmp.Or(m.Content.answer, m.Refusal.all())
		}
		c.refused = c.refused || d.Refusal.all() != "" || m.Refusal.all() != ""
		if c.mused = c.mused || thought != ""; !c.mused {
			thought = m.thought()
		}
		if next.Index.value() > 0 || next.Index < 0 || p.Text != "" && said != "" {
			return p, told, whole, garbage("a second choice, of index %d, where one was asked for", next.Index.value())
		}
		p.Text, p.Reasoning = cmp.Or(said, p.Text), cmp.Or(thought, p.Reasoning)
		p.Finish, p.IDs = cmp.Or(string(next.Finish), p.Finish), append(p.IDs, next.TokenIDs...)
		told, whole = told || d.isSet() || m.isSet() || next.Text.told, whole || m.isSet()
	}
	switch end := ending.Of(p.Finish); {
	case end == ending.Open:
		p.Finish = "" // "null" of some servers, for one
	case end == ending.Finished && c.refused:
		p.Finish = "refusal"
	}
	u := &c.Usage.is
	p.Usage = Usage{Prompt: u.Prompt.value(), Completion: u.Completion.value(), Reasoning: u.Details.is.Reasoning.value()}
	if cost, err := strconv.ParseFloat(string(u.Cost), 64); err == nil && cost > 0 && cost < 1e9 {
		p.Usage.Cost = cost
	}
	return p, told, whole, nil
}

// check says what is wrong with a usage.
func (u Usage) check() error {
	if u.Prompt < 1 || u.Completion < 0 || u.Reasoning < -1 || u.Reasoning > u.Completion {
		return garbage("usage of %d prompt and %d completion tokens, %d of these of reasoning", u.Prompt, u.Completion, u.Reasoning)
	}
	return nil
}

// Ended is an *Error of the server at a URL unless the completion came to an end by which
// it is a rollout: see ending.Of.
func (c *Completion) Ended(url string) error {
	e := &Error{Kind: UnknownEnd, URL: url}
	switch end := ending.Of(c.Finish); {
	case end.Answers():
		return nil
	case end == ending.Open:
		e.Kind, e.Message = Garbage, "no finish_reason, so that nothing says that the answer is whole: serve the model by a server that names one"
	case end == ending.Failed:
		e.Kind, e.Message = Cut, fmt.Sprintf("the server ended the request itself (finish_reason %q)", c.Finish)
	default:
		e.Message = fmt.Sprintf("finish_reason %q is in no table of end reasons, so the answer may be whole or cut: find out from the server's documentation, "+
			"and have the server or a gateway before it say stop or length instead; or ask for the word to be added to speceval", c.Finish)
	}
	return e
}
