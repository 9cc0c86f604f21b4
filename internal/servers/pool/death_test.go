package pool

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestReplicaDies kills one of three with requests on it: the others answer
// them, and it is used again when it is back.
func TestReplicaDies(t *testing.T) {
	pooled(t, "", 3, Settings{Window: 2, Attempts: 3, Outage: time.Minute}, func(t *testing.T, f *fleet, p *Pool) {
		wait := ask(p, t.Context(), 0, 12)
		time.Sleep(500 * time.Millisecond)
		f.servers[1].kill()
		synctest.Wait()
		if p.places() != 4 || !f.reported("replica r1 is out", "2 of 3 left") {
			t.Errorf("%d slots after a death, want 4; log %q", p.places(), f.log())
		}
		counts := answered(t, wait(), 0)
		if counts["r1"] != 0 || p.Resent() != 2 {
			t.Errorf("answers by %v, %d sent again, want 2", counts, p.Resent())
		}
		f.servers[1].set(func() { f.servers[1].down = false })
		time.Sleep(time.Minute)
		if p.places() != 6 || !f.reported("replica r1 is back") {
			t.Errorf("%d slots after its return, want 6; log %q", p.places(), f.log())
		}
		if counts := answered(t, ask(p, t.Context(), 12, 6)(), 12); counts["r1"] != 2 {
			t.Errorf("answers by %v after its return", counts)
		}
	})
}

// TestGivenBackRequestsComeFirst kills a replica while others wait: what it had
// is served before those.
func TestGivenBackRequestsComeFirst(t *testing.T) {
	pooled(t, "", 2, Settings{Window: 1, Attempts: 3, Outage: time.Minute}, func(t *testing.T, f *fleet, p *Pool) {
		wait := ask(p, t.Context(), 0, 5)
		f.servers[1].kill() // had request 1
		answered(t, wait(), 0)
		if got := f.servers[0].seeds; got[0] != 0 || got[1] != 1 {
			t.Errorf("served in the order %v, want 0 and 1 first", got)
		}
	})
}

func TestEngineDies(t *testing.T) {
	deaths := map[string]func(w http.ResponseWriter){
		"500": func(w http.ResponseWriter) {
			w.WriteHeader(500)
			io.WriteString(w, `{"error":{"message":"EngineCore encountered an issue.","type":"InternalServerError","code":500}}`)
		},
		"cut and unhealthy": func(w http.ResponseWriter) {
			io.WriteString(w, `{"choices":`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	for name, die := range deaths {
		pooled(t, name, 2, Settings{Window: 1, Attempts: 3, Outage: time.Minute}, func(t *testing.T, f *fleet, p *Pool) {
			s := f.servers[0]
			s.http.ErrorLog = nil
			s.answer = func(w http.ResponseWriter, _ *http.Request, _ int) {
				s.set(func() { s.unhealthy = true; s.running-- })
				die(w)
			}
			counts := answered(t, ask(p, t.Context(), 0, 3)(), 0)
			if counts["r1"] != 3 || p.places() != 1 {
				t.Errorf("answers by %v, %d slots", counts, p.places())
			}
		})
	}
}

// TestLateFailureOfAnEarlierLife fails two requests of one death, the second
// when the replica is back: it stays in.
func TestLateFailureOfAnEarlierLife(t *testing.T) {
	pooled(t, "", 1, Settings{Window: 2, Attempts: 3, Outage: time.Minute}, func(t *testing.T, f *fleet, p *Pool) {
		s := f.servers[0]
		s.answer = func(w http.ResponseWriter, r *http.Request, seed int) {
			if s.arrived() > 2 {
				s.say(w, seed)
				return
			}
			rest(r, time.Duration(10+seed)*time.Second)
			w.WriteHeader(500)
			io.WriteString(w, `{"error":{"message":"EngineCore encountered an issue."}}`)
		}
		answered(t, ask(p, t.Context(), 0, 2)(), 0)
		outs := 0
		for _, line := range f.log() {
			if strings.Contains(line, "is out") {
				outs++
			}
		}
		if outs != 1 {
			t.Errorf("taken out %d times; log %q", outs, f.log())
		}
	})
}

// TestDeadlyRequest has a request that kills whatever it touches.
func TestDeadlyRequest(t *testing.T) {
	pooled(t, "", 2, Settings{Window: 4, Attempts: 3, Outage: time.Hour}, func(t *testing.T, f *fleet, p *Pool) {
		deaths := 0
		for _, s := range f.servers {
			s.answer = func(w http.ResponseWriter, r *http.Request, seed int) {
				if seed != 3 {
					s.say(w, seed)
					return
				}
				deaths++
				s.kill()
				go func() { // supervised elsewhere
					time.Sleep(10 * time.Second)
					s.set(func() { s.down = false })
				}()
			}
		}
		outcomes := ask(p, t.Context(), 0, 8)()
		bad := outcomes[3]
		if bad.err == nil || !strings.Contains(bad.err.Error(), "3 attempts: replica r") || deaths != 3 {
			t.Errorf("error %v after %d deaths, want one after 3", bad.err, deaths)
		}
		answered(t, outcomes[:3], 0)
		answered(t, outcomes[4:], 4)
		time.Sleep(time.Minute)
	})
}

// TestRefusedConnectionsAreNobodysFault lets a replica look well and refuse
// requests more often than a request may see deaths.
func TestRefusedConnectionsAreNobodysFault(t *testing.T) {
	pooled(t, "", 1, Settings{Window: 1, Attempts: 1, Outage: time.Hour}, func(t *testing.T, f *fleet, p *Pool) {
		s := f.servers[0]
		time.Sleep(10 * time.Second) // no connection is kept
		s.set(func() { s.down = true })
		wait := ask(p, t.Context(), 0, 1)
		time.Sleep(time.Minute)
		s.set(func() { s.down = false })
		answered(t, wait(), 0)
	})
}

func TestOutage(t *testing.T) {
	pooled(t, "", 2, Settings{Window: 1, Attempts: 3, Outage: 10 * time.Minute}, func(t *testing.T, f *fleet, p *Pool) {
		wait := ask(p, t.Context(), 0, 4)
		started := time.Now()
		for _, s := range f.servers {
			s.kill()
		}
		for _, o := range wait() {
			if !errors.Is(o.err, ErrOutage) || !strings.Contains(o.err.Error(), "r0") || !strings.Contains(o.err.Error(), "r1") {
				t.Errorf("error %v, want an outage with every replica", o.err)
			}
		}
		if took := time.Since(started); took != 10*time.Minute {
			t.Errorf("given up after %v, want 10 m", took)
		}
		if o := ask(p, t.Context(), 4, 1)()[0]; !errors.Is(o.err, ErrOutage) || time.Since(started) != 10*time.Minute {
			t.Errorf("error %v after %v, want an outage at once", o.err, time.Since(started))
		}
		f.servers[0].set(func() { f.servers[0].down = false })
		time.Sleep(time.Minute)
		answered(t, ask(p, t.Context(), 5, 2)(), 5)
	})
}

// TestOutageEndsInTime brings a replica back before the outage counts, and lets
// it die again: that is another outage.
func TestOutageEndsInTime(t *testing.T) {
	pooled(t, "", 1, Settings{Window: 1, Attempts: 9, Outage: 4 * time.Minute}, func(t *testing.T, f *fleet, p *Pool) {
		s := f.servers[0]
		s.answer = func(w http.ResponseWriter, r *http.Request, seed int) {
			if rest(r, time.Minute) {
				s.say(w, seed)
			}
		}
		wait := ask(p, t.Context(), 0, 2)
		for range 3 {
			s.kill()
			time.Sleep(2 * time.Minute)
			s.set(func() { s.down = false })
			time.Sleep(90*time.Second + 500*time.Millisecond) // the longest wait between two probes, and one
		}
		answered(t, wait(), 0)
	})
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 2)
		var restarts []int
		for i := range f.clients {
			f.clients[i].Restart = func(context.Context) error {
				restarts = append(restarts, i)
				if len(restarts) == 1 {
					return errors.New("no restart")
				}
				f.servers[i].set(func() { f.servers[i].down = false })
				return nil
			}
		}
		p, end := f.pool(Settings{Window: 1, Attempts: 3, Outage: time.Minute}, Requirement{Model: "m"})
		defer end()
		wait := ask(p, t.Context(), 0, 4)
		f.servers[1].kill()
		answered(t, wait(), 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(restarts) != 2 || restarts[0] != 1 || p.places() != 2 || !f.reported("r1", "not started again") {
			t.Errorf("restarts %v, %d slots; log %q", restarts, p.places(), f.log())
		}
	})
}
