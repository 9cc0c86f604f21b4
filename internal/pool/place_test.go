package pool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"speceval/internal/vllm"
)

// takes takes places of requests without an end and lists their replicas.
func takes(t *testing.T, p *Pool, n int) []*Place {
	t.Helper()
	var places []*Place
	for range n {
		place, err := p.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, place)
	}
	return places
}

func where(places []*Place) (replicas []int) {
	for _, place := range places {
		replicas = append(replicas, place.Replica())
	}
	return replicas
}

// streamed answers a stream of two tokens.
func streamed(w http.ResponseWriter, r *http.Request, _ int) {
	if rest(r, time.Second) {
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`+
			"\n\ndata: [DONE]\n\n")
	}
}

func TestTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 3)
		p, end := f.pool(Settings{Window: 2, Attempts: 3})
		defer end()
		places := takes(t, p, 5)
		if got := where(places); !slices.Equal(got, []int{0, 1, 2, 0, 1}) {
			t.Errorf("places at %v, want one after the other", got)
		}
		places[4].Release()
		places[4].Release() // twice is once
		places[1].Release()
		places = takes(t, p, 3)
		if got := where(places); !slices.Equal(got, []int{1, 1, 2}) {
			t.Errorf("places at %v, want the least loaded", got)
		}
		if _, err := p.Take(t.Context()); !errors.Is(err, ErrFull) {
			t.Errorf("a place too many: %v", err)
		}
		f.servers[2].answer = streamed
		c, err := places[2].Stream(asked(9), nil)
		if err != nil || c.Usage.Completion != 2 || len(f.servers[2].seeds) != 1 {
			t.Errorf("%+v, %v", c, err)
		}
		if err := p.Reset(t.Context()); err == nil || !strings.Contains(err.Error(), "6 requests are outstanding") {
			t.Errorf("a reset while places are taken: %v", err)
		}
		wait := ask(p, t.Context(), 0, 1) // waits for a place
		places[0].Release()
		if answered(t, wait(), 0)["r1"] != 1 {
			t.Error("who waits did not get the place that was free")
		}
		if _, err := p.Metrics(t.Context(), 2); err != nil || !slices.Equal(p.Replicas(), []string{"r0", "r1", "r2"}) || p.Alive() != 3 {
			t.Errorf("replicas %v, %d alive; metrics %v", p.Replicas(), p.Alive(), err)
		}
	})
}

func TestTakeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 1)
		p, end := f.pool(Settings{Window: 1})
		defer end()
		f.servers[0].set(func() { f.servers[0].running = 1 })
		ctx, cancel := context.WithCancel(t.Context())
		reset := make(chan error)
		go func() { reset <- p.Reset(ctx) }()
		synctest.Wait()
		if _, err := p.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "being reset") {
			t.Errorf("a place during a reset: %v", err)
		}
		cancel()
		<-reset
		place := takes(t, p, 1)[0]
		f.servers[0].answer = forever
		failed := make(chan error)
		go func() {
			_, err := place.Stream(asked(0), nil)
			failed <- err
		}()
		synctest.Wait()
		p.Close()
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("a stream of a pool that is closed: %v", err)
		}
		if _, err := p.Take(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("a place of a pool that is closed: %v", err)
		}
	})
}

// TestPlaceIsSentOnce fails in every way: nothing is sent again, and a replica
// that is lost is out.
func TestPlaceIsSentOnce(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(s *server)
		want  string
		lost  bool
	}{
		{"a fault", func(s *server) {
			s.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(500) }
		}, "server fault (500)", false},
		{"no server", func(s *server) { s.down = true }, "replica r0 is lost", true},
		{"hangs", func(s *server) { s.answer = forever }, "replica r0 was taken out: ", true},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			f := start(t, 2)
			p, end := f.pool(Settings{Window: 2, Attempts: 3, Hang: time.Minute, Poll: time.Second})
			defer end()
			tt.spoil(f.servers[0])
			place := takes(t, p, 1)[0]
			defer place.Release()
			_, err := place.Stream(asked(0), func(vllm.Piece) {})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if f.servers[1].arrived() != 0 || f.servers[0].arrived() > 1 || p.Resent() != 0 {
				t.Error("it was sent again")
			}
			if lost := slices.Equal(p.Lost(), []string{"r0"}); lost != tt.lost || lost != (p.Alive() == 1) {
				t.Errorf("lost %v, %d alive", p.Lost(), p.Alive())
			}
		})
	}
}

func TestPlaceEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 1)
		p, end := f.pool(Settings{Window: 1})
		defer end()
		f.servers[0].answer = forever
		ctx, cancel := context.WithCancel(t.Context())
		place, err := p.Take(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer place.Release()
		time.AfterFunc(time.Second, cancel)
		if _, err := place.Stream(asked(0), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if p.Alive() != 1 {
			t.Error("the replica is out")
		}
	})
}
