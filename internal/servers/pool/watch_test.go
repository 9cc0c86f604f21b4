package pool

import (
	"context"
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

// TestHang gives the requests of a hung replica to another after the time, and not before, and
// uses it again when a request of one token is answered: by itself, or started again.
func TestHang(t *testing.T) {
	for name, restarts := range map[string]int{"by itself": 0, "started again": 1} {
		bubble(t, name, func(t *testing.T) {
			f := start(t, 2)
			s, restarted := f.servers[1], 0
			let := s.hang
			if restarts > 0 {
				f.clients[1].Restart = func(context.Context) error {
					restarted++
					time.Sleep(30 * time.Minute)
					s.kill()
					let()
					s.set(func() { s.down = false })
					return nil
				}
			}
			p, end := f.pool(Settings{Window: 2, Attempts: 2, Outage: time.Hour}, Requirement{Model: "m"})
			defer end()
			undo := s.hang()
			let = func() func() { undo(); return nil }
			started := time.Now()
			counts := answered(t, ask(p, t.Context(), 0, 4)(), 0)
			if took := time.Since(started); took < 2*time.Minute || took > 2*time.Minute+5*time.Second || counts["r0"] != 4 {
				t.Errorf("answers by %v after %v, want all by r0 after 2 m", counts, took)
			}
			if time.Sleep(20 * time.Minute); !f.reported("r1 is out", "no token came for 2m0s") || p.places() != 2 {
				t.Errorf("%d slots; log %q", p.places(), f.log())
			}
			if restarts == 0 {
				let()
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if restarted != restarts || p.places() != 4 {
				t.Errorf("%d restarts, %d slots; log %q", restarted, p.places(), f.log())
			}
		})
	}
}
