package imitation

import (
	"net/http"

	"speceval/internal/fleet"
	"speceval/internal/seed"
)

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
	j := &job{mishap: fault, stream: q.stream, most: int(most), sequence: fleet.Sequence{Prompt: prompt}}
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
