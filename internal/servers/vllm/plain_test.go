package vllm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	same := map[string]bool{
		"m": true, "m-2024-08-06": true, "m-0613": true, "m:latest": true, "m@main": true, "a/p/m:free": true, "p/M-0613": true,
		"": false, "m-mini": false, "m-70b": false, "m-405b": false, "m-3": false, "mm": false, "m2": false, "m/p": false, "m-": false,
	}
	for named, want := range same {
		if SameModel("m", named) != want {
			t.Errorf("asked for m, %q answers: %t", named, !want)
		}
	}
	if !SameModel("/models/m", "/models/m@main") || !SameModel("p/m", "p/m") || SameModel("p/m", "m") || SameModel("", "m") {
		t.Error("names with slashes")
	}
	for _, tt := range []struct {
		asked, listed string
		want          bool
	}{{"m", "*", true}, {"openai/m", "openai/*", true}, {"m", "openai/*", false}, {"openai/", "openai/*", false}, {"pub/m:free", "pub/m:free", true}, {"m", "p/m", true}, {"m", "mm", false}} {
		if Serves(tt.asked, tt.listed) != tt.want {
			t.Errorf("asked %q, listed %q: %t", tt.asked, tt.listed, !tt.want)
		}
	}
	// vLLM names the model as it was asked, others in their ways.
	for _, tt := range []struct {
		asked, named string
		vllm, plain  bool
	}{
		{"m", "m", true, true}, {"m", "", true, true}, {"m", "M", false, true}, {"m", "m-2024-08-06", false, true}, {"m", "gpt-4o", false, false},
		{"openai/gpt-x", "gpt-x", false, true}, {"pub/m:free", "m", false, true}, {"pub/m", "pub/m-x", false, false}, {"pub/m-mini", "pub/m", false, false}, {"pub/m", "pub", false, false},
	} {
		r := plainRequest()
		r.Model = tt.asked
		for plain, want := range map[bool]bool{false: tt.vllm, true: tt.plain} {
			body := strings.Replace(good, `{"choices"`, fmt.Sprintf(`{"model":%q,"choices"`, tt.named), 1)
			got, err := client(t, Options{Plain: plain}, says(200, body)).Complete(t.Context(), r)
			if want && (err != nil || got.Model != tt.named) {
				t.Errorf("asked %q, answered by %q, plain %t: %+v, %v", tt.asked, tt.named, plain, got, err)
			} else if !want {
				if e := fails(t, err, OtherModel); !e.Kind.Permanent() || !strings.Contains(err.Error(), tt.asked) || !strings.Contains(err.Error(), tt.named) {
					t.Errorf("error %v, want one that names both models", err)
				}
			}
		}
	}
}

// picky is a server that refuses some fields, and keeps what it was sent.
type picky struct {
	status  int
	refusal map[string]string // by field
	mu      sync.Mutex
	sent    []map[string]any
}

func (p *picky) serve(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	json.NewDecoder(r.Body).Decode(&body)
	p.mu.Lock()
	p.sent = append(p.sent, body)
	p.mu.Unlock()
	for field, refusal := range p.refusal {
		if _, found := body[field]; found {
			says(p.status, refusal)(w, r)
			return
		}
	}
	if body["stream"] == true {
		io.WriteString(w, chunk("a", `"stop"`, 1)+done)
		return
	}
	io.WriteString(w, good)
}

const (
	wantsTheOtherName = `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`
	wantsLess         = `{"detail":[{"type":"extra_forbidden","loc":["body","FIELD"],"msg":"Extra inputs are not permitted"}]}`
)

// TestRefusedFields: what a server can do without is left out or renamed, once
// and for all; what would change the answers is an error.
func TestRefusedFields(t *testing.T) {
	without := func(field string) string { return strings.Replace(wantsLess, "FIELD", field, 1) }
	tests := []struct {
		name     string
		server   *picky
		requests int // for two streams; 0: an error
		refused  string
	}{
		{"max_tokens", &picky{status: 400, refusal: map[string]string{"max_tokens": wantsTheOtherName}}, 3, ""},
		{"seed", &picky{status: 422, refusal: map[string]string{"seed": without("seed")}}, 3, "takes no seed"},
		{"stream_options", &picky{status: 422, refusal: map[string]string{"stream_options": without("stream_options")}}, 3, "may not tell tokens"},
		{"all three", &picky{status: 400, refusal: map[string]string{"seed": without("seed"), "max_tokens": wantsTheOtherName, "stream_options": without("stream_options")}}, 5, "seed"},
		{"temperature", &picky{status: 400, refusal: map[string]string{"temperature": `{"error":{"message":"Unsupported value: 'temperature' does not support 0.6 with this model.","type":"invalid_request_error","param":"temperature"}}`}}, 0, "'temperature' does not support 0.6"},
		{"top_p", &picky{status: 400, refusal: map[string]string{"top_p": `{"error":{"message":"top_p must be 1"}}`}}, 0, "top_p must be 1"},
		{"the other name, too", &picky{status: 400, refusal: map[string]string{"max_tokens": wantsTheOtherName, "max_completion_tokens": `{"error":{"message":"max_completion_tokens is too large: 4"}}`}}, 0, "too large"},
		{"seeds by a server that fails", &picky{status: 500, refusal: map[string]string{"seed": "no seed"}}, 0, "no seed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, Options{Plain: true}, tt.server.serve)
			for range 2 {
				_, err := c.Stream(t.Context(), plainRequest(), nil)
				if tt.requests == 0 {
					if err == nil || !strings.Contains(err.Error(), tt.refused) {
						t.Errorf("error %v, want %q", err, tt.refused)
					}
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.Complete(t.Context(), plainRequest()); (err == nil) != (tt.requests > 0) {
				t.Error(err)
			}
			sent := tt.server.sent
			last := sent[len(sent)-1]
			if tt.requests > 0 && len(sent) != tt.requests+1 {
				t.Errorf("%d requests for three, want %d", len(sent), tt.requests+1)
			}
			if tt.requests > 0 && last["max_tokens"] != 4.0 && last["max_completion_tokens"] != 4.0 {
				t.Errorf("sent %v, without a limit of tokens", last)
			}
			if said := strings.Join(c.Refused(), "; "); tt.requests > 0 && (said == "") != (tt.refused == "") || tt.requests > 0 && !strings.Contains(said, tt.refused) {
				t.Errorf("says %q", said)
			}
		})
	}
	server := &picky{status: 400, refusal: map[string]string{"max_tokens": wantsTheOtherName}}
	_, err := client(t, Options{}, server.serve).Complete(t.Context(), request())
	if fails(t, err, Rejected); len(server.sent) != 1 {
		t.Errorf("vLLM is asked %d times for what it refuses", len(server.sent))
	}
}

// TestManner changes how a server is spoken to and back.
func TestManner(t *testing.T) {
	asked := make(chan string, 9)
	c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		says(500, "no list")(w, r)
	})
	c.TreatAsPlain(time.Second)
	if _, err := c.Metrics(t.Context()); !c.Plain() || !strings.Contains(err.Error(), "not offered") {
		t.Errorf("metrics of a plain server: %v", err)
	}
	if err := c.ResetPrefixCache(t.Context()); err == nil || len(asked) > 0 {
		t.Errorf("%v, and %d questions", err, len(asked))
	}
	if err := c.Health(t.Context()); err != nil || <-asked != "/v1/models" {
		t.Errorf("a plain server that answers is ill: %v", err)
	}
	c.TreatAsVLLM()
	if err := c.Health(t.Context()); err == nil || <-asked != "/health" || c.Plain() {
		t.Errorf("vLLM that answers 500 is well")
	}
}

func TestLater(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "", 0},
		{"Retry-After", "20", 20 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e99", longestLater},
		{"Retry-After", "soon", 0},
		{"Retry-After", now.Add(time.Minute).Format(http.TimeFormat), time.Minute},
		{"Retry-After", now.Add(-time.Minute).Format(http.TimeFormat), 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
	} {
		h := http.Header{}
		h.Set(tt.name, tt.value)
		if got := later(h, now); got != tt.want {
			t.Errorf("%s: %s is %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestLimited(t *testing.T) {
	c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		says(429, `{"error":{"message":"slow down","type":"rate_limit_error"}}`)(w, r)
	})
	clock := new(notes)
	err := Retry{Attempts: 3, Clock: clock}.Do(t.Context(), func(ctx context.Context) error {
		_, err := c.Complete(ctx, request())
		return err
	})
	if e := fails(t, err, ServerFault); e.Later != 7*time.Second || !slices.Equal(clock.slept, []time.Duration{e.Later, e.Later}) {
		t.Errorf("%+v, waited %v", e, clock.slept)
	}
}
