package pool

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"speceval/internal/servers/vllm"
)

func TestCheck(t *testing.T) {
	need := Requirement{
		Model: "m", ContextTokens: 4096, Version: "0.23.0",
		Sampling: vllm.Sampling{MaxTokens: 4000, ThinkingBudget: 8, TemplateArguments: map[string]any{"enable_thinking": true}},
	}
	tests := []struct {
		name  string
		spoil func(s *server) // the second of two
		want  []string        // in the error; nil if there is none
	}{
		{"well", func(s *server) {}, nil},
		{"built otherwise", func(s *server) { s.version = "0.23.0+cpu" }, nil},
		{"another version", func(s *server) { s.version = "0.22.1" }, []string{"vLLM 0.22.1, want 0.23.0"}},
		{"another model", func(s *server) { s.model = "x" }, nil},
		{"small context", func(s *server) { s.context = 2048 }, []string{"2048", "--max-model-len 4096", "--set sampling.context_tokens=2048 --set sampling.max_tokens=1024"}},
		{"prefix caching", func(s *server) { s.caching = "True" }, []string{"--no-enable-prefix-caching"}},
		{"no metrics", func(s *server) { s.metrics = "up 1\n" }, []string{"--disable-log-stats"}},
		{"budget ignored", func(s *server) { s.ids = "[1,2,3,4,5,6,7,8,9,10,260]" }, []string{"ignores thinking_token_budget"}},
		{"no token", func(s *server) { s.think = []int{1, 2} }, []string{"</think> is one token"}},
		{"budget refused", func(s *server) {
			s.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(400) }
		}, []string{"--reasoning-parser", "VLLM_USE_V2_MODEL_RUNNER=0"}},
		{"hangs", func(s *server) { s.answer = forever }, []string{"thinking budget"}},
		{"no vLLM", func(s *server) {
			s.handler = func(_ *server, w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/models" {
					w.WriteHeader(404)
				}
				io.WriteString(w, `{"data":[{"id":"m"}]}`)
			}
		}, []string{"not as vLLM"}},
		{"two faults", func(s *server) { s.context, s.caching = 1, "True" }, []string{"--max-model-len", "--no-enable-prefix-caching"}},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			f := start(t, 2)
			tt.spoil(f.servers[1])
			p, end, err := f.open(Settings{Window: 1, Attempts: 1}, need)
			defer end()
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("error %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "http://server-1") || strings.Contains(err.Error(), "http://server-0") {
					t.Errorf("error %v\nwants %q and names server 1 alone", err, want)
				}
			}
			want := Served{URL: "http://server-0", Version: "0.23.0", MaxModelLen: 4096, ThinkEnd: 260, Software: "vLLM"}
			if err == nil && (!reflect.DeepEqual(p.Served()[0], want) || (p.places() == 1) != (tt.name == "another model")) {
				t.Errorf("served %+v, want %+v, with %d places", p.Served()[0], want, p.places())
			}
		})
	}
}

// TestCheckOfDeadReplicas goes on without those that are dead, until they meet
// the requirement, but not without any.
func TestCheckOfDeadReplicas(t *testing.T) {
	for name, spoil := range map[string]func(s *server, dead bool){
		"unreachable": func(s *server, dead bool) { s.down = dead },
		"engine dead": func(s *server, dead bool) { s.unhealthy = dead },
		"server fault": func(s *server, fails bool) {
			s.handler = nil
			if fails {
				s.handler = func(_ *server, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
			}
		},
	} {
		bubble(t, name, func(t *testing.T) {
			f := start(t, 2)
			settings, need := Settings{Window: 3, Attempts: 1}, Requirement{Model: "m", ContextTokens: 4096}
			all := f.servers[:]
			for _, s := range all {
				s.set(func() { spoil(s, true) })
			}
			if _, err := Open(t.Context(), f.clients, need, settings); !errors.Is(err, ErrUnserved) || strings.Count(err.Error(), name) != 2 {
				t.Errorf("all are dead: %v", err)
			}
			all[1].set(func() { spoil(all[1], false) })
			p, end, err := f.open(settings, need)
			defer end()
			if err != nil || len(p.Served()) != 1 || p.Served()[0].URL != "http://server-1" || p.places() != 3 {
				t.Fatalf("served %+v with %d places, %v", p.Served(), p.places(), err)
			}
			all[0].set(func() { spoil(all[0], false); all[0].context = 1 })
			time.Sleep(time.Minute)
			if p.places() != 3 {
				t.Error("a replica with too small a context is in")
			}
			all[0].set(func() { all[0].context = 4096 })
			time.Sleep(time.Minute)
			if p.places() != 6 {
				t.Error("a replica that is well again is out")
			}
		})
	}
}

func TestCheckOfManyVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, 2)
		f.servers[0].set(func() { f.servers[0].version = "0.24.0" })
		if _, err := Open(t.Context(), f.clients, Requirement{Model: "m"}, Settings{}); err == nil || !strings.Contains(err.Error(), "different versions") {
			t.Errorf("error %v", err)
		}
		f.servers[1].set(func() { f.servers[1].version = "0.24.0+x" })
		_, end, err := f.open(Settings{}, Requirement{Model: "m"})
		if end(); err != nil {
			t.Error(err)
		}
	})
}

// TestReturnMeetsRequirement checks a replica that comes back as it was checked
// at first. Where any version will do, it has that of the others.
func TestReturnMeetsRequirement(t *testing.T) {
	strict := Requirement{Model: "m", ContextTokens: 4096}
	for _, tt := range []struct {
		want  string
		need  Requirement
		spoil func(s *server)
	}{
		{"--max-model-len", strict, func(s *server) { s.context = 100 }},
		{"vLLM 0.24.0", strict, func(s *server) { s.version = "0.24.0" }},
		{`not "m"`, strict, func(s *server) { s.model = "other" }},
		{"was vLLM and is llama.cpp b1 now", foreign, foreigner(nil)},
	} {
		bubble(t, tt.want, func(t *testing.T) {
			f := start(t, 2)
			p, end := f.pool(Settings{Window: 1, Attempts: 2}, tt.need)
			defer end()
			wait := ask(p, t.Context(), 0, 2)
			s := f.servers[1]
			s.kill()
			answered(t, wait(), 0)
			s.set(func() { s.down = false; tt.spoil(s) })
			time.Sleep(time.Minute)
			if p.places() != 1 || !f.reported("r1 stays out", tt.want) {
				t.Errorf("%d slots; log %q", p.places(), f.log())
			}
		})
	}
}
