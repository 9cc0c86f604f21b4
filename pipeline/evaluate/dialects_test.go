package evaluate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
)

// speaks makes the lab's server one whose stream, of a right answer or a wrong one, is as
// given. Three answers in four are right, by the seed.
func (l *lab) speaks(stream func(right bool) string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			io.WriteString(w, `{"data":[{"id":"plain"}]}`)
		case "/v1/chat/completions":
			var asked struct {
				Seed int64 `json:"seed"`
			}
			json.NewDecoder(r.Body).Decode(&asked)
			io.WriteString(w, stream(asked.Seed%4 != 0))
		default:
			http.NotFound(w, r)
		}
	}))
	l.t.Cleanup(server.Close)
	l.url = server.URL
}

// event is a chunk of a stream with a delta and an end reason, as JSON.
func event(delta, finish string) string {
	return fmt.Sprintf("data: {\"model\":\"plain\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
}

// bare is an answer without a box, right or wrong.
func bare(right bool) string {
	return map[bool]string{true: "42", false: "41"}[right]
}

// TestDialectsOfServers holds the mean of one model behind servers of many kinds to that
// of a plain one; or to 0 with the cause on the screen, among the notes and in the JSON.
func TestDialectsOfServers(t *testing.T) {
	const done = "data: [DONE]\n\n"
	ends := func(word string) func(bool) string {
		return func(right bool) string {
			return event(fmt.Sprintf(`{"content":%q}`, bare(right)), "null") + event("{}", word) + done
		}
	}
	always := func(delta, word string) func(bool) string {
		return func(bool) string { return event(delta, word) + done }
	}
	l := newLab(t)
	l.write("own.jsonl", `{"id":"one","prompt":"6*7?","answer":"42","scorer":"exact"}`+"\n"+`{"id":"two","prompt":"7*6?","answer":"42","scorer":"exact"}`+"\n")
	uniform := func(seed uint64) evaluation.Spec {
		return evaluation.Spec{Policy: "uniform", Budget: 16, Seed: &seed}
	}
	l.speaks(ends(`"stop"`))
	truth := l.evaluate(uniform(1)).Estimate
	if truth < 0.5 || truth == 1 {
		t.Fatalf("the mean is %v", truth)
	}
	for name, test := range map[string]struct {
		stream func(right bool) string
		zero   string // words of the cause; "" where the mean is that of the plain server
	}{
		"TGI":                {ends(`"eos_token"`), ""},
		"Gemini":             {ends(`"STOP"`), ""},
		"cut, as Anthropic":  {ends(`"max_tokens"`), "32 of 32 rollouts (100%) were cut"},
		"empty at the limit": {always(`{"content":""}`, `"length"`), "32 of 32 rollouts (100%) have an empty answer, which counts as wrong; 32 were cut"},
		"reasoning alone":    {always(`{"content":null,"reasoning_content":"\\boxed{42}"}`, `"stop"`), "reasoning parser"},
		"thinking unclosed":  {always(`{"content":"<think>\\boxed{42}"}`, `"length"`), "32 of them have thinking alone"},
		"a filter":           {always(`{"content":""}`, `"content_filter"`), "content filter"},
		"a later empty text": {func(right bool) string {
			return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"message\":{\"content\":\"\"}}]}\n\n", bare(right)) + event(`{"content":null}`, `"stop"`) + done
		}, ""},
		"bare data and a mark": {func(right bool) string {
			return "\ufeff" + strings.Replace(ends(`"stop"`)(right), "\n\n", "\n\ndata:\n\n: hi\n\n", 1)
		}, ""},
	} {
		l.speaks(test.stream)
		os.RemoveAll("out")
		r, folder, err := l.try(uniform(1))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var screen bytes.Buffer
		if err := show.Text(&screen, r, "folder", false); err != nil {
			t.Fatal(err)
		}
		if test.zero == "" {
			if r.Estimate != truth || r.Answers != nil || strings.Contains(screen.String(), "WARNING") {
				t.Errorf("%s: mean %v, want %v; answers %+v", name, r.Estimate, truth, r.Answers)
			}
			continue
		}
		stored, err := os.ReadFile(filepath.Join(folder, evaluation.ResultFile))
		if r.Estimate != 0 || err != nil || !strings.Contains(string(stored), `"all": 32`) {
			t.Errorf("%s: mean %v, %v", name, r.Estimate, err)
		}
		heard(t, r.Notes, test.zero)
		heard(t, l.warned, test.zero)
		if before, after, found := strings.Cut(screen.String(), "  WARNING      "); !found || !strings.Contains(after, test.zero) || strings.Count(before, "\n") != 3 {
			t.Errorf("%s: %q is not right below the mean of\n%s", name, test.zero, screen.String())
		}
	}
	l.speaks(ends(`"novel_end"`))
	os.RemoveAll("out")
	_, _, err := l.try(uniform(1))
	var begun *evaluation.PausedError
	if faulty(t, err, false, `"novel_end"`); errors.As(err, &begun) {
		t.Errorf("rollouts were asked for: %v", err)
	}
}
