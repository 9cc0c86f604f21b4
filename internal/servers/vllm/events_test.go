package vllm

import (
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// paths answers each path with a body, others with vLLM's 404.
func paths(answers map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, found := answers[r.Method+" "+r.URL.Path]
		if !found {
			says(404, `{"detail":"Not Found"}`)(w, r)
			return
		}
		io.WriteString(w, answer)
	}
}

func TestControl(t *testing.T) {
	metrics, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, Options{}, paths(map[string]string{
		"GET /health":    "",
		"GET /version":   `{"version":"0.23.0+cpu"}`,
		"GET /v1/models": `{"object":"list","data":[{"id":"tiny-dense","root":"models/dense","owned_by":"vllm","max_model_len":4096,"permission":[]},{"id":"other"}]}`,
		"POST /tokenize": `{"count":1,"max_model_len":4096,"tokens":[260],"token_strs":null}`,
		"GET /metrics":   string(metrics),
	}))
	ctx := t.Context()
	if err := c.Health(ctx); err != nil {
		t.Error(err)
	}
	if version, err := c.Version(ctx); version != "0.23.0+cpu" || err != nil {
		t.Errorf("version %q, %v", version, err)
	}
	models, err := c.Models(ctx)
	if want := []Model{{"tiny-dense", "vllm", 4096}, {ID: "other"}}; !slices.Equal(models, want) || err != nil {
		t.Errorf("models %v, %v", models, err)
	}
	if ids, err := c.Tokenize(ctx, "m", "</think>"); !slices.Equal(ids, []int32{260}) || err != nil {
		t.Errorf("tokens %v, %v", ids, err)
	}
	got, err := c.Metrics(ctx)
	if want := (Metrics{Running: 3, Answered: 100, GenerationTokens: 8136, PrefixCaching: "False"}); got != want || err != nil {
		t.Errorf("metrics %+v, %v, want %+v", got, err, want)
	}
}

func TestControlFailures(t *testing.T) {
	ctx := t.Context()
	fails(t, client(t, Options{}, says(503, "")).Health(ctx), EngineDead)
	none := client(t, Options{}, paths(nil))
	_, err := none.Version(ctx)
	fails(t, err, UnknownModel)
	if _, err := client(t, Options{}, says(200, "up 1\n")).Metrics(ctx); !errors.Is(err, ErrNotOffered) {
		t.Errorf("error %v of metrics without vLLM's", err)
	}
	for _, body := range []string{"", "{}", "[]", `{"version":5}`, "{\"version\":\"\xff\"}"} {
		_, err := client(t, Options{}, says(200, body)).Version(ctx)
		fails(t, err, Garbage)
	}
	hung := client(t, Options{Clock: new(hasty)}, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	fails(t, hung.Health(ctx), Idle)
}

func TestMetrics(t *testing.T) {
	text := `# HELP vllm:num_requests_running n
vllm:num_requests_running{engine="0",model_name="a}b"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 4 1700000000
vllm:num_requests_waiting 2
vllm:generation_tokens_total{engine="0"} 1e3
vllm:generation_tokens_created{engine="0"} 7
vllm:prompt_tokens_total 5
vllm:cache_config_info{block_size="16",not_enable_prefix_caching="no",enable_prefix_caching="True"} 1.0
other{x="NaN"} NaN`
	want := Metrics{
		Running: 7, Waiting: 2, GenerationTokens: 1000, PrefixCaching: "True",
	}
	for _, text := range []string{text, strings.ReplaceAll(text, "\n", "\r\n")} {
		if got, err := client(t, Options{}, says(200, text)).Metrics(t.Context()); !reflect.DeepEqual(got, want) || err != nil {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	for _, line := range []string{"vllm:num_requests_running", "vllm:num_requests_running x", "vllm:num_requests_running NaN",
		"vllm:num_requests_running +Inf", "vllm:num_requests_running -1", "vllm:num_requests_running{a=\"b\"}"} {
		if _, err := client(t, Options{}, says(200, line)).Metrics(t.Context()); err == nil {
			t.Errorf("%q passes", line)
		}
	}
}
