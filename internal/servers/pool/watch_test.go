package pool

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hang makes a server keep what it has without a token, and say it is healthy,
// until it is let go.
func (s *server) hang() (let func()) {
	well := s.answer
	s.set(func() { s.answer = forever })
	return func() { s.set(func() { s.answer = well }) }
}

func watched() Settings {
	return Settings{Window: 2, Attempts: 1, Outage: time.Hour, Hang: 2 * time.Minute, Poll: 5 * time.Second}
}

// TestHang gives the requests of a hung replica to another after the time, and
// not before, and uses it again when a request of one token is answered.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 2)
		p, end := f.pool(watched())
		defer end()
		let := f.servers[1].hang()
		started := time.Now()
		counts := answered(t, ask(p, t.Context(), 0, 4)(), 0)
		took := time.Since(started)
		if took < 2*time.Minute || took > 2*time.Minute+15*time.Second || counts["r0"] != 4 {
			t.Errorf("answers by %v after %v, want all by r0 after 2 m", counts, took)
		}
		if !f.reported("r1 is out", "hangs", "2 requests running") || p.Slots() != 2 {
			t.Errorf("log %q", f.log())
		}
		time.Sleep(10 * time.Minute) // the probes are not answered
		if p.Slots() != 2 {
			t.Error("a hung replica came back")
		}
		let()
		time.Sleep(5 * time.Minute)
		if p.Slots() != 4 {
			t.Errorf("a replica that answers stays out; log %q", f.log())
		}
	})
}

// TestLeftWithItsRequests has a server that ended but for the connections of its
// requests: others answer them long before the time of a hang.
func TestLeftWithItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 2)
		p, end := f.pool(watched())
		defer end()
		s := f.servers[1]
		s.hang()
		started := time.Now()
		wait := ask(p, t.Context(), 0, 4)
		time.Sleep(12 * time.Second)
		s.set(func() { s.down = true })
		s.http.SetKeepAlivesEnabled(false) // ends the idle ones
		counts := answered(t, wait(), 0)
		if took := time.Since(started); took > 20*time.Second || counts["r0"] != 4 || !f.reported("r1 is out", "refused") {
			t.Errorf("answers by %v after %v; log %q", counts, took, f.log())
		}
	})
}

func TestHangIsRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 2)
		var let func()
		restarts := 0
		f.clients[1].Restart = func(context.Context) error {
			restarts++
			time.Sleep(30 * time.Minute)
			f.servers[1].kill()
			let()
			f.servers[1].set(func() { f.servers[1].down = false })
			return nil
		}
		p, end := f.pool(watched())
		defer end()
		let = f.servers[1].hang()
		started := time.Now()
		answered(t, ask(p, t.Context(), 0, 4)(), 0)
		if took := time.Since(started); took > 3*time.Minute {
			t.Errorf("the requests waited %v, for the restart", took)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if restarts != 1 || p.Slots() != 4 {
			t.Errorf("%d restarts, %d slots; log %q", restarts, p.Slots(), f.log())
		}
	})
}

// TestStillRunning keeps a hung replica out while it has requests by its own
// account, and takes it back when tokens move.
func TestStillRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 2)
		p, end := f.pool(watched())
		defer end()
		s := f.servers[1]
		s.hang()
		s.set(func() { s.metrics = "vllm:num_requests_running 2\nvllm:generation_tokens_total 7\n" })
		answered(t, ask(p, t.Context(), 0, 4)(), 0)
		arrived := s.arrived()
		time.Sleep(10 * time.Minute)
		if p.Slots() != 2 || s.arrived() != arrived || !f.reported("r1 stays out", "still hangs") {
			t.Errorf("%d slots, %d probes; log %q", p.Slots(), s.arrived()-arrived, f.log())
		}
		s.set(func() { s.metrics = strings.Replace(s.metrics, "7", "8", 1) })
		time.Sleep(time.Minute)
		if p.Slots() != 4 {
			t.Errorf("%d slots when tokens move", p.Slots())
		}
	})
}

// TestSlowIsNotHung has replicas that take long, but make tokens, or run
// nothing yet, or tell nothing at all.
func TestSlowIsNotHung(t *testing.T) {
	for name, metrics := range map[string]func(s *server) string{
		"tokens":      nil,
		"nothing yet": func(*server) string { return "vllm:num_requests_running 0\nvllm:generation_tokens_total 7\n" },
		"not vLLM":    func(*server) string { return "up 1\n" },
	} {
		bubble(t, name, func(t *testing.T) {
			f := start(t, 1)
			p, end := f.pool(watched())
			defer end()
			s := f.servers[0]
			if metrics != nil {
				s.metrics = metrics(s)
			}
			s.answer = func(w http.ResponseWriter, r *http.Request, seed int) {
				for range 10 {
					if !rest(r, time.Minute) {
						return
					}
					s.set(func() { s.tokens++ })
				}
				s.say(w, seed)
			}
			answered(t, ask(p, t.Context(), 0, 3)(), 0)
			if p.Resent() != 0 {
				t.Errorf("sent again; log %q", f.log())
			}
		})
	}
}

// TestIdleIsNotHung leaves a replica without requests for long, with old ones
// of its own that do not move.
func TestIdleIsNotHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 1)
		p, end := f.pool(watched())
		defer end()
		time.Sleep(10 * time.Minute)
		answered(t, ask(p, t.Context(), 0, 1)(), 0)
		time.Sleep(10 * time.Minute)
		answered(t, ask(p, t.Context(), 1, 1)(), 1)
		if len(f.log()) != 0 {
			t.Errorf("log %q", f.log())
		}
	})
}

// TestSilentMachine has a machine that is gone without a word: connections stay
// open and nothing answers, /metrics included.
func TestSilentMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 2)
		p, end := f.pool(watched())
		defer end()
		f.servers[1].http.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		counts := answered(t, ask(p, t.Context(), 0, 4)(), 0)
		if counts["r0"] != 4 || !f.reported("r1 is out", "/metrics") {
			t.Errorf("answers by %v; log %q", counts, f.log())
		}
	})
}
