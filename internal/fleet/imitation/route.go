package imitation

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// route is one path of the server.
type route struct {
	path    string
	methods string // that it takes, with commas
	json    bool   // takes a JSON body
	silent  bool   // is not counted in http_requests_total
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
			{path: "/version", methods: "GET", silent: true, serve: (*call).version},
		}
	}
	all := []route{
		{path: "/v1/chat/completions", methods: "POST", json: true, serve: (*call).chat},
		{path: "/v1/completions", methods: "POST", json: true, serve: (*call).completion},
		{path: "/v1/models", methods: "GET", serve: (*call).models},
		{path: "/tokenize", methods: "POST", json: true, serve: (*call).tokenize},
		{path: "/detokenize", methods: "POST", json: true, serve: (*call).detokenize},
		{path: "/health", methods: "GET", silent: true, serve: (*call).health},
		{path: "/ping", methods: "GET, POST", silent: true, serve: (*call).health},
		{path: "/version", methods: "GET", silent: true, serve: (*call).version},
		{path: "/load", methods: "GET", silent: true, serve: (*call).load},
		{path: "/metrics", methods: "GET", silent: true, serve: (*call).metrics},
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
	if !c.route.silent {
		e.meter.asked(c.route.path, req.Method, c.status)
	}
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
