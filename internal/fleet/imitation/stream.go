package imitation

import (
	"net/http"
	"slices"

	"speceval/internal/fleet"
)

// stream sends the answer as it comes. It is the request's outcome. What came
// while the last chunk was being written goes into one chunk.
func (p *reply) stream() string {
	p.head(http.StatusOK, eventStream, -1)
	p.flush()
	sent, buffer := 0, make([]byte, 0, 512)
	for {
		select {
		case <-p.j.notice:
		case <-p.r.Context().Done():
			p.engine.abort(p.j)
			return "aborted"
		}
		to, state := p.j.read()
		buffer = buffer[:0]
		if to > sent {
			if sent == 0 && p.q.chat {
				buffer = p.event(buffer, p.first)
			}
			buffer = p.progress(buffer, sent, to, state)
			sent = to
		}
		if state != working {
			return p.finish(buffer, state)
		}
		if _, err := p.w.Write(buffer); err != nil {
			p.engine.abort(p.j)
			return "aborted"
		}
		p.flush()
	}
}

// finish sends what ends a stream.
func (p *reply) finish(buffer []byte, state int64) string {
	outcome := p.j.answer.Finish
	kind := p.j.mishap.kind
	switch {
	case state == lost:
		outcome = "dead"
		buffer = append(buffer, lastEvents(engineDead())...)
	case kind == broken:
		outcome = string(kind)
		buffer = append(buffer, lastEvents(internal("Internal server error"))...)
	case kind == cut:
		_, _ = p.w.Write(buffer)
		p.flush()
		disconnect(p.w)
		return string(kind)
	default:
		if kind == garbage {
			outcome = string(kind)
		}
		if p.q.usage {
			buffer = p.event(buffer, p.total)
		}
		buffer = append(buffer, "data: [DONE]\n\n"...)
	}
	_, _ = p.w.Write(buffer)
	p.flush()
	return outcome
}

// event appends one event, spoilt if the request's fault is garbage.
func (p *reply) event(b []byte, write func([]byte) []byte) []byte {
	b = append(b, "data: "...)
	start := len(b)
	b = write(b)
	if p.j.mishap.kind == garbage {
		b = append(b[:start], garble(append([]byte(nil), b[start:]...), p.j.mishap.variant)...)
	}
	return append(b, "\n\n"...)
}

// chunk begins a chunk of a chat or completion.
func (p *reply) chunk(b []byte) []byte {
	b = appendString(append(b, `{"id":`...), p.id)
	if p.q.chat {
		return p.opening(b, "chat.completion.chunk")
	}
	return p.opening(b, "text_completion")
}

// first is the chunk that comes before any text.
func (p *reply) first(b []byte) []byte {
	b = append(p.chunk(b), `"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	if p.q.continuous {
		b = p.usage(append(b, ','), 0)
	}
	b = append(p.promptIDs(append(b, `,"prompt_token_ids":`...)), `,"prompt_text":`...)
	return append(p.promptText(b), '}')
}

// progress appends the chunk of tokens from to to, unless it would be empty.
func (p *reply) progress(b []byte, from, to int, state int64) []byte {
	last := state == done && p.j.mishap.kind != broken && p.j.mishap.kind != cut
	piece := p.j.answer.Piece(from, to)
	if !p.q.chat {
		text := p.decoder.add(raw(piece))
		return p.event(b, func(b []byte) []byte {
			b = appendString(append(p.chunk(b), `"text":`...), text)
			b = p.reason(append(b, `,"logprobs":null,`...), last, true)
			b = append(b, `,"prompt_token_ids":`...)
			if from == 0 {
				b = p.promptIDs(b)
			} else {
				b = append(b, "null"...)
			}
			return p.tail(b, from, to, last)
		})
	}
	delta := p.delta(piece)
	if delta == nil {
		if !last && !p.q.ids {
			return b
		}
		delta = []byte("{}")
	}
	return p.event(b, func(b []byte) []byte {
		b = append(append(p.chunk(b), `"delta":`...), delta...)
		b = p.reason(append(b, `,"logprobs":null,`...), last, last)
		return p.tail(b, from, to, last)
	})
}

// reason appends why the stream ends, if it does, and where wanted the stop
// string.
func (p *reply) reason(b []byte, last, cause bool) []byte {
	if !last {
		b = append(b, `"finish_reason":null`...)
		if cause {
			b = append(b, `,"stop_reason":null`...)
		}
		return b
	}
	return p.cause(append(b, `"finish_reason":"`+p.j.answer.Finish+`","stop_reason":`...))
}

// tail ends a chunk of text.
func (p *reply) tail(b []byte, from, to int, last bool) []byte {
	b = append(p.ids(append(b, `,"token_ids":`...), from, to), "}]"...)
	if p.q.continuous {
		b = p.usage(append(b, ','), to)
	}
	if last && !p.q.usage {
		b = append(append(append(b, `,"system_fingerprint":"`...), p.fingerprint...), '"')
	}
	return append(b, '}')
}

// total is the chunk without choices that tells the usage of all.
func (p *reply) total(b []byte) []byte {
	b = p.chunk(b)
	b = append(b[:len(b)-len(`{"index":0,`)], `],`...)
	tokens, _ := p.j.read()
	b = p.usage(b, tokens)
	return append(append(append(b, `,"system_fingerprint":"`...), p.fingerprint...), `"}`...)
}

// delta is the change of a chat's message by a piece of the answer, nil where
// vLLM's parser has nothing to say.
func (p *reply) delta(piece fleet.Piece) []byte {
	if !p.reasoning {
		return append(appendString([]byte(`{"content":`), p.decoder.add(raw(piece))), '}')
	}
	if !piece.Closes {
		text := p.decoder.add(piece.Thinking + piece.Text)
		if text == "" {
			return nil
		}
		return append(appendString([]byte(`{"reasoning":`), text), '}')
	}
	p.reasoning = false
	thinking := p.decoder.add(piece.Thinking) + p.decoder.flush()
	content := p.decoder.add(piece.Text)
	if thinking == "" && content == "" {
		return []byte(`{"content":""}`)
	}
	b := appendOptional([]byte(`{"content":`), content, content != "")
	b = appendOptional(append(b, `,"reasoning":`...), thinking, thinking != "")
	return append(b, '}')
}

// raw is a piece's text without a parser.
func raw(piece fleet.Piece) string {
	if !piece.Closes {
		return piece.Thinking + piece.Text
	}
	return piece.Thinking + "</think>" + piece.Text
}

// What the chat template puts before an answer, as tokens.
var (
	turn     = append([]int32{fleet.TurnStart}, fleet.Tokenize("assistant\n")...)
	opened   = fleet.Tokenize("<think>\n")
	unopened = fleet.Tokenize("<think>\n\n</think>\n\n")
)

// read are the tokens of the prompt.
func (q *request) read() []int32 {
	if q.tokens != nil {
		return q.tokens
	}
	return fleet.Tokenize(q.prompt)
}

// split is the prompt of a chat and the tokens of an answer that has begun. All is
// prompt unless that of a completion ends within an answer to a chat.
func (q *request) split(s *Settings) (prompt string, answer []int32) {
	if q.chat {
		return q.prompt, nil
	}
	tokens := q.read()
	at := len(tokens) - len(turn)
	for at >= 0 && !slices.Equal(tokens[at:at+len(turn)], turn) {
		at--
	}
	if at < 0 || slices.Contains(tokens[at+1:], fleet.TurnEnd) {
		return q.prompt, nil
	}
	at += len(turn)
	if s.Thinking {
		for _, head := range [][]int32{unopened, opened} {
			if len(tokens) >= at+len(head) && slices.Equal(tokens[at:at+len(head)], head) {
				at += len(head)
				break
			}
		}
	}
	return fleet.Detokenize(tokens[:at]), tokens[at:]
}

// half is the text of a prompt that ends within a character; "" of any other.
// vLLM's decoder has not told it when the answer begins, and tells all of it with
// the first character that becomes whole.
func (q *request) half() string {
	if text := fleet.Shown(q.read()); fleet.Complete(text) < len(text) {
		return text
	}
	return ""
}
