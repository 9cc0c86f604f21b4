package imitation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"speceval/internal/fleet/imitation"
)

func TestParseFaults(t *testing.T) {
	f, err := imitation.ParseFaults("crash=0.1, 500=0.2,slow=0.5")
	if want := (imitation.Faults{Crash: 0.1, Error: 0.2, Slow: 0.5}); err != nil || f != want {
		t.Errorf("%+v, %v", f, err)
	}
	for text, want := range map[string]string{
		"crush=1": `fault "crush" is none of crash hang 500 cut garbage slow`, "crash": `rate ""`, "cut=2": `rate "2" is not a number from 0 to 1`,
		"cut=NaN": `rate "NaN"`, "cut=0.6,hang=0.6": "add up to 1.2, more than 1",
	} {
		if _, err := imitation.ParseFaults(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// send posts to a listening replica.
func send(t *testing.T, r *imitation.Replica, body string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+chats, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	return transport.RoundTrip(request)
}

func TestErrorFault(t *testing.T) {
	s := dense()
	s.Faults.Error = 1
	r := imitation.New(s)
	defer r.Close()
	w := post(r, chats, chat(""))
	if w.Code != 500 || w.Body.String() != `{"error":{"message":"Internal server error","type":"InternalServerError","param":null,"code":500}}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	all := events(t, post(r, chats, chat(`,"stream":true`)).Body)
	if n := len(all); n < 3 || all[n-1] != "[DONE]" || all[n-2] != `{"error":{"message":"Internal server error","type":"InternalServerError","param":null,"code":500}}` {
		t.Errorf("a stream ends with %q", all)
	}
	r.SetFaults(imitation.Faults{})
	if w := post(r, chats, chat("")); w.Code != 200 {
		t.Errorf("without faults: %d %s", w.Code, w.Body)
	}
}

func TestSlowFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := timed(1)
		s.Faults.Slow = 1
		r := imitation.New(s)
		defer r.Close()
		begin := time.Now()
		post(r, chats, chat(`,"max_tokens":20,"ignore_eos":true`))
		r.SetFaults(imitation.Faults{})
		slow := time.Since(begin)
		post(r, chats, chat(`,"max_tokens":20,"ignore_eos":true`))
		if normal := time.Since(begin) - slow; slow != 2*time.Second || normal != 200*time.Millisecond {
			t.Errorf("slow %v, then %v", slow, normal)
		}
	})
}

func TestCrashRefusesConnectionsUntilTheRestart(t *testing.T) {
	s := dense()
	s.Restart = 500 * time.Millisecond
	r := imitation.New(s)
	defer r.Close()
	if err := r.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if response, err := send(t, r, chat("")); err != nil || response.StatusCode != 200 {
		t.Fatalf("before the crash: %v, %v", response, err)
	}
	r.Crash()
	for refused := false; ; {
		response, err := send(t, r, chat(`,"max_tokens":1`))
		if err != nil {
			refused = refused || errors.Is(err, syscall.ECONNREFUSED)
			continue
		}
		response.Body.Close()
		if response.StatusCode != 200 {
			continue // its last words
		}
		if got := metric(t, r, "generation_tokens_total"); !refused || got != 1 {
			t.Errorf("a connection was refused: %t; the new process has counted %v tokens", refused, got)
		}
		return
	}
}

func TestHungReplicaIsRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := timed(1)
		s.Faults.Hang, s.Restart = 1, 30*time.Second
		r := imitation.New(s)
		defer r.Close()
		code := make(chan int)
		go func() { code <- post(r, chats, chat(`,"max_tokens":100,"ignore_eos":true`)).Code }()
		time.Sleep(10 * time.Second)
		before := metric(t, r, "generation_tokens_total")
		time.Sleep(10 * time.Second)
		after, running := metric(t, r, "generation_tokens_total"), metric(t, r, "num_requests_running")
		if health := get(r, "/health").Code; before != after || before >= 100 || running != 1 || health != 200 {
			t.Errorf("tokens %v, then %v, %v running, health %d", before, after, running, health)
		}
		if got := <-code; got != 500 {
			t.Errorf("the request ends with %d", got)
		}
		r.SetFaults(imitation.Faults{})
		time.Sleep(31 * time.Second) // down
		if w := post(r, chats, chat("")); w.Code != 200 {
			t.Errorf("after the restart: %d", w.Code)
		}
	})
}

// TestFaultsRepeat: the same seed draws the same faults, in order of arrival,
// and at the rates asked for.
func TestFaultsRepeat(t *testing.T) {
	draw := func(seed uint64) []string {
		var log buffer
		s := dense()
		s.Seed, s.Log = seed, &log
		s.Faults = imitation.Faults{Error: 0.2, Garbage: 0.3}
		r := imitation.New(s)
		defer r.Close()
		for range 300 {
			post(r, chats, chat(`,"max_tokens":4`))
		}
		var kinds []string
		for line := range strings.Lines(log.String()) {
			var e imitation.Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, e.Fault)
		}
		return kinds
	}
	first, again, other := draw(1), draw(1), draw(2)
	if fmt.Sprint(first) != fmt.Sprint(again) || fmt.Sprint(first) == fmt.Sprint(other) {
		t.Error("faults do not follow the seed")
	}
	counts := map[string]int{}
	for _, k := range first {
		counts[k]++
	}
	if len(first) != 300 || counts["500"] < 30 || counts["500"] > 90 || counts["garbage"] < 55 || counts["garbage"] > 125 {
		t.Errorf("of %d requests: %v", len(first), counts)
	}
}

func TestLogHasEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log buffer
		s := timed(1)
		s.Log, s.Index = &log, 3
		r := imitation.New(s)
		defer r.Close()
		ctx, leave := context.WithCancel(t.Context())
		for i, more := range []string{`,"max_tokens":900`, `,"max_tokens":40`, `,"max_tokens":10`, `,"temperature":-1`} {
			go postWith(ctx, r, chats, strings.Replace(chat(`,"ignore_eos":true`+more), `"seed":4`, fmt.Sprintf(`"seed":%d`, i), 1))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(500 * time.Millisecond)
		leave()
		synctest.Wait()
		want := `{"seconds":0.003,"replica":3,"seed":3,"id":"","fault":"","tokens":0,"outcome":"refused"}
{"seconds":0.002,"replica":3,"seed":2,"id":"","fault":"","tokens":10,"outcome":"length"}
{"seconds":0.001,"replica":3,"seed":1,"id":"","fault":"","tokens":40,"outcome":"length"}
{"seconds":0,"replica":3,"seed":0,"id":"","fault":"","tokens":50,"outcome":"aborted"}
`
		if log.String() != want {
			t.Errorf("the log is\n%s\nwant\n%s", log.String(), want)
		}
	})
}
