package pool

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"speceval/internal/servers/vllm"
)

// TestWindow keeps every replica full, never fuller, and serves in order.
func TestWindow(t *testing.T) {
	pooled(t, "", 2, Settings{Window: 3, Attempts: 1}, func(t *testing.T, f *fleet, p *Pool) {
		started := time.Now()
		counts := answered(t, ask(p, t.Context(), 0, 30)(), 0)
		if took := time.Since(started); took != 5*time.Second || counts["r0"] != 15 || counts["r1"] != 15 {
			t.Errorf("30 requests of 1 s in 6 places took %v, by replica %v", took, counts)
		}
		for _, s := range f.servers {
			if s.most != 3 {
				t.Errorf("replica %d had up to %d requests, want 3", s.index, s.most)
			}
			for i := 3; i < s.arrived(); i += 3 {
				if slices.Max(s.seeds[:i]) > slices.Min(s.seeds[i:]) {
					t.Errorf("replica %d had the seeds %v: not in order of arrival", s.index, s.seeds)
				}
			}
		}
	})
}

func TestTransientAndPermanentErrors(t *testing.T) {
	tests := []struct {
		name     string
		status   int
		fail     int // times
		attempts int
		requests int
		want     string // of the error
	}{
		{"transient", 500, 2, 3, 3, ""},
		{"transient too often", 500, 3, 3, 3, "3 attempts"},
		{"permanent", 400, 1, 3, 1, "rejected"},
	}
	for _, tt := range tests {
		pooled(t, tt.name, 1, Settings{Window: 1, Attempts: tt.attempts}, func(t *testing.T, f *fleet, p *Pool) {
			s := f.servers[0]
			s.answer = func(w http.ResponseWriter, r *http.Request, seed int) {
				if s.arrived() <= tt.fail {
					w.WriteHeader(tt.status)
					return
				}
				s.say(w, seed)
			}
			began := time.Now()
			_, name, err := p.Stream(t.Context(), asked(1), nil)
			if took := time.Since(began); tt.requests == 3 && (took < 3*firstWait/2 || took > 3*firstWait) { // the second wait is twice the first
				t.Errorf("two waits took %v", took)
			}
			if s.arrived() != tt.requests || name != "r0" || p.Resent() != tt.requests-1 {
				t.Errorf("%d requests, %d sent again, replica %s", s.arrived(), p.Resent(), name)
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if p.places() != 1 {
				t.Error("the replica was taken out")
			}
		})
	}
}

func TestCallerGivesUp(t *testing.T) {
	pooled(t, "", 1, Settings{Window: 1, Attempts: 3}, func(t *testing.T, f *fleet, p *Pool) {
		f.servers[0].answer = forever
		ctx, cancel := context.WithCancel(t.Context())
		wait := ask(p, ctx, 0, 3) // one runs, two wait
		cancel()
		for _, o := range wait() {
			if !errors.Is(o.err, context.Canceled) {
				t.Errorf("error %v, want the context's", o.err)
			}
		}
		f.servers[0].set(func() {
			f.servers[0].answer = func(w http.ResponseWriter, _ *http.Request, seed int) { f.servers[0].say(w, seed) }
		})
		answered(t, ask(p, t.Context(), 3, 1)(), 3) // the place is free again
		if n := f.servers[0].arrived(); n != 2 {
			t.Errorf("%d requests arrived, want 2: those that waited must not", n)
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 2)
		p, end := f.pool(Settings{Window: 1, Attempts: 3, Outage: time.Hour}, Requirement{Model: "m"})
		for _, s := range f.servers {
			s.answer = forever
		}
		wait := ask(p, t.Context(), 0, 4)
		f.servers[1].kill() // one is being revived
		synctest.Wait()
		arrived := f.servers[0].arrived() + f.servers[1].arrived()
		end()
		if now := f.servers[0].arrived() + f.servers[1].arrived(); now != arrived {
			t.Errorf("%d requests were sent after Close", now-arrived)
		}
		for _, o := range append(wait(), ask(p, t.Context(), 4, 1)()...) {
			if !errors.Is(o.err, ErrClosed) {
				t.Errorf("error %v, want ErrClosed", o.err)
			}
		}
	})
}

// TestTheEndOfAnOutage has requests that wait for no one, which is said after a while.
func TestTheEndOfAnOutage(t *testing.T) {
	for want, stop := range map[error]func(*Pool){ErrClosed: (*Pool).Close, vllm.ErrStopped: (*Pool).StopWaiting} {
		bubble(t, want.Error(), func(t *testing.T) {
			f := start(t, 1)
			p, end := f.pool(Settings{Window: 1, Attempts: 2, Outage: time.Hour}, Requirement{Model: "m"})
			f.servers[0].kill()
			wait := ask(p, t.Context(), 0, 3)
			time.Sleep(sayAfter)
			synctest.Wait()
			began := time.Now()
			stop(p)
			for _, o := range append(wait(), ask(p, t.Context(), 3, 1)()...) {
				if !errors.Is(o.err, want) || time.Since(began) > 0 {
					t.Errorf("error %v after %v, want %v", o.err, time.Since(began), want)
				}
			}
			end()
			if said := strings.Join(f.log(), "\n"); strings.Count(said, "no server answers; waiting up to 59m57s more (serving.outage_seconds)") != 1 {
				t.Errorf("said %s", said)
			}
		})
	}
}

// TestStopWaitingBetweenTries ends the pause before another try; what replicas have goes on.
func TestStopWaitingBetweenTries(t *testing.T) {
	pooled(t, "", 1, Settings{Window: 2, Attempts: 9}, func(t *testing.T, f *fleet, p *Pool) {
		f.servers[0].handler = func(_ *server, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusInternalServerError)
		}
		wait := ask(p, t.Context(), 0, 1)
		synctest.Wait()
		p.StopWaiting()
		if err := wait()[0].err; !errors.Is(err, vllm.ErrStopped) {
			t.Errorf("error %v", err)
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
		{"no server", func(s *server) { s.kill() }, "replica r0 is lost", true},
		{"hangs", func(s *server) { s.answer = forever }, "replica r0 is lost: ", true},
	}
	for _, tt := range tests {
		pooled(t, tt.name, 2, Settings{Window: 2, Attempts: 3}, func(t *testing.T, f *fleet, p *Pool) {
			tt.spoil(f.servers[0])
			place, err := p.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer place.Release()
			_, err = place.Stream(asked(0), func(vllm.Piece) {})
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
