package imitation_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
)

// even takes 10 ms for a step, whatever its batch.
var even = fleet.Timing{Base: 10 * time.Millisecond}

// timed is a replica in a bubble of fake time.
func timed(speed float64) imitation.Settings {
	s := dense()
	s.Timing, s.Speed = even, speed
	return s
}

func TestTimeIsTheModels(t *testing.T) {
	for _, test := range []struct {
		speed float64
		want  time.Duration
	}{{1, time.Second}, {0.5, 2 * time.Second}, {100, 10 * time.Millisecond}, {0, 0}} {
		synctest.Test(t, func(t *testing.T) {
			s := timed(test.speed)
			s.Timing.Prompt = time.Second / 100 / 33 // of a prompt of 33 tokens: one step more, nearly
			r := imitation.New(s)
			defer r.Close()
			begin := time.Now()
			post(r, chats, chat(`,"max_tokens":99,"ignore_eos":true`))
			// The simulation may be up to a millisecond ahead.
			if took := time.Since(begin); took > test.want || took < test.want-2*time.Millisecond {
				t.Errorf("speed %v: takes %v, want %v", test.speed, took, test.want)
			}
		})
	}
}

// slow is a client that takes its time for every chunk.
type slow struct{ *httptest.ResponseRecorder }

func (r slow) Write(p []byte) (int, error) {
	time.Sleep(100 * time.Millisecond)
	return r.ResponseRecorder.Write(p)
}

const everyUsage = `,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`

func TestSlowClientGetsMergedChunksAndHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := imitation.New(timed(1))
		defer r.Close()
		begin := time.Now()
		client, done := slow{httptest.NewRecorder()}, make(chan bool)
		go func() {
			request := httptest.NewRequest(http.MethodPost, chats, strings.NewReader(chat(`,"max_tokens":50`+everyUsage)))
			request.Header.Set("Content-Type", "application/json")
			r.ServeHTTP(client, request)
			close(done)
		}()
		synctest.Wait()
		fast := post(r, chats, chat(`,"max_tokens":50`+everyUsage))
		if took := time.Since(begin); took > 520*time.Millisecond {
			t.Errorf("next to a slow client it takes %v", took)
		}
		if n := len(events(t, fast.Body)); n != 53 { // first, 50, usage, done
			t.Errorf("%d events of 50 tokens", n)
		}
		<-done
		all := events(t, client.Body)
		if len(all) > 15 || parse(t, []byte(all[len(all)-2])).Usage.Completion != 50 {
			t.Errorf("a slow client gets %d events: %q", len(all), all)
		}
	})
}

func TestStreamInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := timed(1)
		s.StreamInterval = 16
		r := imitation.New(s)
		defer r.Close()
		var got []int
		for _, e := range events(t, post(r, chats, chat(`,"max_tokens":40`+everyUsage)).Body) {
			if e != "[DONE]" {
				got = append(got, parse(t, []byte(e)).Usage.Completion)
			}
		}
		if fmt.Sprint(got) != "[0 1 17 33 40 40]" {
			t.Errorf("usage is %v: the first token and the last are never held back, the others until 16", got)
		}
	})
}

func TestClosedReplicaEndsItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which every goroutine has to end
		r := imitation.New(timed(1))
		code := make(chan int)
		go func() {
			code <- post(r, chats, chat(`,"max_tokens":900,"ignore_eos":true`)).Code
		}()
		time.Sleep(50 * time.Millisecond)
		r.Close()
		if got := <-code; got != 500 {
			t.Errorf("a request in a closed replica ends with %d", got)
		}
	})
}
