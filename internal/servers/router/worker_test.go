package router_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/machine/clock"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/router"
	"speceval/internal/servers/vllm"
	"speceval/method/controller"
)

// endless is a number of tokens that no test waits for.
const endless = 30000

// bench is some imitated replicas that listen, the pool of them, and a router.
type bench struct {
	router.Worker
	t        *testing.T
	replicas []*imitation.Replica
	clients  []*vllm.Client
}

// window is how many requests a replica takes at a time.
const window = 2

// setUp makes n replicas, which answer with as many tokens as they may, one in 1.6 ms
// and more. Tests change the settings.
func setUp(t *testing.T, n int, change func(i int, s *imitation.Settings, w *router.Worker)) *bench {
	t.Helper()
	author := fleet.MustAuthor(fleet.AuthorSettings{Model: "m", AnswerTokens: 2 * endless, Spread: 1e-6})
	b := &bench{t: t}
	settings := router.Worker{Request: ordinal, Replicas: n, Clock: clock.Wall{}}
	var members []pool.Replica
	for i := range n {
		s := imitation.Settings{Model: "m", MaxModelLen: 4 * endless, Author: author, Speed: 1, Index: i}
		if change != nil {
			change(i, &s, &settings)
		}
		r := imitation.New(s)
		t.Cleanup(r.Close)
		ok(t, r.Listen("127.0.0.1:0"))
		c := must(vllm.New(r.URL(), vllm.Options{Connections: window + 2}))
		b.replicas, b.clients = append(b.replicas, r), append(b.clients, c)
		members = append(members, pool.Replica{Client: c})
	}
	p := must(pool.Open(t.Context(), members, pool.Requirement{Model: "m", Foreign: true}, pool.Settings{Window: window, Attempts: 1, Outage: time.Hour}))
	settings.Pool = p
	t.Cleanup(settings.Pool.Close)
	b.Worker = settings
	return b
}

// ordinal asks for as many tokens as the rollout's ordinal says.
func ordinal(id controller.ID) vllm.Request { return question(int(id.Ordinal)) }

func question(tokens int) vllm.Request {
	return vllm.Request{
		Sampling: vllm.Sampling{Model: "m", Temperature: 0.6, TopP: 0.95, MaxTokens: tokens},
		Messages: []vllm.Message{{Role: "user", Content: "What is 17+25?"}}, Seed: 7,
	}
}

// of is a rollout of so many tokens.
func of(tokens int) controller.ID { return controller.ID{Ordinal: int32(tokens)} }

func (b *bench) begin() *router.Timed {
	b.t.Helper()
	e := must(b.Begin(b.t.Context()))
	b.t.Cleanup(func() { e.Close(context.Background()) })
	return e
}

func next(t *testing.T, e *router.Timed) router.Event { return must(e.Next(t.Context())) }

// closes fails the test unless the run was good.
func closes(t *testing.T, e *router.Timed) {
	t.Helper()
	if err := e.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// voided fails the test unless an error says that the run is void, in such words, in
// which URL is that of replica 1.
func (b *bench) voided(err error, words ...string) {
	b.t.Helper()
	if !errors.Is(err, router.ErrVoid) {
		b.t.Fatalf("error %v, want a void run", err)
	}
	for _, w := range words {
		if w = strings.ReplaceAll(w, "URL", b.replicas[len(b.replicas)-1].URL()); !strings.Contains(err.Error(), w) {
			b.t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// void waits for a run to be void.
func (b *bench) void(e *router.Timed, words ...string) {
	b.t.Helper()
	for {
		if _, err := e.Next(b.t.Context()); err != nil {
			b.voided(err, words...)
			b.voided(e.Close(b.t.Context()), words...)
			return
		}
	}
}

// metrics asks a replica.
func (b *bench) metrics(i int) vllm.Metrics {
	b.t.Helper()
	m := must(b.clients[i].Metrics(b.t.Context()))
	return m
}

// until waits for something that others bring about.
func until(t *testing.T, happens func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !happens(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("timeout")
		}
	}
}

// running waits until a replica has made tokens of so many running requests.
func (b *bench) running(i, requests, tokens int) {
	b.t.Helper()
	until(b.t, func() bool {
		m := b.metrics(i)
		return m.Running == requests && m.GenerationTokens >= float64(tokens)
	})
}

// TestWarmUp asks every replica as often as is said, more often than it has places, for
// answers of several lengths under seeds of their own.
func TestWarmUp(t *testing.T) {
	for _, each := range []int{1, 6} {
		var log [3]bytes.Buffer
		b := setUp(t, 3, func(i int, s *imitation.Settings, _ *router.Worker) { s.Speed, s.Log = 0, &log[i] })
		ok(t, b.WarmUp(t.Context(), question(1000), each))
		seeds, lengths := map[int64]bool{}, map[int]int{}
		for i, r := range b.replicas {
			r.Close()
			asked := 0
			for decoder := json.NewDecoder(&log[i]); decoder.More(); asked++ {
				var entry imitation.Entry
				ok(t, decoder.Decode(&entry))
				seeds[*entry.Seed] = true
				lengths[entry.Tokens]++
			}
			if each == 1 && asked != 1 {
				t.Errorf("replica %d was asked %d times, want once", i, asked)
			}
		}
		want := map[int]int{64: 3}
		if each == 6 {
			want = map[int]int{64: 6, 48: 6, 32: 3, 16: 3}
		}
		if len(seeds) != 3*each || !seeds[7] || !maps.Equal(lengths, want) {
			t.Errorf("%d of each: %d seeds, lengths %v, want %d and %v", each, len(seeds), lengths, 3*each, want)
		}
	}
}

func TestWarmUpFails(t *testing.T) {
	b := setUp(t, 2, func(i int, s *imitation.Settings, _ *router.Worker) {
		if i == 1 {
			s.Faults.Error = 1
		}
	})
	err := b.WarmUp(t.Context(), question(1), 1)
	if err == nil || errors.Is(err, router.ErrVoid) || !strings.HasPrefix(err.Error(), "warm-up: ") || !strings.Contains(err.Error(), b.replicas[1].URL()) {
		t.Errorf("error %v, want one that names replica 1", err)
	}
	b.replicas[1].SetFaults(imitation.Faults{})
	if err := b.WarmUp(t.Context(), question(1), 1); err != nil {
		t.Errorf("the second warm-up: %v", err)
	}
}

func TestBeginRefuses(t *testing.T) {
	b := setUp(t, 2, nil)
	b.ask(0, endless)
	until(t, func() bool { return b.metrics(0).Running == 1 })
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Begin(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a run while somebody else uses a replica: %v", err)
	}
	few := router.Worker{Pool: b.Pool, Replicas: 3}
	if _, err := few.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "2 replicas serve the model, want 3") {
		t.Errorf("a run on 2 of 3 replicas: %v", err)
	}
}

// TestBeginWaitsForReplicas has a replica die, which is found by a request.
func TestBeginWaitsForReplicas(t *testing.T) {
	b := setUp(t, 2, func(_ int, s *imitation.Settings, w *router.Worker) {
		s.Restart, w.Return = 300*time.Millisecond, 20*time.Second
	})
	e := b.begin()
	e.Submit(0, of(endless))
	b.running(0, 1, 1)
	b.replicas[0].Crash()
	b.void(e, "request 0, task 0 pilot 30000, failed")
	if _, err := (router.Worker{Pool: b.Pool, Request: ordinal, Clock: clock.Wall{}}).Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "1 of 2 replicas are out") {
		t.Errorf("a run without a wait: %v", err)
	}
	again := b.begin()
	again.Submit(0, of(3))
	if event := next(t, again); event.Kind != router.Completed || event.Replica != 0 {
		t.Errorf("after its return: %+v", event)
	}
	closes(t, again)
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
