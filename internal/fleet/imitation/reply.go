package imitation

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"

	"speceval/internal/fleet"
	"speceval/internal/policy/seed"
)

// generate answers a chat or a completion.
func (c *call) generate(read func(*Settings, []byte) (*request, *problem)) {
	q, p := read(&c.Settings, c.body)
	number, fault := c.arrival()
	entry := Entry{
		Seconds: wall.Now().Sub(c.born).Seconds(), Replica: c.Index, ID: c.r.Header.Get("X-Request-Id"),
		Fault: string(fault.kind), Outcome: "refused",
	}
	defer func() { c.note(entry) }()
	if q != nil {
		entry.Seed = q.Seed
	}
	switch {
	case p != nil && p.late && q.Stream:
		c.head(http.StatusOK, eventStream)
		_, _ = c.w.Write(lastEvents(p))
		return
	case p != nil:
		c.refuse(p)
		return
	}
	unseeded := seed.Root(c.Seed).Child("unseeded").Index(c.Index).Index(number).Stream()
	j := &job{mishap: fault, stream: q.Stream, sequence: fleet.Sequence{Prompt: len(q.tokens)}}
	j.answer = c.Author.Answer(q.question(&c.Settings, int64(unseeded.Uint64())))
	j.sequence.Tokens, j.at = j.answer.Tokens(), fault.after(j.answer.Tokens())
	if fault.kind == broken || fault.kind == cut {
		j.sequence.Tokens = j.at
	}
	if !c.engine.submit(j) {
		c.refuse(engineDead())
		return
	}
	reply := &reply{
		call: c, j: j, form: newForm(c.Model, cmp.Or(entry.ID, fmt.Sprintf("%04x%012x", c.Index, number)), q),
		reasoning: q.chat && c.ReasoningParser != "" && !q.ended(), pending: q.half(),
	}
	if q.Stream {
		entry.Outcome = reply.stream()
	} else {
		entry.Outcome = reply.whole()
	}
	entry.Tokens = c.engine.leave(j)
}

const eventStream = "text/event-stream; charset=utf-8"

// lastEvents is how a stream ends that fails.
func lastEvents(p *problem) []byte { return fmt.Appendf(nil, "data: %s\n\n%s", p.body(), ending) }

const ending = "data: [DONE]\n\n"

// spoilt replaces JSON in the fault "garbage".
const spoilt = "<html><body>upstream sent too big header</body></html>"

// reply writes the answer to one request, whole or as a stream.
type reply struct {
	*call
	form
	j         *job
	reasoning bool   // what comes next is thinking, and the server takes it apart
	pending   string // bytes of a character that has begun
}

// wait waits for news of the job; it is false once the client is gone.
func (p *reply) wait() (progress, bool) {
	select {
	case now := <-p.j.notice:
		return now, true
	case <-p.r.Context().Done():
		return progress{}, false
	}
}

// outcome is how a job has ended, and the error that the client gets.
func (p *reply) outcome(state int) (string, *problem) {
	switch kind := p.j.mishap.kind; {
	case state == lost:
		return "dead", engineDead()
	case kind == broken:
		return string(kind), internal("Internal server error")
	case kind == cut || kind == garbage:
		return string(kind), nil
	}
	return p.j.answer.Finish, nil
}

// whole waits for the end and sends one body. It is the request's outcome.
func (p *reply) whole() string {
	end, ok := p.wait()
	if !ok {
		return "aborted"
	}
	outcome, problem := p.outcome(end.state)
	switch {
	case problem != nil:
		p.refuse(problem)
	case outcome == string(garbage):
		p.answer(http.StatusOK, []byte(spoilt))
	case outcome == string(cut):
		body := p.body()
		p.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		p.head(http.StatusOK, "application/json")
		_, _ = p.w.Write(body[:len(body)/2])
		p.flush()
		disconnect(p.w)
	default:
		p.answer(http.StatusOK, p.body())
	}
	return outcome
}

// body is the whole response.
func (p *reply) body() []byte {
	a := p.j.answer
	content, reasoning := optional(true, readable(a.Raw())), "null"
	switch {
	case p.reasoning && a.Closed:
		text := readable(a.Text)
		content, reasoning = optional(text != "", text), quote(fleet.Valid(a.Thinking))
	case p.reasoning: // cut off before the end of the thinking
		content, reasoning = "null", content
	}
	return p.wholeChat(content, reasoning, a)
}

// readable is a finished text as a server shows it: bytes that are no UTF-8 are replaced,
// and a character that is cut off is left out.
func readable(text string) string { return fleet.Valid(text[:fleet.Complete(text)]) }

// stream sends the answer as it comes. It is the request's outcome. What came
// while the last chunk was being written goes into one chunk.
func (p *reply) stream() string {
	p.head(http.StatusOK, eventStream)
	p.flush()
	for sent := 0; ; {
		now, ok := p.wait()
		if !ok {
			return "aborted"
		}
		var events []byte
		if now.tokens > sent {
			if sent == 0 && p.q.chat {
				events = p.event(events, p.first())
			}
			events = p.progress(events, sent, now)
			sent = now.tokens
		}
		outcome := ""
		if now.state != working {
			outcome, events = p.finish(events, now)
		}
		if _, err := p.w.Write(events); err != nil {
			return "aborted"
		}
		p.flush()
		if outcome == string(cut) {
			disconnect(p.w)
		}
		if outcome != "" {
			return outcome
		}
	}
}

// finish adds the end of a stream.
func (p *reply) finish(events []byte, end progress) (string, []byte) {
	outcome, problem := p.outcome(end.state)
	switch {
	case problem != nil:
		return outcome, append(events, lastEvents(problem)...)
	case outcome == string(cut):
		return outcome, events
	case p.q.Options.Usage:
		events = p.event(events, p.total(end.tokens))
	}
	return outcome, append(events, ending...)
}

// event appends one event, spoilt if the request's fault is garbage.
func (p *reply) event(b []byte, data string) []byte {
	if p.j.mishap.kind == garbage {
		data = spoilt
	}
	return append(append(append(b, "data: "...), data...), "\n\n"...)
}

// progress appends the chunk of the tokens from one on, unless it would be empty.
func (p *reply) progress(events []byte, from int, now progress) []byte {
	part := p.j.answer.Part(from, now.tokens)
	outcome, _ := p.outcome(now.state)
	last := now.state == done && outcome == p.j.answer.Finish
	if last {
		part.Finish = outcome
	}
	if !p.q.chat {
		return p.event(events, p.completionChunk(p.decode(part.Raw()), part, from, now.tokens))
	}
	delta := p.delta(part)
	if delta == "{}" && !last && !p.q.TokenIDs {
		return events
	}
	return p.event(events, p.chatChunk(delta, part, now.tokens))
}

// decode is the text that more bytes complete, in whole characters.
func (p *reply) decode(bytes string) string {
	bytes = p.pending + bytes
	n := fleet.Complete(bytes)
	p.pending = bytes[n:]
	return fleet.Valid(bytes[:n])
}

// delta is the change of a chat's message by a part of the answer, empty where
// vLLM's parser has nothing to say.
func (p *reply) delta(part fleet.Answer) string {
	if !p.reasoning {
		return `{"content":` + quote(p.decode(part.Raw())) + `}`
	}
	if !part.Closed {
		if text := p.decode(part.Raw()); text != "" {
			return `{"reasoning":` + quote(text) + `}`
		}
		return "{}"
	}
	p.reasoning = false
	thinking := p.decode(part.Thinking) + fleet.Valid(p.pending)
	p.pending = ""
	content := p.decode(part.Text)
	if thinking == "" && content == "" {
		return `{"content":""}`
	}
	return `{"content":` + optional(content != "", content) + `,"reasoning":` + optional(thinking != "", thinking) + `}`
}
