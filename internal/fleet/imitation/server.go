package imitation

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"speceval/internal/fleet"
)

// call is one HTTP request in its handler.
type call struct {
	*Replica
	engine *engine
	w      http.ResponseWriter
	r      *http.Request
	body   []byte
}

// route is one path of the server.
type route struct {
	method string
	plain  bool // a server that is not vLLM has it too
	serve  func(c *call)
}

var routes = map[string]route{
	"/v1/chat/completions": {http.MethodPost, true, func(c *call) { c.generate((*Settings).readChat) }},
	"/v1/completions":      {http.MethodPost, false, func(c *call) { c.generate((*Settings).readCompletion) }},
	"/v1/models":           {http.MethodGet, true, (*call).models},
	"/tokenize":            {http.MethodPost, false, (*call).tokenize},
	"/detokenize":          {http.MethodPost, false, (*call).detokenize},
	"/health":              {http.MethodGet, false, (*call).health},
	"/version":             {http.MethodGet, true, (*call).version},
	"/metrics":             {http.MethodGet, false, (*call).metrics},
}

// maxBody is where a body is refused. The real server has no such limit.
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
	c := &call{Replica: r, engine: e, w: w, r: req}
	w.Header().Set("Server", "uvicorn")
	route, known := routes[req.URL.Path]
	switch {
	case !c.authorized():
		c.answer(http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
	case !known || r.Plain && !route.plain:
		c.answer(http.StatusNotFound, []byte(`{"detail":"Not Found"}`))
	case req.Method != route.method:
		c.answer(http.StatusMethodNotAllowed, []byte(`{"detail":"Method Not Allowed"}`))
	case req.Method == http.MethodPost && !c.read():
	default:
		route.serve(c)
	}
}

// authorized checks the key of guarded paths.
func (c *call) authorized() bool {
	if c.Key == "" || !strings.HasPrefix(c.r.URL.Path, "/v1") {
		return true
	}
	scheme, key, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "bearer") && key == c.Key
}

// read reads a JSON body; it is false if there is none to go on with.
func (c *call) read() bool {
	media, _, _ := strings.Cut(c.r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(media, "application/json") {
		c.refuse(malformed("", "the Content-Type is not JSON"))
		return false
	}
	var err error
	c.body, err = io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	if err != nil { // the client is gone, or sends too much
		disconnect(c.w)
	}
	return err == nil
}

// answer sends a whole JSON response.
func (c *call) answer(status int, body []byte) {
	c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.head(status, "application/json")
	_, _ = c.w.Write(body) // a client that is gone misses nothing
}

// head sends status and headers.
func (c *call) head(status int, media string) {
	c.w.Header().Set("Content-Type", media)
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

// health is an empty 200 while the engine is not dead, though it may hang.
func (c *call) health() {
	if c.engine.end.Err() != nil {
		c.w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (c *call) version() {
	version := Version
	if c.Plain {
		version = "simulated"
	}
	c.answer(http.StatusOK, []byte(`{"version":"`+version+`"}`))
}

func (c *call) models() {
	owner, now := "vllm", wall.Now().Unix()
	if c.Plain {
		owner = "imitation"
	}
	c.answer(http.StatusOK, fmt.Appendf(nil, `{"object":"list","data":[{"id":%s,"object":"model","created":%d,"owned_by":"%s","root":%s,`+
		`"parent":null,"max_model_len":%d,"permission":[{"id":"modelperm-0","object":"model_permission","created":%d,`+
		`"allow_create_engine":false,"allow_sampling":true,"allow_logprobs":true,"allow_search_indices":false,"allow_view":true,`+
		`"allow_fine_tuning":false,"organization":"*","group":null,"is_blocking":false}]}]}`,
		quote(c.Model), now, owner, quote(c.Model), c.MaxModelLen, now))
}

// metrics sends, in Prometheus's form, the metrics of vLLM that clients of this
// project read.
func (c *call) metrics() {
	e := c.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	var b []byte
	add := func(name, labels string, value int) {
		b = fmt.Appendf(b, "vllm:%s{engine=\"0\",%smodel_name=%q} %d.0\n", name, labels, c.Model, value)
	}
	add("num_requests_running", "", len(e.batch.Running()))
	add("num_requests_waiting", "", len(e.batch.Waiting()))
	add("prompt_tokens_total", "", e.prompts)
	add("generation_tokens_total", "", e.generated)
	add("request_success_total", "", e.successes)
	add("cache_config_info", `enable_prefix_caching="False",`, 1)
	c.head(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8")
	_, _ = c.w.Write(b)
}

// tokenize gives the tokens of a text, or of a chat's prompt.
func (c *call) tokenize() {
	q, p := parse(c.body, true)
	text := ""
	switch {
	case p != nil:
	case q.Model != "" && q.Model != c.Model:
		p = unknownModel(q.Model)
	case q.Messages != nil:
		text = c.template(q)
	case json.Unmarshal(q.Prompt, &text) != nil:
		p = malformed("", "prompt is not a text, and there are no messages")
	}
	if p != nil {
		c.refuse(p)
		return
	}
	tokens := fleet.Tokenize(text)
	c.answer(http.StatusOK, fmt.Appendf(nil, `{"count":%d,"max_model_len":%d,"tokens":%s,"token_strs":null}`, len(tokens), c.MaxModelLen, list(tokens)))
}

func (c *call) detokenize() {
	var q struct {
		Tokens []int32 `json:"tokens"`
	}
	if err := json.Unmarshal(c.body, &q); err != nil {
		c.refuse(malformed("", err.Error()))
		return
	}
	c.answer(http.StatusOK, fmt.Appendf(nil, `{"prompt":%s}`, quote(fleet.Valid(fleet.Detokenize(q.Tokens)))))
}

// problem is a refusal: an error body with the status, type, param and code of
// vLLM. The messages are our own, but for the words that clients read.
type problem struct {
	status               int
	kind, param, message string // kind: "BadRequestError", …; param "": null
	late                 bool   // the engine finds it, when a stream has begun
}

// invalid is a 400 for a value that was understood and is not allowed.
func invalid(param, message string) *problem {
	return &problem{http.StatusBadRequest, "BadRequestError", param, message, false}
}

// malformed is a 400 for a request of the wrong form; param is the parameter that
// vLLM's own checks name.
func malformed(param, message string) *problem {
	return &problem{http.StatusBadRequest, "Bad Request", param, message, false}
}

func unknownModel(name string) *problem {
	return &problem{http.StatusNotFound, "NotFoundError", "model", "The model `" + name + "` does not exist.", false}
}

func internal(message string) *problem {
	return &problem{http.StatusInternalServerError, "InternalServerError", "", message, false}
}

// engineDead is the answer to requests whose engine dies. Clients read the word
// EngineCore.
func engineDead() *problem { return internal("EngineCore encountered an issue.") }

// body is the JSON of the problem.
func (p *problem) body() []byte {
	return fmt.Appendf(nil, `{"error":{"message":%s,"type":"%s","param":%s,"code":%d}}`, quote(p.message), p.kind, optional(p.param != "", p.param), p.status)
}

// refuse sends an error.
func (c *call) refuse(p *problem) { c.answer(p.status, p.body()) }
