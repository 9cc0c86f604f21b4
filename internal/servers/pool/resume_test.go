package pool_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
)

// cutting are servers that break half of their answers.
var cutting = imitation.Settings{Unrepeatable: true, Speed: 20, Faults: imitation.Faults{Cut: 0.5}, Timing: fleet.Timing{Base: time.Millisecond}}

// TestRulesForLostAnswers counts what becomes of them. What was heard of an answer is its beginning
// to the end.
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
		p, _ := served(t, tt.servers, 1, false)
		continued, again, anew, refused := 0, 0, 0, 0
		for seed := range int64(5) {
			r := asked(seed, tt.ids)
			r.OnLoss = tt.rule
			begin := time.Now()
			var heard vllm.Prefix
			answer, _, err := p.Stream(t.Context(), r, func(p vllm.Piece) {
				if p.Anew {
					anew, heard = anew+1, vllm.Prefix{}
				}
				heard.Add(p)
			})
			if errors.Is(err, vllm.ErrLost) && strings.Contains(err.Error(), "seed") {
				refused++
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if heard.Text != answer.Text || heard.Finish != answer.Finish || !slices.Equal(heard.IDs, answer.TokenIDs) {
				t.Errorf("%s: heard %+v\nof %+v", name, heard, answer)
			}
			if took := answer.Finished.Sub(answer.Sent); took <= 0 || took > time.Since(begin) {
				t.Errorf("%s: it took %v of %v", name, took, time.Since(begin))
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
		asks := 9
		p := one(t, pool.Settings{Window: 1, Attempts: 5, Outage: time.Minute}, func(w http.ResponseWriter, _ *http.Request) {
			if asks++; asks == 1 {
				if !tt.refuses {
					w.Header().Set("Retry-After-Ms", "1")
				}
				w.WriteHeader(tt.status)
				return
			}
			fmt.Fprint(w, whole)
		})
		asks = 0
		r := asked(1, false)
		r.OnLoss = vllm.Refuse
		answer, _, err := p.Stream(t.Context(), r, nil)
		if errors.Is(err, vllm.ErrLost) != tt.refuses || !tt.refuses && (err != nil || answer.Again > 0 || asks != 2) {
			t.Errorf("%s: %d requests, %d again, %v", name, asks, answer.Again, err)
		}
	}
}

// one is a pool of one server.
func one(t *testing.T, s pool.Settings, handler http.HandlerFunc) *pool.Pool {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	replica := pool.Replica{Client: must(vllm.New(server.URL, vllm.Options{}))}
	p := must(pool.Open(t.Context(), []pool.Replica{replica}, pool.Requirement{Model: "m", Foreign: true}, s))
	t.Cleanup(p.Close)
	return p
}

// served are replicas of an imitated model, in a pool.
func served(t *testing.T, s imitation.Settings, n int, continues bool) (*pool.Pool, []*imitation.Replica) {
	t.Helper()
	var all []*imitation.Replica
	var clients []pool.Replica
	for i := range n {
		s.Model, s.Index, s.Restart = "m", i, time.Millisecond
		s.Author = fleet.MustAuthor(fleet.AuthorSettings{Model: "m", AnswerTokens: 100, ThinkingTokens: 200})
		r := running(t, s)
		all, clients = append(all, r), append(clients, pool.Replica{Name: fmt.Sprint("r", i), Client: must(vllm.New(r.URL(), vllm.Options{}))})
	}
	need := pool.Requirement{Model: "m", ContextTokens: 100, Foreign: true, Continues: continues}
	p := must(pool.Open(t.Context(), clients, need, pool.Settings{Window: 8, Attempts: 20}))
	t.Cleanup(p.Close)
	return p, all
}

// asked is a request with a seed.
func asked(seed int64, ids bool) vllm.Request {
	return vllm.Request{
		Sampling: vllm.Sampling{Model: "m", Temperature: 0.6, TopP: 1, MaxTokens: 10000},
		Messages: []vllm.Message{{Role: "user", Content: "?"}}, Seed: seed, TokenIDs: ids,
	}
}

// TestRefusedContinuationsAreNoAttempts: an answer that a server does not continue begins anew.
func TestRefusedContinuationsAreNoAttempts(t *testing.T) {
	r := imitation.New(imitation.Settings{Model: "m"})
	defer r.Close()
	p := one(t, pool.Settings{Window: 1, Attempts: 1}, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/v1/completions" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		r.ServeHTTP(w, q)
	})
	q := asked(1, true)
	q.Prefix = &vllm.Prefix{PromptIDs: fleet.Tokenize("?"), IDs: []int32{72}, Text: "H"}
	if answer, _, err := p.Stream(t.Context(), q, nil); err != nil || answer.Again != 1 {
		t.Errorf("%d again, %v", answer.Again, err)
	}
}

// TestChecksWhoContinues asks servers that do and that do not.
func TestChecksWhoContinues(t *testing.T) {
	for name, test := range map[string]struct {
		imitation.Settings
		asked, want bool
	}{
		"vLLM": {asked: true, want: true}, "thinking": {Settings: imitation.Settings{Thinking: true, ReasoningParser: "qwen3"}, asked: true, want: true},
		"nobody asked": {}, "plain": {Settings: imitation.Settings{Plain: true}, asked: true},
	} {
		p, _ := served(t, test.Settings, 1, test.asked)
		found := p.Served()
		if len(found) != 1 || p.Continues() != test.want || found[0].Plain != test.Plain {
			t.Errorf("%s: %+v", name, found)
		}
		if noted := strings.Contains(strings.Join(pool.Notes(found), "\n"), "cannot continue an answer"); noted != (test.asked && !test.want) {
			t.Errorf("%s: notes %q", name, pool.Notes(found))
		}
	}
}
