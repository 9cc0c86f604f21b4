package imitation

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"speceval/internal/fleet"
)

// health also serves /ping and the resets of caches: an empty 200 while the
// engine is not dead, though it may hang.
func (c *call) health() {
	if c.engine.end.Err() != nil {
		c.head(http.StatusServiceUnavailable, "", 0)
		return
	}
	c.head(http.StatusOK, "", 0)
}

func (c *call) version() {
	version := Version
	if c.Plain {
		version = "simulated"
	}
	c.answer(http.StatusOK, []byte(`{"version":"`+version+`"}`))
}

// load is 0 on a server that was not started to track it.
func (c *call) load() {
	c.answer(http.StatusOK, []byte(`{"server_load":0}`))
}

func (c *call) metrics() {
	page := c.engine.meter.page(c.Settings)
	c.head(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", len(page))
	_, _ = c.w.Write(page)
}

func (c *call) models() {
	now := c.Clock.Now().Unix()
	b := appendString([]byte(`{"object":"list","data":[{"id":`), c.Model)
	owner := "vllm"
	if c.Plain {
		owner = "imitation"
	}
	b = fmt.Appendf(b, `,"object":"model","created":%d,"owned_by":"%s","root":`, now, owner)
	b = appendString(b, c.Root)
	b = fmt.Appendf(b, `,"parent":null,"max_model_len":%d,"permission":[{"id":"modelperm-%s","object":"model_permission","created":%d,`, c.MaxModelLen, c.newID(), now)
	b = append(b, `"allow_create_engine":false,"allow_sampling":true,"allow_logprobs":true,"allow_search_indices":false,"allow_view":true,`+
		`"allow_fine_tuning":false,"organization":"*","group":null,"is_blocking":false}]}]}`...)
	c.answer(http.StatusOK, b)
}

// newID is 16 hexadecimal digits.
func (r *Replica) newID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%016x", r.ids.Uint64())
}

// tokenize gives the tokens of a text, or of a chat's prompt.
func (c *call) tokenize() {
	rd, p := newReader(c.body)
	if p != nil {
		c.refuse(p)
		return
	}
	model, text := rd.text("model"), ""
	if _, chat := rd.fields["messages"]; chat {
		var turns []message
		turns, p = messages(rd)
		on, _ := thinking(rd)
		text = c.template(turns, rd.boolean("add_generation_prompt", false, true), on)
	} else if raw := rd.fields["prompt"]; len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		rd.fault("prompt", "a text, and there are no messages")
	}
	strs := rd.boolean("return_token_strs", true, false)
	switch {
	case p != nil:
	case len(rd.faults) > 0:
		p = malformed("", rd.faults...)
	case model != "" && model != c.Model:
		p = unknownModel(model)
	}
	if p != nil {
		c.refuse(p)
		return
	}
	tokens := fleet.Tokenize(text)
	b := fmt.Appendf(nil, `{"count":%d,"max_model_len":%d,"tokens":`, len(tokens), c.MaxModelLen)
	b = append(appendIDs(b, tokens), `,"token_strs":`...)
	if strs {
		b = appendNames(b, tokens)
	} else {
		b = append(b, "null"...)
	}
	c.answer(http.StatusOK, append(b, '}'))
}

func (c *call) detokenize() {
	rd, p := newReader(c.body)
	if p != nil {
		c.refuse(p)
		return
	}
	model := rd.text("model")
	if _, there := rd.fields["tokens"]; !there {
		rd.faults = append(rd.faults, "tokens is missing")
	}
	var tokens []int32
	for _, id := range decoded[[]int64](rd, "tokens", "a list of integers") {
		if id < 0 {
			rd.fault("a token", "positive")
		}
		tokens = append(tokens, int32(min(id, math.MaxInt32))) // as unknown as any
	}
	switch {
	case len(rd.faults) > 0:
		p = malformed("", rd.faults...)
	case model != "" && model != c.Model:
		p = unknownModel(model)
	default:
		b := appendString([]byte(`{"prompt":`), fleet.Detokenize(tokens))
		c.answer(http.StatusOK, append(b, '}'))
		return
	}
	c.refuse(p)
}

// appendIDs appends a list of token ids.
func appendIDs(b []byte, ids []int32) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

// appendNames appends the names of tokens in a byte-level vocabulary, where
// bytes that are no printable characters have the names from U+0100 on.
func appendNames(b []byte, ids []int32) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		name := fleet.TokenText(id)
		if id < fleet.EndOfText {
			name = string(byteName(byte(id)))
		}
		b = appendString(b, name)
	}
	return append(b, ']')
}

// byteName is the character that stands for a byte in GPT-2's vocabulary, and
// in all that follow it.
func byteName(c byte) rune {
	plain := func(c int) bool { return c >= 0x21 && c <= 0x7e || c >= 0xa1 && c <= 0xac || c >= 0xae && c <= 0xff }
	if plain(int(c)) {
		return rune(c)
	}
	n := 0
	for i := range int(c) {
		if !plain(i) {
			n++
		}
	}
	return rune(256 + n)
}
