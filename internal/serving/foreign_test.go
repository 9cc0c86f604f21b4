package serving_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"speceval/internal/fleet/imitation"
	"speceval/internal/pool"
	"speceval/internal/serving"
	"speceval/internal/vllm"
)

// service is a server that is not vLLM, behind a base path and a key. list is
// the status of its list of models.
func service(t *testing.T, list int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer sesame":
			w.WriteHeader(401)
		case r.URL.Path == "/openai/v1/models":
			w.WriteHeader(list)
			fmt.Fprint(w, `{"data":[{"id":"publisher/a"},{"id":"b"}]}`)
		case r.URL.Path == "/openai/v1/chat/completions":
			fmt.Fprint(w, `data: {"model":"a","choices":[{"index":0,"delta":{"content":"4"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`+"\n\n")
		default:
			w.WriteHeader(404)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/openai/v1"
}

// lender is Servers or Workers.
type lender interface {
	Acquire(context.Context, serving.Model) (*serving.Lease, error)
	Close(context.Context) error
}

// foreign is a model that any server may serve.
func foreign(id string) serving.Model {
	m := model(id)
	m.Requires = pool.Requirement{Model: id, ContextTokens: 4096, Foreign: true, Sampling: vllm.Sampling{Model: id, Temperature: 1, TopP: 1, MaxTokens: 9}}
	return m
}

// TestServersThatAreNotVLLM are found beside vLLM where the model lets them, by
// those who share workers and those who are lent them whole.
func TestServersThatAreNotVLLM(t *testing.T) {
	beside := running(t, imitation.Settings{Model: "a", Key: "sesame"})
	for _, list := range []int{200, 403, 500} {
		settings := serving.Settings{
			Workers: []serving.Worker{{Name: "one", URLs: []string{service(t, list), beside.URL()}, Key: "sesame"}},
			Window:  2, Attempts: 1,
		}
		for _, s := range []lender{serving.New(settings), serving.NewWorkers(settings)} {
			lease, err := s.Acquire(t.Context(), foreign("a"))
			if err != nil {
				t.Fatal(err)
			}
			if len(lease.Served) != 2 || !lease.Served[0].Plain || lease.Served[1].Plain || lease.Places != 4 {
				t.Errorf("list with %d: served %+v", list, lease.Served)
			}
			for range 4 {
				ask(t, lease, "a")
			}
			lease.Release()
			if _, err := s.Acquire(t.Context(), foreign("c")); err == nil || !strings.Contains(err.Error(), `"c"`) {
				t.Errorf("list with %d: a model that nobody serves: %v", list, err)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestOtherServersAreRefusedWhereVLLMIsNeeded(t *testing.T) {
	s := serving.New(serving.Settings{Workers: []serving.Worker{{Name: "one", URLs: []string{service(t, 200)}, Key: "sesame"}}, Window: 1, Attempts: 1})
	for _, id := range []string{"publisher/a", "b"} {
		if _, err := s.Acquire(t.Context(), model(id)); err == nil || !strings.Contains(err.Error(), "not found (404)") {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestAKeyThatAnotherServerRefuses(t *testing.T) {
	s := serving.New(serving.Settings{Workers: []serving.Worker{{Name: "one", URLs: []string{service(t, 200)}, KeyHint: "the key is taken from the safe"}}, Window: 1, Attempts: 1})
	if _, err := s.Acquire(t.Context(), foreign("a")); err == nil || !strings.HasSuffix(err.Error(), "the key is taken from the safe") {
		t.Errorf("error %v", err)
	}
}
