package vllm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
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
		"GET /health":              "",
		"GET /version":             `{"version":"0.23.0+cpu"}`,
		"GET /v1/models":           `{"object":"list","data":[{"id":"tiny-dense","root":"models/dense","owned_by":"vllm","max_model_len":4096,"permission":[]},{"id":"other"}]}`,
		"POST /tokenize":           `{"count":1,"max_model_len":4096,"tokens":[260],"token_strs":null}`,
		"GET /metrics":             string(metrics),
		"POST /reset_prefix_cache": "",
	}))
	ctx := t.Context()
	if err := c.Health(ctx); err != nil {
		t.Error(err)
	}
	if version, err := c.Version(ctx); version != "0.23.0+cpu" || err != nil {
		t.Errorf("version %q, %v", version, err)
	}
	models, err := c.Models(ctx)
	if want := []Model{{"tiny-dense", "models/dense", "vllm", 4096}, {ID: "other"}}; !slices.Equal(models, want) || err != nil {
		t.Errorf("models %v, %v", models, err)
	}
	if ids, err := c.Tokenize(ctx, "m", "</think>"); !slices.Equal(ids, []int32{260}) || err != nil {
		t.Errorf("tokens %v, %v", ids, err)
	}
	if err := c.ResetPrefixCache(ctx); err != nil {
		t.Error(err)
	}
	got, err := c.Metrics(ctx)
	if want := (Metrics{Running: 3, GenerationTokens: 8136, PromptTokens: 2835, PrefixCaching: "False"}); got != want || err != nil {
		t.Errorf("metrics %+v, %v, want %+v", got, err, want)
	}
}

func TestControlFailures(t *testing.T) {
	ctx := t.Context()
	fails(t, client(t, Options{}, says(503, "")).Health(ctx), EngineDead)
	none := client(t, Options{}, paths(nil))
	if err := none.ResetPrefixCache(ctx); !errors.Is(err, ErrNotOffered) {
		t.Errorf("error %v of a server outside development mode", err)
	}
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

func TestParseMetrics(t *testing.T) {
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
		Running: 7, Waiting: 2, GenerationTokens: 1000, PromptTokens: 5, PrefixCaching: "True",
	}
	for _, text := range []string{text, strings.ReplaceAll(text, "\n", "\r\n")} {
		if got, err := parseMetrics(text); !reflect.DeepEqual(got, want) || err != nil {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	for _, line := range []string{"vllm:num_requests_running", "vllm:num_requests_running x", "vllm:num_requests_running NaN",
		"vllm:num_requests_running +Inf", "vllm:num_requests_running -1", "vllm:num_requests_running{a=\"b\"}"} {
		if _, err := parseMetrics(line); err == nil {
			t.Errorf("%q passes", line)
		}
	}
}

// lined are the lines of a text.
func lined(r io.Reader) []string {
	lines := bufio.NewScanner(r)
	lines.Split(splitLine)
	var found []string
	for lines.Scan() {
		found = append(found, lines.Text())
	}
	return found
}

// FuzzLines compares with a plain reading of the whole text, and one by single bytes.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\n\n", "a\r\n\r\n:c\rb\r\r", "\n\nx\n\r\n\ry", "\r", "a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
		if last := len(want) - 1; want[last] == "" { // after the last end is no line
			want = want[:last]
		}
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			if got := lined(r); !slices.Equal(got, want) {
				t.Fatalf("%q: %q, want %q", text, got, want)
			}
		}
	})
}

// decoded reads a whole answer.
func decoded(t testing.TB, data []byte, plain bool) (Completion, error) {
	c := dial(t, "http://h", Options{Plain: plain})
	completion := c.blank()
	r := request()
	a := assembly{request: &r, completion: &completion, client: c, watch: c.watch(&r, completion.Sent, true), most: r.limits(1000, manner{plain: plain}), whole: true}
	return completion, a.read(bytes.NewReader(data))
}

// FuzzAnswer feeds the decoder anything: it must not panic, and what it lets
// through must be sound and, apart from what it drops, the text that was sent.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"choices":[{"index":0,"message":{"content":"\ud83d\ude00\\u00ff","reasoning":"r"},"finish_reason":"stop","token_ids":[1]}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`))
	f.Add([]byte(`{"error":{"message":5,"code":"x"}}`))
	f.Add([]byte(`{"error":[],"detail":{}}`))
	f.Add([]byte(`{"choices":[{"index":0,"message":{"content":"\uD800"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		failure(400, data)
		for _, plain := range []bool{false, true} {
			c, err := decoded(t, data, plain)
			if !sound(t, err, c, plain) || c.Mended > 0 {
				continue
			}
			if !bytes.ContainsRune(data, utf8.RuneError) && !bytes.Contains(bytes.ToLower(data), []byte("fffd")) && strings.ContainsRune(c.Text, utf8.RuneError) {
				t.Fatalf("%q: text mended to %q", data, c.Text)
			}
		}
	})
}

// FuzzPlainStream is FuzzAnswer of a stream of a server that may leave out much.
func FuzzPlainStream(f *testing.F) {
	for _, d := range dialects {
		f.Add([]byte(d.body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := dial(t, "http://h", Options{Plain: true})
		completion := c.blank()
		r, text := request(), ""
		a := assembly{request: &r, completion: &completion, client: c, watch: c.watch(&r, completion.Sent, false), most: r.limits(1000, manner{plain: true}), seen: func(p Piece) {
			if p.Usage.Told() && p.Usage.check() != nil {
				t.Fatalf("%q: usage %+v was told", data, p.Usage)
			}
			text += p.Text
		}}
		sound(t, a.read(bytes.NewReader(data)), completion, true)
		if text != completion.Text {
			t.Fatalf("%q: pieces are %q, whole %q", data, text, completion.Text)
		}
	})
}

// sound checks what came of an answer, and tells whether it was let through.
func sound(t *testing.T, err error, c Completion, plain bool) bool {
	t.Helper()
	if err != nil {
		if e := (*Error)(nil); !errors.As(err, &e) || e.Kind == 0 || !utf8.ValidString(e.Message) {
			t.Fatalf("error %#v", err)
		}
	}
	u := c.Usage
	if told := u.Prompt >= 1 && u.Completion >= 0 && u.Reasoning >= -1 && u.Reasoning <= u.Completion; !told && (!plain || u != untold) && err == nil {
		t.Fatalf("usage %+v", u)
	}
	if err == nil && (c.Finish == "" || !utf8.ValidString(c.Text+c.Reasoning)) {
		t.Fatalf("let through as %+v", c)
	}
	return err == nil
}
