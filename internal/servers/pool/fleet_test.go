package pool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"speceval/internal/servers/vllm"
)

// server is an imitation of one vLLM server, in memory, for tests on virtual
// time. Its fields say what it is; tests change them under mu.
type server struct {
	index int
	mu    sync.Mutex

	down      bool
	unhealthy bool
	version   string
	model     string
	context   int
	metrics   string // of its own; "": from the counts below
	caching   string
	think     []int // ids of </think>
	ids       string
	answer    func(w http.ResponseWriter, r *http.Request, seed int)

	handler func(s *server, w http.ResponseWriter, r *http.Request) // instead of vLLM; nil: vLLM
	astray  []string                                                // paths that a handler does not know

	running, most int
	tokens        int
	seeds         []int // in order of arrival
	connections   map[net.Conn]bool
	incoming      chan net.Conn
	closed        chan bool
	http          http.Server
}

// fleet is some servers and the pool of them.
type fleet struct {
	t       *testing.T
	servers []*server
	clients []Replica

	mu    sync.Mutex
	lines []string // reported
}

// start makes servers that answer after a second, inside a bubble of synctest.
func start(t *testing.T, n int) *fleet {
	f := &fleet{t: t}
	for i := range n {
		s := &server{
			index: i, version: "0.23.0", model: "m", context: 4096, caching: "False", think: []int{260},
			ids: "[1,2,3,4,260,5]", connections: map[net.Conn]bool{}, incoming: make(chan net.Conn), closed: make(chan bool),
		}
		s.answer = func(w http.ResponseWriter, r *http.Request, seed int) {
			if rest(r, time.Second) {
				s.say(w, seed)
			}
		}
		s.http.Handler = http.HandlerFunc(s.serve)
		go s.http.Serve(s)
		c, err := vllm.New(fmt.Sprintf("http://server-%d", i), vllm.Options{Dial: s.dial, Connections: 8, Idle: 2 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		f.servers = append(f.servers, s)
		f.clients = append(f.clients, Replica{Name: fmt.Sprintf("r%d", i), Client: c})
	}
	return f
}

// pooled runs a test on a pool of n servers, in virtual time, as a subtest if it has a name.
func pooled(t *testing.T, name string, n int, s Settings, test func(t *testing.T, f *fleet, p *Pool)) {
	t.Helper()
	bubble(t, name, func(t *testing.T) {
		f := start(t, n)
		p, end := f.pool(s, Requirement{Model: "m"})
		defer end()
		test(t, f, p)
	})
}

// places is how many requests the pool has at servers at most.
func (p *Pool) places() int { return p.settings.Window * p.Alive() }

// pool is a pool of the fleet, which is closed, and the servers with it, by the
// function that is returned.
func (f *fleet) pool(s Settings, need Requirement) (*Pool, func()) {
	f.t.Helper()
	p, end, err := f.open(s, need)
	if err != nil {
		f.t.Fatal(err)
	}
	return p, end
}

// open is a pool of the replicas that are what is required, nil with an error, and the
// function that closes all.
func (f *fleet) open(s Settings, need Requirement) (*Pool, func(), error) {
	s.Report = f.report
	p, err := Open(f.t.Context(), f.clients, need, s)
	return p, func() { f.close(p) }, err
}

func (f *fleet) report(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, text)
}

func (f *fleet) close(p *Pool) {
	if p != nil {
		p.Close()
	}
	for _, s := range f.servers {
		s.http.Close()
	}
}

// log is what was reported so far.
func (f *fleet) log() []string {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lines)
}

// reported tells whether a line with all the words was reported.
func (f *fleet) reported(words ...string) bool {
	for _, line := range f.log() {
		found := true
		for _, w := range words {
			found = found && strings.Contains(line, w)
		}
		if found {
			return true
		}
	}
	return false
}

// Accept, Close and Addr make the server a listener of its own connections.
func (s *server) Accept() (net.Conn, error) {
	select {
	case c := <-s.incoming:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *server) Close() error   { close(s.closed); return nil }
func (s *server) Addr() net.Addr { return &net.UnixAddr{} }

func (s *server) dial(_ context.Context, network, _ string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	ours, theirs := net.Pipe()
	select {
	case s.incoming <- theirs:
		s.connections[theirs] = true
		return ours, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// kill is a SIGKILL: connections break, new ones are refused.
func (s *server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
	s.tokens = 0
	for c := range s.connections {
		c.Close()
	}
	clear(s.connections)
}

// set changes the server.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// rest takes virtual time, and tells whether the client is still there.
func rest(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// arrived is how many requests came so far.
func (s *server) arrived() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seeds)
}

// forever is an answer that never comes.
func forever(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() }

func (s *server) say(w io.Writer, seed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens += 5
	ids, tokens := s.ids, 5
	if _, is := w.(one); is {
		ids, tokens = "[1]", 1
	}
	fmt.Fprintf(w, `{"id":"%d","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop","token_ids":%s}],`+
		`"usage":{"prompt_tokens":3,"completion_tokens":%d}}`, seed, ids, tokens)
}

// one is the response to a request of one token.
type one struct{ http.ResponseWriter }

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if handler := s.handler; handler != nil {
		s.mu.Unlock()
		handler(s, w, r)
		return
	}
	switch r.URL.Path {
	case "/health":
		if s.unhealthy {
			w.WriteHeader(503)
		}
	case "/version":
		fmt.Fprintf(w, `{"version":%q}`, s.version)
	case "/v1/models":
		fmt.Fprintf(w, `{"data":[{"id":%q,"owned_by":"vllm","root":"folder","max_model_len":%d}]}`, s.model, s.context)
	case "/metrics":
		if s.metrics != "" {
			io.WriteString(w, s.metrics)
			break
		}
		fmt.Fprintf(w, "vllm:num_requests_running{} %d\nvllm:generation_tokens_total{} %d\nvllm:cache_config_info{enable_prefix_caching=%q} 1\n",
			s.running, s.tokens, s.caching)
	case "/tokenize":
		ids, _ := json.Marshal(s.think)
		fmt.Fprintf(w, `{"tokens":%s}`, ids)
	case "/v1/chat/completions":
		var body struct {
			Seed      int
			MaxTokens int `json:"max_tokens"`
		}
		json.NewDecoder(r.Body).Decode(&body)
		io.Copy(io.Discard, r.Body)
		if body.MaxTokens > s.context {
			w.WriteHeader(400)
			break
		}
		s.seeds = append(s.seeds, body.Seed)
		s.running++
		s.most = max(s.most, s.running)
		answer := s.answer
		s.mu.Unlock()
		if body.MaxTokens == 1 {
			w = one{w}
		}
		answer(w, r, body.Seed)
		s.mu.Lock()
		s.running--
	default:
		w.WriteHeader(404)
	}
	s.mu.Unlock()
}

// asked is a request whose seed tells it apart.
func asked(seed int) vllm.Request {
	return vllm.Request{
		Sampling: vllm.Sampling{Model: "m", TopP: 1, MaxTokens: 9},
		ID:       fmt.Sprintf("q-%d", seed), Messages: []vllm.Message{{Role: "user", Content: "hi"}}, Seed: int64(seed),
	}
}

// outcome is what came of a request.
type outcome struct {
	vllm.Completion
	replica string
	err     error
}

// ask sends requests with seeds from first on, each when the ones before are on
// their way, and returns what will come of them.
func ask(p *Pool, ctx context.Context, first, n int) (wait func() []outcome) {
	outcomes := make([]outcome, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			o := &outcomes[i]
			o.Completion, o.replica, o.err = p.Stream(ctx, asked(first+i), nil)
		})
		synctest.Wait()
	}
	return func() []outcome { all.Wait(); return outcomes }
}

// answered fails the test unless all went well, and counts by replica.
func answered(t *testing.T, outcomes []outcome, first int) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for i, o := range outcomes {
		if o.err != nil {
			t.Errorf("request %d: %v", first+i, o.err)
		} else if o.ID != fmt.Sprint(first+i) {
			t.Errorf("request %d got the answer to %s", first+i, o.ID)
		}
		counts[o.replica]++
	}
	return counts
}

// bubble runs a test on virtual time, as a subtest if it has a name. It fails if a goroutine is left.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	if name == "" {
		synctest.Test(t, f)
		return
	}
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// Waiting is how many wait for any model.
func (s *Servers) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, waiting := range s.waiting {
		n += waiting
	}
	return n
}
