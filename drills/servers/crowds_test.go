package servers_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"
)

// ofAborts are of requests that the client gives up.
var ofAborts = []behaviour{
	{"abort/stream", "closing a stream's connection ends the work, and no token is lost count of", func(s *session) {
		before := s.await(0, 0)
		st, err := s.open(s.ctx, chatPath, s.chat(s.endless()))
		s.ok(err)
		last := s.until(st, 40)
		st.close()
		after := s.await(0, 0)
		made := int(after[generatedName] - before[generatedName])
		if made < last.Completion || made > last.Completion+s.most()/2 { // on a busy machine
			s.Fatalf("%d tokens seen, %d counted by the server", last.Completion, made)
		}
		s.saw("running again 0; generation_tokens_total grew by what was seen, or a little more")
		s.saw("prompt_tokens_total grew by the prompt: %t", after[promptName]-before[promptName] == float64(last.Prompt))
		s.saw("request_success_total grew by %v", after[successName]-before[successName])
	}},
	{"abort/whole", "so does giving up an answer that is not streamed", func(s *session) {
		before := s.await(0, 0)
		asking, cancel := context.WithCancel(s.ctx)
		defer cancel()
		failed := make(chan error, 1)
		go func() {
			_, _, err := s.asked(asking, fields{"max_tokens": s.most()})
			failed <- err
		}()
		s.await(1, 0)
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			s.Fatalf("given up, the request ended with %v", err)
		}
		after := s.await(0, 0)
		if made := int(after[generatedName] - before[generatedName]); made >= s.most() {
			s.Fatalf("all %d tokens were made", made)
		}
		s.saw("running again 0 before the answer's end; request_success_total grew by %v", after[successName]-before[successName])
	}},
}

// most are the tokens of an answer that nothing ends while a test goes on: all of the
// context less what prompts here take.
func (s *session) most() int { return s.context - 200 }

func (s *session) endless() fields {
	return fields{"max_tokens": s.most(), "stream_options": everyUsage}
}

// ofCrowds are of many requests at once, and at last those in flight when the engine dies.
var ofCrowds = []behaviour{
	{"crowd/together", "a full batch is answered whole", func(s *session) {
		before := s.await(0, 0)
		for _, a := range s.together(s.sequences, func(i int) fields { return fields{"seed": i, "max_tokens": 64} }) {
			if a.Usage.Completion != 64 {
				s.Fatalf("%d tokens instead of 64", a.Usage.Completion)
			}
		}
		after, n := s.await(0, 0), float64(s.sequences)
		s.saw("as many answers as sequences, of 64 tokens each")
		s.saw("generation_tokens_total grew by their tokens: %t", after[generatedName]-before[generatedName] == 64*n)
		s.saw("request_success_total grew by their number: %t", after[successName]-before[successName] == n)
	}},
	{"crowd/queue", "what is too much waits, and is served in order", (*session).queue},
	{"death/engine", "requests in flight fail with an error of their own, then connections are refused", (*session).engineDeath},
}

// together asks for several answers at once.
func (s *session) together(n int, set func(i int) fields) []completion {
	s.Helper()
	got, faults := make([]completion, n), make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { got[i], _, faults[i] = s.asked(s.ctx, set(i)) })
	}
	group.Wait()
	s.ok(errors.Join(faults...))
	return got
}

// queue fills the server and lets three wait; then it aborts the first.
func (s *session) queue() {
	const extra = 3
	crowded, cancel := context.WithCancel(s.ctx)
	defer cancel()
	opened := make([]chan *stream, s.sequences+extra)
	for i := range opened {
		opened[i] = make(chan *stream, 1)
		go func() {
			defer close(opened[i])
			body := s.chat(s.endless())
			body["seed"] = i
			if st, err := s.open(crowded, chatPath, body); err == nil {
				opened[i] <- st
			}
		}()
		// One after another, so that the order is known.
		s.await(min(i+1, s.sequences), max(0, i+1-s.sequences))
	}
	s.saw("running at the limit, %d waiting", extra)
	first, next := <-opened[0], opened[s.sequences]
	if first == nil {
		s.Fatal("the first stream does not begin")
	}
	first.close()
	s.await(s.sequences, extra-1)
	st := <-next
	if st == nil {
		s.Fatal("the first that waited does not begin")
	}
	s.until(st, 1)
	s.saw("one aborted: the first that waited runs, %d waiting", extra-1)
	cancel()
	s.await(0, 0)
	s.saw("all aborted: none running, none waiting")
}

func (s *session) engineDeath() {
	st, err := s.open(s.ctx, chatPath, s.chat(s.endless()))
	s.ok(err)
	whole := make(chan reply, 1)
	var fault error // of it
	go func() {
		got, err := try(s.request(s.ctx, "POST", chatPath, s.chat(fields{"max_tokens": s.most()})))
		fault = err
		whole <- got
	}()
	s.await(2, 0)
	s.until(st, 1)
	s.ok(s.kill())
	got := <-whole
	s.ok(fault)
	s.saw("in flight: %s", refusal(got))
	for ended := false; !ended; { // events that are no chunk, and how the body ends
		e, err := st.next()
		ended = err != nil
		switch {
		case errors.Is(err, io.EOF):
			s.saw("in a stream: end of the body")
		case err != nil:
			s.saw("in a stream: cut")
		case e.done:
			s.saw("in a stream: %s", e.raw)
		case e.Error != nil:
			s.saw("in a stream: %s", refusal(reply{200, "event", e.raw}))
		}
	}
	for {
		_, err := try(s.request(s.ctx, "GET", "/health", nil))
		if errors.Is(err, syscall.ECONNREFUSED) {
			s.saw("later: connection refused")
			return
		}
		if s.ctx.Err() != nil {
			s.Fatalf("the server still listens: %v", err)
		}
		time.Sleep(10 * pollMetrics)
	}
}
