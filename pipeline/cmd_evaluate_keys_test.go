package main

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"speceval/internal/machine/process"
)

// listener is a server that notes with which keys it is asked.
type listener struct {
	url  string
	mu   sync.Mutex
	keys []string
}

// listen starts one on an address of this machine, which answers as the model m, or sends
// elsewhere what it is asked.
func listen(t *testing.T, host, elsewhere string) *listener {
	t.Helper()
	l := &listener{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		l.mu.Lock()
		if key := r.Header.Get("Authorization"); !slices.Contains(l.keys, key) {
			l.keys = append(l.keys, key)
		}
		l.mu.Unlock()
		switch {
		case elsewhere != "":
			http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
		case r.URL.Path == "/v1/models":
			io.WriteString(w, `{"data":[{"id":"m"}]}`)
		case r.URL.Path == "/v1/chat/completions":
			fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":"Answer: 2"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":9}}`+"\n\ndata: [DONE]\n\n")
		default:
			w.WriteHeader(404)
		}
	}))
	own, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Skipf("no address %s here: %v", host, err)
	}
	server.Listener.Close()
	server.Listener = own
	server.Start()
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

// keyed runs evaluate with keys in the environment, and fails if it tells one.
func keyed(t *testing.T, words ...string) (code int, stderr string) {
	t.Helper()
	words = append([]string{"evaluate", "--benchmark", "own.jsonl", "--model", "m", "--budget", "2", "--set", "serving.attempts=1"}, words...)
	code, stdout, stderr := ran(func(s *shell) {
		s.environment = []string{"SPECEVAL_API_KEY=sesame-common", "KEY_A=sesame-a", "KEY_B=sesame-b"}
	}, words...)
	told := map[string]string{"stdout": stdout, "stderr": stderr}
	filepath.WalkDir("out", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			told[path] = read(path)
		}
		return nil
	})
	for where, text := range told {
		for _, secret := range []string{"sesame-common", "sesame-a", "sesame-b", "hunter2"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q: %s tells %s", words, where, secret)
			}
		}
	}
	return code, stderr
}

// TestEveryServerGetsItsOwnKey asks two servers on two hosts, and one that sends its
// visitors to another.
func TestEveryServerGetsItsOwnKey(t *testing.T) {
	t.Chdir(t.TempDir())
	write("own.jsonl", ownBenchmark)
	for i, tt := range []struct {
		a, b         string // what follows the addresses
		wantA, wantB string
	}{
		{",key_env=KEY_A", ",key_env=KEY_B", "Bearer sesame-a", "Bearer sesame-b"},
		{",key_env=KEY_A", "", "Bearer sesame-a", ""},
		{"", "", "", ""},
		{"", ",key_env=SPECEVAL_API_KEY", "", "Bearer sesame-common"},
	} {
		a, b := listen(t, "127.0.0.1", ""), listen(t, "127.0.0.2", "")
		code, stderr := keyed(t, "--seed", fmt.Sprint(i), "--worker", a.url+tt.a, "--worker", b.url+tt.b)
		if code != 0 || !slices.Equal(a.keys, []string{tt.wantA}) || !slices.Equal(b.keys, []string{tt.wantB}) {
			t.Errorf("%+v: exit code %d, keys %q and %q\n%s", tt, code, a.keys, b.keys, stderr)
		}
	}
	alone := listen(t, "127.0.0.1", "")
	if code, stderr := keyed(t, "--seed", "10", "--worker", alone.url); code != 0 || !slices.Equal(alone.keys, []string{"Bearer sesame-common"}) {
		t.Errorf("a server alone: exit code %d, keys %q\n%s", code, alone.keys, stderr)
	}
	thief := listen(t, "127.0.0.2", "")
	sends := listen(t, "127.0.0.1", thief.url)
	if code, stderr := keyed(t, "--seed", "11", "--worker", sends.url); code == 0 || len(thief.keys) > 0 || !strings.Contains(stderr, "says it is at") {
		t.Errorf("after a redirect: exit code %d, the other is asked with %q\n%s", code, thief.keys, stderr)
	}
}

// TestMessagesTellNoSecrets are words with a password or a key where none belongs.
func TestMessagesTellNoSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	write("own.jsonl", ownBenchmark)
	for _, words := range [][]string{
		{"--worker", "http://me:hunter2@127.0.0.1:1"},
		{"--worker=http://me:hunter2@127.0.0.1:1"},
		{"--worker", "http://me:hunter2@127.0.0.1:port"},
		{"--worker", "http://me:hun/hunter2@127.0.0.1"},
		{"--worker", "http://me:%zzhunter2@127.0.0.1"},
		{"--worker", "me:hunter2@127.0.0.1:8000"},
		{"--worker", "http://127.0.0.1?key=hunter2"},
		{"--worker", "http://127.0.0.1,key_env=sk-hunter2"},
		{"--worker", "http://127.0.0.1:1", "--set", `judge.urls=["http://me:hunter2@127.0.0.1:1"]`},
		{"--worker", "http://127.0.0.1:1", "--set", `judge.urls="http://me:hunter2@127.0.0.1:1"`},
		{"--worker", "http://127.0.0.1:1", "--set", "judge.key_env=sk-hunter2"},
		{"--worker", "http://127.0.0.1:1", "--set", "http://me:hunter2@127.0.0.1:1"},
		{"--worker", "http://127.0.0.1:1", "--set", "worker.urls=http://me:hunter2@127.0.0.1:1"},
	} {
		if code, stderr := keyed(t, words...); code != exitUsage || stderr == "" {
			t.Errorf("%q: exit code %d: %s", words, code, stderr)
		}
	}
	file := "[[worker]]\nname = \"a\"\nurls = [\"http://me:hunter2@127.0.0.1:1\"]\nkey_env = \"sk-hunter2\"\n[judge]\nurls = [\"http://me:hunter2@[::1\"]\nkey_env = 7\n"
	write("experiments.toml", file)
	if code, stderr := keyed(t); code != exitUsage || strings.Count(stderr, "key_env") < 4 {
		t.Errorf("a file: exit code %d: %s", code, stderr)
	}
	if got := newShell([]string{"speceval", "evaluate", "--worker", "http://me:hunter2@h"}, nil, new(process.Relay)).origin.Command; strings.Contains(got, "hunter2") {
		t.Errorf("manifests have the command line %q", got)
	}
}
