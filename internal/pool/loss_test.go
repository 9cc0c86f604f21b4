package pool_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/pool"
	"speceval/internal/vllm"
)

// cutting are servers that break half of their answers.
var cutting = imitation.Settings{Unrepeatable: true, Speed: 20, Faults: imitation.Faults{Cut: 0.5}, Timing: fleet.Timing{Base: time.Millisecond}}

// TestRulesForLostAnswers counts what becomes of them.
func TestRulesForLostAnswers(t *testing.T) {
	plain := cutting
	plain.Plain = true
	for name, tt := range map[string]struct {
		servers          imitation.Settings
		rule             vllm.OnLoss
		ids              bool
		continues, again bool
		refuses          bool
	}{
		"continue":          {servers: cutting, rule: vllm.Continue, ids: true, continues: true},
		"again":             {servers: cutting, rule: vllm.AskAgain, ids: true, again: true},
		"refuse, and can":   {servers: cutting, rule: vllm.Refuse, ids: true, continues: true},
		"refuse":            {servers: cutting, rule: vllm.Refuse, refuses: true},
		"plain":             {servers: plain, rule: vllm.Continue, ids: true, again: true}, // which it is not asked for
		"plain, and refuse": {servers: plain, rule: vllm.Refuse, refuses: true},
	} {
		p, _ := served(t, tt.servers, 1)
		if _, err := p.Check(t.Context(), pool.Requirement{Model: "m", ContextTokens: 100, Foreign: true}); err != nil {
			t.Fatal(err)
		}
		continued, again, anew, refused := 0, 0, 0, 0
		for seed := range int64(12) {
			r := asked(seed, tt.ids)
			r.OnLoss = tt.rule
			begin := time.Now()
			answer, _, err := p.Stream(t.Context(), r, func(p vllm.Piece) {
				if p.Anew {
					anew++
				}
			})
			if errors.Is(err, vllm.ErrLost) && strings.Contains(err.Error(), "seed") {
				refused++
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if took := answer.Finished.Sub(answer.Sent); took <= 0 || took > time.Since(begin) || answer.First.Before(begin) {
				t.Errorf("%s: it took %v of %v, first at %v after %v", name, took, time.Since(begin), answer.First, begin)
			}
			continued, again = continued+answer.Continued, again+answer.Again
		}
		if (continued > 0) != tt.continues || (again > 0) != tt.again || again != anew || (refused > 0) != tt.refuses {
			t.Errorf("%s: %d continued, %d again, %d anew, %d refused", name, continued, again, anew, refused)
		}
	}
}

// TestNoAnswerIsLostThatWasNotBegun asks a server again that did not begin, or may have
// worked on an answer for long.
func TestNoAnswerIsLostThatWasNotBegun(t *testing.T) {
	const whole = `data: {"model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	for name, tt := range map[string]struct {
		status  int
		refuses bool
	}{
		"busy": {http.StatusTooManyRequests, false}, "away": {http.StatusServiceUnavailable, false},
		"gone": {http.StatusBadGateway, true}, "late": {http.StatusGatewayTimeout, true},
	} {
		asks := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asks++; asks == 1 {
				if !tt.refuses {
					w.Header().Set("Retry-After-Ms", "1")
				}
				w.WriteHeader(tt.status)
				return
			}
			fmt.Fprint(w, whole)
		}))
		defer server.Close()
		client, err := vllm.New(server.URL, vllm.Options{Plain: true})
		if err != nil {
			t.Fatal(err)
		}
		p := pool.New([]pool.Replica{{Client: client}}, pool.Settings{Window: 1, Attempts: 5, Outage: time.Minute})
		defer p.Close()
		r := asked(1, false)
		r.OnLoss = vllm.Refuse
		answer, _, err := p.Stream(t.Context(), r, nil)
		if errors.Is(err, vllm.ErrLost) != tt.refuses || !tt.refuses && (err != nil || answer.Again > 0 || asks != 2) {
			t.Errorf("%s: %d requests, %d again, %v", name, asks, answer.Again, err)
		}
	}
}
