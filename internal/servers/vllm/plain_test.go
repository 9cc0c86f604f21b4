package vllm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
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
			got, err := client(t, Options{Plain: plain}, says(200, body)).whole(t.Context(), r)
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

// TestRefusedFields: what a server can do without is left out or renamed, once and for all;
// what would change the answers is an error.
func TestRefusedFields(t *testing.T) {
	const (
		otherName = `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`
		less      = `{"detail":[{"type":"extra_forbidden","loc":["body","FIELD"],"msg":"Extra inputs are not permitted"}]}`
		tooLong   = `{"error":{"message":"This model's maximum context length is 256 tokens. However, you requested 4 output tokens","type":"BadRequestError"}}`
	)
	for name, tt := range map[string]struct {
		status   int
		refusals [][2]string // of a field
		context  int         // of a server of vLLM; 0: of another
		requests int         // for three answers; 0: an error
		says     string
	}{
		"max_tokens":                    {400, [][2]string{{"max_tokens", otherName}}, 0, 4, ""},
		"seed":                          {422, [][2]string{{"seed", less}}, 0, 4, "takes no seed"},
		"all three":                     {400, [][2]string{{"seed", less}, {"max_tokens", otherName}, {"stream_options", less}}, 0, 6, "may not tell tokens; takes no seed"},
		"temperature":                   {400, [][2]string{{"temperature", `{"error":{"message":"it does not support 0.6","param":"temperature"}}`}}, 0, 0, "does not support 0.6"},
		"top_p":                         {400, [][2]string{{"top_p", `{"error":{"message":"top_p must be 1"}}`}}, 0, 0, "--set sampling.leave_out=top_p"},
		"stream":                        {400, [][2]string{{"stream", `{"error":{"message":"streaming is not supported"}}`}}, 0, 0, "--set sampling.leave_out=stream"},
		"the other name, too":           {400, [][2]string{{"max_tokens", otherName}, {"max_completion_tokens", `max_completion_tokens is too large: 4`}}, 0, 0, "too large"},
		"seed by a server that fails":   {500, [][2]string{{"seed", "no seed"}}, 0, 0, "no seed"},
		"max_tokens of vLLM":            {400, [][2]string{{"max_tokens", otherName}}, 1000, 0, "Unsupported"},
		"a context that is short":       {400, [][2]string{{"max_tokens", tooLong}}, 256, 6, ""},
		"a context that is not known":   {400, [][2]string{{"max_tokens", tooLong}}, -1, 0, "context length"},
		"seed of vLLM, which has to be": {400, [][2]string{{"seed", less}}, 1000, 0, "seed"},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []map[string]any
			c := client(t, Options{Plain: tt.context == 0}, func(w http.ResponseWriter, r *http.Request) {
				var body map[string]any
				json.NewDecoder(r.Body).Decode(&body)
				sent = append(sent, body)
				for _, refusal := range tt.refusals {
					if _, found := body[refusal[0]]; found {
						says(tt.status, strings.Replace(refusal[1], "FIELD", refusal[0], 1))(w, r)
						return
					}
				}
				io.WriteString(w, map[bool]string{true: chunk("a", `"stop"`, 1) + done, false: good}[body["stream"] == true])
			})
			c.Treat(tt.context == 0, max(tt.context, 0))
			for range 2 {
				if _, err := c.Stream(t.Context(), plainRequest(), nil); tt.requests == 0 && (err == nil || !strings.Contains(err.Error(), tt.says)) || tt.requests > 0 && err != nil {
					t.Errorf("error %v, want %q", err, tt.says)
				}
			}
			if tt.requests == 0 {
				if wasted := len(sent) - 2; wasted > 0 && name != "the other name, too" {
					t.Errorf("%d requests that nothing was learnt for", wasted)
				}
				return
			}
			if _, err := c.whole(t.Context(), plainRequest()); err != nil {
				t.Error(err)
			}
			last := sent[len(sent)-1]
			if len(sent) != tt.requests || tt.context == 0 && last["max_tokens"] != 4.0 && last["max_completion_tokens"] != 4.0 {
				t.Errorf("%d requests for three, want %d; the last was %v", len(sent), tt.requests, last)
			}
			if said := strings.Join(c.Refused(), "; "); (said == "") != (tt.says == "") || !strings.Contains(strings.ReplaceAll(said, "takes no stream_options, so it ", ""), tt.says) {
				t.Errorf("says %q", said)
			}
		})
	}
	r := plainRequest()
	r.LeaveOut = LeaveStream
	heard := ""
	c := client(t, Options{Plain: true, Idle: time.Minute}, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), "stream") {
			io.WriteString(w, good)
		}
	})
	if answer, err := c.Stream(t.Context(), r, func(p Piece) { heard += p.Text }); err != nil || answer.Text == "" || heard != answer.Text {
		t.Errorf("%q, heard %q, %v", answer.Text, heard, err)
	}
}

// TestManner changes how a server is spoken to and back.
func TestManner(t *testing.T) {
	asked := make(chan string, 9)
	c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		says(500, "no list")(w, r)
	})
	c.Treat(true, 0)
	if _, err := c.Metrics(t.Context()); !c.Plain() || !strings.Contains(err.Error(), "not offered") {
		t.Errorf("metrics of a plain server: %v", err)
	}
	if len(asked) > 0 {
		t.Errorf("%d questions", len(asked))
	}
	if err := c.Health(t.Context()); err != nil || <-asked != "/v1/models" {
		t.Errorf("a plain server that answers is ill: %v", err)
	}
	c.Treat(false, 0)
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
	for later, want := range map[time.Duration]bool{0: false, time.Second: true} {
		if e := (&Error{Kind: ServerFault, Status: 503, Later: later}); e.Limited() != want {
			t.Errorf("a server that is busy for %v is limited: %t", later, !want)
		}
	}
}
