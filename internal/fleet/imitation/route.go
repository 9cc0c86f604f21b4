package imitation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"speceval/internal/fleet"
)

// route is one path of the server.
type route struct {
	path    string
	methods string // that it takes, with commas
	json    bool   // takes a JSON body
	serve   func(c *call)
}

// call is one HTTP request in its handler.
type call struct {
	*Replica
	engine *engine
	route  route
	w      http.ResponseWriter
	r      *http.Request
	body   []byte
	status int
}

// routes are all paths, some of them in development mode only, and fewer of a
// plain server.
func (r *Replica) routes() []route {
	if r.Plain {
		return []route{
			{path: "/v1/chat/completions", methods: "POST", json: true, serve: (*call).chat},
			{path: "/v1/models", methods: "GET", serve: (*call).models},
			{path: "/version", methods: "GET", serve: (*call).version},
		}
	}
	all := []route{
		{path: "/v1/chat/completions", methods: "POST", json: true, serve: (*call).chat},
		{path: "/v1/completions", methods: "POST", json: true, serve: (*call).completion},
		{path: "/v1/models", methods: "GET", serve: (*call).models},
		{path: "/tokenize", methods: "POST", json: true, serve: (*call).tokenize},
		{path: "/detokenize", methods: "POST", json: true, serve: (*call).detokenize},
		{path: "/health", methods: "GET", serve: (*call).health},
		{path: "/version", methods: "GET", serve: (*call).version},
		{path: "/metrics", methods: "GET", serve: (*call).metrics},
	}
	if r.Development {
		for _, cache := range []string{"prefix", "mm", "encoder"} {
			all = append(all, route{path: "/reset_" + cache + "_cache", methods: "POST", serve: (*call).health})
		}
	}
	return all
}

// maxBody is where a body is refused. The real server has no such limit but its
// memory.
const maxBody = 64 << 20

// ServeHTTP answers a request as vLLM would. While the server is down the
// connection is closed without an answer.
func (r *Replica) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	e := r.enter()
	if e == nil {
		disconnect(w)
		return
	}
	defer r.serving.Done()
	c := &call{Replica: r, engine: e, w: w, r: req, route: route{path: "none"}}
	w.Header().Set("Server", "uvicorn")
	w.Header().Set("Vary", "Origin")
	c.dispatch()
}

// enter is the process for a new request, nil if there is none.
func (r *Replica) enter() *engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil || r.end.Err() != nil {
		return nil
	}
	r.serving.Add(1)
	return r.process
}

func (c *call) dispatch() {
	if !c.authorized() {
		c.answer(http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
		return
	}
	for _, route := range c.paths {
		if route.path != c.r.URL.Path {
			continue
		}
		c.route = route
		if !strings.Contains(route.methods, c.r.Method) {
			c.w.Header().Set("Allow", route.methods)
			c.refuse(&problem{status: http.StatusMethodNotAllowed, detail: "Method Not Allowed"})
			return
		}
		if route.json && !c.read() {
			return
		}
		route.serve(c)
		return
	}
	c.refuse(&problem{status: http.StatusNotFound, detail: "Not Found"})
}

// authorized checks the key of guarded paths.
func (c *call) authorized() bool {
	path := c.r.URL.Path
	guarded := strings.HasPrefix(path, "/v1") || strings.HasPrefix(path, "/v2") || strings.HasPrefix(path, "/inference")
	if c.Key == "" || !guarded || c.r.Method == http.MethodOptions {
		return true
	}
	scheme, key, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "bearer") && key == c.Key
}

// read reads a JSON body; it is false if there is none to go on with.
func (c *call) read() bool {
	var tooBig *http.MaxBytesError
	var err error
	var body []byte
	if c.r.ContentLength <= maxBody {
		body, err = io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	}
	if c.r.ContentLength > maxBody || errors.As(err, &tooBig) {
		c.refuse(&problem{status: http.StatusRequestEntityTooLarge, detail: "Request Entity Too Large"})
		return false
	}
	if err != nil { // the client is gone
		return false
	}
	media, _, _ := strings.Cut(strings.ToLower(c.r.Header.Get("Content-Type")), ";")
	if media != "application/json" {
		c.refuse(malformed("", "the Content-Type is not JSON"))
		return false
	}
	c.body = body
	return true
}

// refuse sends an error. After some the connection is closed, which no header
// announces.
func (c *call) refuse(p *problem) {
	c.answer(p.status, p.body())
	if p.raised {
		c.flush()
		disconnect(c.w)
	}
}

// answer sends a whole JSON response.
func (c *call) answer(status int, body []byte) {
	c.head(status, "application/json", len(body))
	_, _ = c.w.Write(body) // a client that is gone misses nothing
}

// head sends status and headers; of a stream, length is -1.
func (c *call) head(status int, media string, length int) {
	h := c.w.Header()
	if media != "" {
		h.Set("Content-Type", media)
	}
	if length >= 0 {
		h.Set("Content-Length", strconv.Itoa(length))
	}
	c.status = status
	c.w.WriteHeader(status)
}

// flush sends what was written.
func (c *call) flush() { _ = http.NewResponseController(c.w).Flush() }

// disconnect closes the connection as it is.
func disconnect(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// health also serves the resets of caches: an empty 200 while the
// engine is not dead, though it may hang.
func (c *call) health() {
	if c.engine.end.Err() != nil {
		c.head(http.StatusServiceUnavailable, "", 0)
		return
	}
	c.head(http.StatusOK, "", 0)
}

func (c *call) version() {
	version := Version
	if c.Plain {
		version = "simulated"
	}
	c.answer(http.StatusOK, []byte(`{"version":"`+version+`"}`))
}

func (c *call) metrics() {
	page := c.engine.meter.page(c.Settings)
	c.head(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", len(page))
	_, _ = c.w.Write(page)
}

func (c *call) models() {
	now := c.Clock.Now().Unix()
	b := appendString([]byte(`{"object":"list","data":[{"id":`), c.Model)
	owner := "vllm"
	if c.Plain {
		owner = "imitation"
	}
	b = fmt.Appendf(b, `,"object":"model","created":%d,"owned_by":"%s","root":`, now, owner)
	b = appendString(b, c.Root)
	b = fmt.Appendf(b, `,"parent":null,"max_model_len":%d,"permission":[{"id":"modelperm-%s","object":"model_permission","created":%d,`, c.MaxModelLen, c.newID(), now)
	b = append(b, `"allow_create_engine":false,"allow_sampling":true,"allow_logprobs":true,"allow_search_indices":false,"allow_view":true,`+
		`"allow_fine_tuning":false,"organization":"*","group":null,"is_blocking":false}]}]}`...)
	c.answer(http.StatusOK, b)
}

// newID is 16 hexadecimal digits.
func (r *Replica) newID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%016x", r.ids.Uint64())
}

// tokenize gives the tokens of a text, or of a chat's prompt.
func (c *call) tokenize() {
	rd, p := newReader(c.body)
	if p != nil {
		c.refuse(p)
		return
	}
	model, text := rd.text("model"), ""
	if _, chat := rd.fields["messages"]; chat {
		var turns []message
		turns, p = messages(rd)
		on, _ := thinking(rd)
		text = c.template(turns, rd.boolean("add_generation_prompt", false, true), on)
	} else if raw := rd.fields["prompt"]; len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		rd.fault("prompt", "a text, and there are no messages")
	}
	switch {
	case p != nil:
	case len(rd.faults) > 0:
		p = malformed("", rd.faults...)
	case model != "" && model != c.Model:
		p = unknownModel(model)
	}
	if p != nil {
		c.refuse(p)
		return
	}
	tokens := fleet.Tokenize(text)
	b := fmt.Appendf(nil, `{"count":%d,"max_model_len":%d,"tokens":`, len(tokens), c.MaxModelLen)
	c.answer(http.StatusOK, append(appendIDs(b, tokens), `,"token_strs":null}`...))
}

func (c *call) detokenize() {
	rd, p := newReader(c.body)
	if p != nil {
		c.refuse(p)
		return
	}
	model := rd.text("model")
	if _, there := rd.fields["tokens"]; !there {
		rd.faults = append(rd.faults, "tokens is missing")
	}
	var tokens []int32
	for _, id := range decoded[[]int64](rd, "tokens", "a list of integers") {
		if id < 0 {
			rd.fault("a token", "positive")
		}
		tokens = append(tokens, int32(min(id, math.MaxInt32))) // as unknown as any
	}
	switch {
	case len(rd.faults) > 0:
		p = malformed("", rd.faults...)
	case model != "" && model != c.Model:
		p = unknownModel(model)
	default:
		b := appendString([]byte(`{"prompt":`), fleet.Detokenize(tokens))
		c.answer(http.StatusOK, append(b, '}'))
		return
	}
	c.refuse(p)
}

// appendIDs appends a list of token ids.
func appendIDs(b []byte, ids []int32) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}
