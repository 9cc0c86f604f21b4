package imitation

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"speceval/internal/fleet"
	"speceval/internal/seed"
)

// reply writes the answer to one request, whole or as a stream.
type reply struct {
	*call
	q   *request
	j   *job
	id  string
	now int64 // "created"

	parsed    bool // thinking is separated from the content
	reasoning bool // of what comes next in the stream: it is thinking
	decoder   decoder
}

func newReply(c *call, q *request, j *job, id string) *reply {
	if id == "" {
		id = c.newID()
	}
	p := &reply{call: c, q: q, j: j, id: "cmpl-" + id, now: c.Clock.Now().Unix()}
	if q.chat {
		p.id = "chatcmpl-" + id
		p.parsed = c.ReasoningParser != ""
		p.reasoning = p.parsed && !ended(q.prompt)
	} else {
		p.decoder.pending = q.half()
	}
	return p
}

// whole waits for the end and sends one body. It is the request's outcome.
func (p *reply) whole() string {
	select { // the only notice is that of the end
	case <-p.j.notice:
	case <-p.r.Context().Done():
		p.engine.abort(p.j)
		return "aborted"
	}
	if _, state := p.j.read(); state == lost {
		p.refuse(engineDead())
		return "dead"
	}
	switch kind := p.j.mishap.kind; kind {
	case broken:
		p.refuse(internal("Internal server error"))
		return string(kind)
	case cut:
		body := p.body()
		p.head(http.StatusOK, "application/json", len(body))
		_, _ = p.w.Write(body[:len(body)/2])
		p.flush()
		disconnect(p.w)
		return string(kind)
	case garbage:
		p.answer(http.StatusOK, garble(p.body(), p.j.mishap.variant))
		return string(kind)
	}
	p.answer(http.StatusOK, p.body())
	return p.j.answer.Finish
}

// body is the whole response.
func (p *reply) body() []byte {
	a := &p.j.answer
	b := make([]byte, 0, 900+len(a.Thinking)+len(a.Text))
	b = appendString(append(b, `{"id":`...), p.id)
	if !p.q.chat {
		b = p.opening(b, "text_completion")
		b = append(b, `"text":`...)
		b = appendString(b, readable(p.decoder.pending+a.Raw()))
	} else {
		b = p.opening(b, "chat.completion")
		b = p.message(b)
	}
	b = append(b, `,"logprobs":null,"finish_reason":"`+a.Finish+`","stop_reason":`...)
	b = append(p.cause(b), `,"token_ids":`...)
	b = p.ids(b, 0, a.Tokens())
	if p.q.chat {
		b = append(b, `,"routed_experts":null}],"service_tier":null,"system_fingerprint":"`...)
	} else {
		b = append(b, `,"prompt_logprobs":null,"prompt_token_ids":`...)
		b = append(p.promptIDs(b), `,"routed_experts":null}],"service_tier":null,"system_fingerprint":"`...)
	}
	b = append(append(b, p.fingerprint...), `",`...)
	b = p.usage(b, a.Tokens())
	b = append(b[:len(b)-1], `,"prompt_tokens_details":null}`...)
	if p.q.chat {
		b = append(b, `,"prompt_logprobs":null,"prompt_token_ids":`...)
		b = append(p.promptIDs(b), `,"prompt_text":`...)
		b = p.promptText(b)
	}
	return append(b, `,"kv_transfer_params":null}`...)
}

// opening is what follows an id: what the object is, and the first choice up
// to its index.
func (p *reply) opening(b []byte, object string) []byte {
	b = append(b, `,"object":"`+object+`","created":`...)
	b = strconv.AppendInt(b, p.now, 10)
	b = appendString(append(b, `,"model":`...), p.Model)
	return append(b, `,"choices":[{"index":0,`...)
}

// message is the message of a whole chat, its thinking apart where the server
// has a parser for it.
func (p *reply) message(b []byte) []byte {
	a := &p.j.answer
	reasoning, content, thought, said := "", readable(a.Raw()), false, true
	switch {
	case p.parsed && a.Closed:
		reasoning, content, thought = fleet.Valid(a.Thinking), readable(a.Text), true
		said = content != ""
	case p.parsed && !p.q.closed && p.reasoning: // cut off before the end of the thinking
		reasoning, thought, said = content, true, false
	}
	b = append(b, `"message":{"role":"assistant","content":`...)
	b = appendOptional(b, content, said)
	b = append(b, `,"refusal":null,"annotations":null,"audio":null,"function_call":null,"tool_calls":[],"reasoning":`...)
	return append(appendOptional(b, reasoning, thought && p.q.reasoning), '}')
}

// cause appends what an answer stopped at.
func (p *reply) cause(b []byte) []byte {
	switch cause := p.j.answer.Cause.(type) {
	case string:
		return appendString(b, cause)
	case int32:
		return strconv.AppendInt(b, int64(cause), 10)
	}
	return append(b, "null"...)
}

// ids appends the ids of the answer's tokens, or null if they were not asked for.
func (p *reply) ids(b []byte, from, to int) []byte {
	if !p.q.ids {
		return append(b, "null"...)
	}
	return appendIDs(b, p.j.answer.IDs(from, to))
}

func (p *reply) promptIDs(b []byte) []byte {
	if !p.q.ids {
		return append(b, "null"...)
	}
	return appendIDs(b, p.q.read())
}

func (p *reply) promptText(b []byte) []byte {
	return appendOptional(b, p.q.prompt, p.q.showPrompt)
}

// usage appends the counts after so many tokens.
func (p *reply) usage(b []byte, tokens int) []byte {
	prompt := p.j.sequence.Prompt
	return fmt.Appendf(b, `"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d}`, prompt, prompt+tokens, tokens)
}

// appendOptional appends a string, or null if there is none.
func appendOptional(b []byte, text string, there bool) []byte {
	if !there {
		return append(b, "null"...)
	}
	return appendString(b, text)
}

// readable is what a server shows of a text that is over: bytes that are no
// UTF-8 are replaced, and a character that is cut off is left out.
func readable(text string) string { return fleet.Valid(text[:fleet.Complete(text)]) }

// decoder turns the bytes of tokens into text, whole characters at a time.
type decoder struct{ pending string }

// add is the text that more bytes complete.
func (d *decoder) add(bytes string) string {
	if d.pending != "" {
		bytes = d.pending + bytes
	}
	n := fleet.Complete(bytes)
	d.pending = bytes[n:]
	return fleet.Valid(bytes[:n])
}

// flush is what is left, which no further byte will complete.
func (d *decoder) flush() string {
	rest := d.pending
	d.pending = ""
	return fleet.Valid(rest)
}

// garbles is the number of ways to spoil a body.
const garbles = 4

// garble spoils a body or an event: no JSON, no UTF-8, a senseless usage, or no
// usage. What has no usage is not JSON then.
func garble(body []byte, variant int) []byte {
	count := []byte(`"completion_tokens":`)
	switch at := bytes.Index(body, count); {
	case variant == 1:
		return bytes.Replace(body, []byte(`"finish_reason":`), []byte("\"\xff\xfe\":0,\"finish_reason\":"), 1)
	case variant == 2 && at >= 0:
		rest := bytes.TrimLeft(body[at+len(count):], "0123456789")
		return append(append(append([]byte(nil), body[:at+len(count)]...), "NaN"...), rest...)
	case variant == 3 && at >= 0:
		return bytes.Replace(body, []byte(`"usage":`), []byte(`"usage":null,"unused":`), 1)
	}
	return []byte("<html><body>upstream sent too big header</body></html>")
}

func (c *call) chat() {
	q, p := c.readChat(c.body)
	if c.Plain && p == nil {
		q.ids, q.continuous, q.budget, q.ignoreEOS = false, false, nil, false
	}
	c.generate(q, p)
}

func (c *call) completion() {
	q, p := c.readCompletion(c.body)
	c.generate(q, p)
}

// generate answers a chat or a completion that was read with the problem p.
func (c *call) generate(q *request, p *problem) {
	number, fault := c.arrival()
	entry := c.journal.open()
	defer c.journal.close(entry)
	prompt, most := 0, int64(0)
	if p == nil {
		entry.Seed, entry.ID = q.seed, c.requestID(q)
		prompt, most, p = q.check(&c.Settings)
	}
	if p == nil && c.engine.end.Err() != nil {
		p = engineDead()
	}
	if p != nil {
		c.refuse(p)
		return
	}
	if p := q.late(&c.Settings); p != nil {
		c.refuseLate(q, p)
		return
	}
	j := &job{mishap: fault, stream: q.stream, sequence: fleet.Sequence{Prompt: prompt}}
	j.answer = c.Author.Answer(c.question(q, most, number))
	j.sequence.Tokens = j.answer.Tokens()
	if fault.kind != "" {
		entry.Fault = string(fault.kind)
		j.at = fault.after(j.sequence.Tokens)
	}
	if fault.kind == broken || fault.kind == cut {
		j.sequence.Tokens = j.at
	}
	if !c.engine.submit(j) {
		c.refuse(engineDead())
		return
	}
	reply := newReply(c, q, j, entry.ID)
	if q.stream {
		entry.Outcome = reply.stream()
	} else {
		entry.Outcome = reply.whole()
	}
	entry.Tokens, _ = j.read()
}

// arrival numbers a request, and draws its fault.
func (r *Replica) arrival() (int, mishap) {
	r.mu.Lock()
	number, faults := r.requests, r.faults
	r.requests++
	r.mu.Unlock()
	if faults == (Faults{}) {
		return number, mishap{}
	}
	return number, faults.draw(seed.Root(r.Seed).Child("faults").Index(r.Settings.Index).Index(number).Stream())
}

// requestID is the id that the client gave.
func (c *call) requestID(q *request) string {
	if id := c.r.Header.Get("X-Request-Id"); id != "" {
		return id
	}
	return q.id
}

// question is what the author has to know of a request; number tells requests
// apart whose seed does not count.
func (c *call) question(q *request, most int64, number int) fleet.Question {
	prompt, answer := q.split(&c.Settings)
	inside, begun := open(prompt)
	ask := fleet.Question{
		User: q.user, Prompt: prompt, Greedy: valueOr(q.temperature, 1) < 1e-5, Thinking: inside, Begun: answer,
		Limits: fleet.Limits{
			Most: int(most), Least: int(valueOr(q.minTokens, 0)), Endless: q.ignoreEOS, Budget: -1,
			Stops: q.stops, StopTokens: q.stopTokens,
		},
	}
	if !q.chat {
		ask.User = lastUser(prompt)
	}
	if q.budget != nil && inside {
		ask.Limits.Budget = int(max(0, min(*q.budget, 1<<30)-int64(begun)))
	}
	if q.seed != nil && *q.seed != -1 && !c.Unrepeatable {
		ask.Seed = *q.seed
	} else {
		s := seed.Root(c.Seed).Child("unseeded").Index(c.Settings.Index).Index(number).Stream()
		ask.Seed = int64(s.Uint64())
	}
	return ask
}

// refuseLate tells a fault that the engine finds: a stream has begun by then.
func (c *call) refuseLate(q *request, p *problem) {
	if !q.stream {
		c.refuse(p)
		return
	}
	c.head(http.StatusOK, eventStream, -1)
	_, _ = c.w.Write(lastEvents(p))
	c.flush()
}

const eventStream = "text/event-stream; charset=utf-8"

// lastEvents is how a stream ends that fails.
func lastEvents(p *problem) []byte {
	b := append([]byte("data: "), p.body()...)
	return append(b, "\n\ndata: [DONE]\n\n"...)
}
