package pool

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"speceval/internal/servers/vllm"
)

// foreigner makes a server one that is not vLLM, in one of several dialects.
func foreigner(change func(d *dialect)) func(s *server) {
	return func(s *server) {
		d := &dialect{models: `{"data":[{"id":"m","owned_by":"llamacpp"}]}`, version: 404, names: "m", header: "llama.cpp", usage: true, window: 9}
		if change != nil {
			change(d)
		}
		s.handler = d.serve
	}
}

// dialect is what a server says that is not vLLM.
type dialect struct {
	version int    // status of /version
	models  string // "": no list
	names   string // the model that answers; "": not told
	header  string
	usage   bool
	key     bool                  // a key is wanted, and not given
	field   string                // of a request, that is refused
	window  int                   // most requests at a time; more get 429
	greedy  bool                  // seeds do not count
	end     func(seed int) string // the finish_reason; nil: stop
	most    int                   // tokens of an answer; more are refused; 0: any
}

func (d *dialect) serve(s *server, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", d.header)
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.URL.Path == "/version":
		w.WriteHeader(d.version)
		io.WriteString(w, "<html>")
	case d.key:
		w.WriteHeader(401)
	case r.URL.Path == "/v1/models" && d.models != "":
		io.WriteString(w, d.models)
	case r.URL.Path == "/v1/chat/completions":
		d.chat(s, w, r, string(body))
	default:
		s.set(func() { s.astray = append(s.astray, r.URL.Path) })
		w.WriteHeader(404)
	}
}

func (d *dialect) chat(s *server, w http.ResponseWriter, r *http.Request, body string) {
	for _, field := range []string{"top_k", "min_p", "return_token_ids", "continuous_usage_stats", "chat_template_kwargs", d.field} {
		if field != "" && strings.Contains(body, `"`+field+`"`) {
			w.WriteHeader(422)
			fmt.Fprintf(w, `{"detail":"Unexpected fields in the request: {'%s'}"}`, field)
			return
		}
	}
	number := func(field string) (n int) {
		_, rest, _ := strings.Cut(body, `"`+field+`":`)
		fmt.Sscan(rest, &n)
		return n
	}
	seed := number("seed")
	if d.most > 0 && number("max_tokens") > d.most {
		w.WriteHeader(400)
		return
	}
	full := false
	s.set(func() {
		s.running++
		full = s.running > d.window
		s.seeds = append(s.seeds, seed)
		s.most = max(s.most, s.running)
	})
	defer s.set(func() { s.running-- })
	if full {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(429)
		return
	}
	if !rest(r, time.Second) {
		return
	}
	usage := ""
	if d.usage {
		usage = `,"usage":{"prompt_tokens":3,"completion_tokens":5}`
	}
	text := fmt.Sprint("a", seed)
	if d.greedy {
		text = "a"
	}
	end := "stop"
	if d.end != nil {
		end = d.end(seed)
	}
	fmt.Fprintf(w, "data: {\"id\":\"%d\",\"model\":%q,\"system_fingerprint\":\"b1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":%q}]%s}\n\n", seed, d.names, text, end, usage)
}

var foreign = Requirement{Model: "m", ContextTokens: 4096, Foreign: true, Sampling: vllm.Sampling{Model: "m", Temperature: 0.6, TopP: 0.95, MaxTokens: 99}}

func TestCheckOfOtherServers(t *testing.T) {
	tests := []struct {
		name     string
		change   func(d *dialect)
		need     func(n *Requirement)
		software string   // or, of an error,
		want     []string // words of it, or of notes
	}{
		{"llama.cpp", nil, nil, "llama.cpp b1", []string{"top_k", "how long its context is"}},
		{"Ollama", func(d *dialect) { d.models, d.header = `{"data":[{"id":"m:latest","owned_by":"library"}]}`, "" }, nil, "Ollama", nil},
		{"a list with its context", func(d *dialect) { d.models = `{"data":[{"id":"m","max_model_len":4096}]}` }, nil, "llama.cpp b1", nil},
		{"hundreds of models", func(d *dialect) {
			d.models = `{"data":[` + strings.Repeat(`{"id":"x"},`, 300) + `{"id":"p/m"}]}`
			d.header, d.names = "cloudflare", "m-2024-08-06"
		}, nil, "unknown server (cloudflare)", nil},
		{"hundreds without it", func(d *dialect) { d.models = `{"data":[{"id":"x"}` + strings.Repeat(`,{"id":"m-mini"}`, 300) + `]}` }, nil, "", []string{`"x"`, "281 more", `not "m"`}},
		{"no list", func(d *dialect) { d.models, d.header = "", "" }, nil, unknown, nil},
		{"an end in other words", func(d *dialect) { d.end = func(int) string { return "end_turn" } }, nil, "llama.cpp b1", nil},
		{"an unknown end", func(d *dialect) { d.end = func(int) string { return "novel_end" } }, nil, "", []string{`"novel_end"`, "stop or length"}},
		{"an unknown end of another answer", func(d *dialect) {
			d.greedy, d.end = true, func(seed int) string { return []string{"length", "novel_end"}[seed%2] }
		}, nil, "", []string{`"novel_end"`}},
		{"an empty list", func(d *dialect) { d.models = `{"data":[]}` }, nil, "llama.cpp b1", nil},
		{"no list, and another model", func(d *dialect) { d.models, d.names = "", "x" }, nil, "", []string{`"m"`, `"x"`}},
		{"nothing told", func(d *dialect) { d.usage, d.names = false, "" }, nil, "llama.cpp b1", []string{"tokens", "which model answers"}},
		{"a version of no vLLM", func(d *dialect) { d.version = 200 }, nil, "llama.cpp b1", nil},
		{"a version for those with a key", func(d *dialect) { d.version = 403 }, nil, "llama.cpp b1", nil},
		{"no seed", func(d *dialect) { d.field = "seed" }, nil, "llama.cpp b1", []string{"takes no seed"}},
		{"a pattern in its list", func(d *dialect) { d.models = `{"data":[{"id":"x"},{"id":"*"}]}` }, nil, "llama.cpp b1", []string{`lists "*"`}},
		{"a prefix that answers leave out", func(d *dialect) { d.models = `{"data":[{"id":"m"},{"id":"p/m"}]}` }, func(n *Requirement) { n.Model = "p/m" }, "llama.cpp b1", []string{`"p/m", and "m" answers`}},
		{"no top_p of 1", func(d *dialect) { d.field = "top_p" }, func(n *Requirement) { n.Sampling.TopP = 1 }, "llama.cpp b1", []string{"takes no top_p"}},
		{"no temperature", func(d *dialect) { d.field = "temperature" }, nil, "", []string{"--set sampling.leave_out=temperature"}},
		{"a wrong key", func(d *dialect) { d.key, d.version = true, 401 }, nil, "", []string{"key refused"}},
		{"it fails", func(d *dialect) { d.version = 500 }, nil, "", []string{"server fault"}},
		{"greedy", func(d *dialect) { d.greedy = true }, nil, "llama.cpp b1", []string{"same answer to different seeds"}},
		{"top_k", nil, func(n *Requirement) { n.Sampling.TopK = 20 }, "", []string{"--set sampling.leave_out=top_k"}},
		{"what is left out", func(d *dialect) { d.field = "temperature" }, func(n *Requirement) { n.Sampling.LeaveOut = vllm.LeaveTemperature | vllm.LeaveStream }, "llama.cpp b1", []string{"temperature, stream"}},
		{"template arguments", nil, func(n *Requirement) { n.Sampling.TemplateArguments = map[string]any{"enable_thinking": true} }, "", []string{"chat_template_kwargs"}},
		{"a thinking budget", nil, func(n *Requirement) { n.Sampling.ThinkingBudget = 8 }, "", []string{"thinking budget"}},
		{"vLLM alone", nil, func(n *Requirement) { n.Foreign = false }, "", []string{"not found (404)"}},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			f := start(t, 1)
			foreigner(tt.change)(f.servers[0])
			need := foreign
			if tt.need != nil {
				tt.need(&need)
			}
			p, end, err := f.open(Settings{Window: 1, Attempts: 1}, need)
			defer end()
			said := fmt.Sprint(err)
			if (err == nil) != (tt.software != "") {
				t.Fatal(err)
			}
			if err == nil {
				served := p.Served()
				said = strings.Join(Notes(served), "\n")
				if !served[0].Plain || served[0].Software != tt.software || served[0].ThinkEnd != -1 {
					t.Errorf("served %+v, want %q", served[0], tt.software)
				}
				if greedy := strings.Contains(said, "same answer"); greedy != slices.Contains([]string{"greedy", "no seed"}, tt.name) {
					t.Errorf("said %q", said)
				}
				if astray := f.servers[0].astray; len(astray) > 0 && !slices.Equal(astray, []string{"/v1/models"}) {
					t.Errorf("asked for %q, which only vLLM has", astray)
				}
			}
			for _, want := range tt.want {
				if !strings.Contains(said, want) {
					t.Errorf("said %q, want %q", said, want)
				}
			}
		})
	}
}

// TestAShortContext: what is asked for fits in, of another server and of vLLM.
func TestAShortContext(t *testing.T) {
	for name, change := range map[string]func(*server){
		"plain": foreigner(func(d *dialect) { d.models, d.most = `{"data":[{"id":"m","max_model_len":2000}]}`, 1500 }),
		"vLLM":  func(s *server) { s.context = 2000 },
	} {
		bubble(t, name, func(t *testing.T) {
			f := start(t, 1)
			change(f.servers[0])
			p, end := f.pool(Settings{Window: 1, Attempts: 1}, foreign)
			defer end()
			r := asked(1)
			r.MaxTokens = 3000
			if _, _, err := p.Stream(t.Context(), r, nil); err != nil {
				t.Error(err)
			}
			if notes := strings.Join(Notes(p.Served()), ""); !strings.Contains(notes, "a context of 2000 tokens") {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// TestMixedPool has vLLM of two versions beside another server: each is asked in
// its own way, and the notes say that they differ.
func TestMixedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 3)
		foreigner(nil)(f.servers[1])
		f.servers[2].set(func() { f.servers[2].version, f.servers[2].caching = "0.22.0", "True" })
		p, end := f.pool(Settings{Window: 2, Attempts: 1}, foreign)
		defer end()
		served := p.Served()
		if served[0].Plain || !served[1].Plain || served[2].Software != "vLLM" {
			t.Fatalf("%+v", served)
		}
		if said := strings.Join(Notes(served), "\n"); !strings.Contains(said, "llama.cpp b1, vLLM 0.22.0, vLLM 0.23.0") {
			t.Errorf("notes %q", said)
		}
		counts := answered(t, ask(p, t.Context(), 1, 12)(), 1)
		if counts["r0"] != 4 || counts["r1"] != 4 || counts["r2"] != 4 {
			t.Errorf("answers by %v", counts)
		}
		if len(f.servers[1].astray) > 0 {
			t.Errorf("asked for %q", f.servers[1].astray)
		}
	})
}

// TestRateLimit has a server that takes two requests at a time: the others wait
// for as long as it says, and it stays in.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 1)
		foreigner(func(d *dialect) { d.window = 2 })(f.servers[0])
		p, end := f.pool(Settings{Window: 6, Attempts: 1, Outage: time.Minute}, foreign)
		defer end()
		started := time.Now()
		answered(t, ask(p, t.Context(), 1, 6)(), 1)
		if took := time.Since(started); took != 7*time.Second || len(p.Lost()) > 0 || f.servers[0].arrived() != 2+3+4+2 {
			t.Errorf("%v, %d requests, lost %q", took, f.servers[0].arrived(), p.Lost())
		}
		if !f.reported("r0 takes no more requests") {
			t.Errorf("log %q", f.log())
		}
	})
}

// TestEndlessRateLimit: a request is not put off for ever.
func TestEndlessRateLimit(t *testing.T) {
	pooled(t, "", 1, Settings{Window: 2, Attempts: 2, Outage: time.Minute}, func(t *testing.T, f *fleet, p *Pool) {
		f.servers[0].answer = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(429) }
		started := time.Now()
		o := ask(p, t.Context(), 1, 1)()[0]
		var e *vllm.Error
		if took := time.Since(started); !errors.As(o.err, &e) || e.Status != 429 || took < 30*time.Second || took > 3*time.Minute || p.places() != 2 {
			t.Errorf("%v after %v", o.err, took)
		}
		if n := f.servers[0].arrived(); n > 12 {
			t.Errorf("asked %d times", n)
		}
	})
}

// TestRestsGrow has a server that takes no more requests twice in a row, and once
// again after it has answered, and never says for how long.
func TestRestsGrow(t *testing.T) {
	pooled(t, "", 1, Settings{Window: 1, Attempts: 1, Outage: time.Minute}, func(t *testing.T, f *fleet, p *Pool) {
		s := f.servers[0]
		s.answer = func(w http.ResponseWriter, r *http.Request, seed int) {
			if n := s.arrived(); n == 3 || n == 5 {
				s.say(w, seed)
				return
			}
			w.WriteHeader(429)
		}
		for i, want := range []time.Duration{3 * time.Second, time.Second} {
			started := time.Now()
			answered(t, ask(p, t.Context(), i, 1)(), i)
			if took := time.Since(started); took != want {
				t.Errorf("request %d took %v, want %v", i, took, want)
			}
		}
	})
}
