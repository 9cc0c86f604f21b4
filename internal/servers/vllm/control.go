package vllm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Model is a model that a server serves.
type Model struct {
	ID          string // the name that requests give
	Owner       string // owned_by: "vllm", and what others call themselves
	MaxModelLen int    // tokens of prompt and answer together; 0 if the server does not tell
}

// Serves reports whether a name in a server's list of models stands for the one that is asked
// for: see SameModel. Gateways list patterns as well: "*", "openai/*".
func Serves(asked, listed string) bool {
	start, pattern := strings.CutSuffix(listed, "*")
	return SameModel(asked, listed) || pattern && asked != "" && len(asked) > len(start) && strings.HasPrefix(asked, start)
}

// SameModel reports whether a server that names a model means the one that was asked for. Servers
// may add a publisher in front ("publisher/m"), and a version, tag or revision behind
// ("m-2024-08-06", "m:latest", "m@main"). What follows a dash must be digits: m-mini is another.
func SameModel(asked, named string) bool {
	same, err := regexp.MatchString(`(?i)(^|/)`+regexp.QuoteMeta(asked)+`([:@].*|-\d{3,}(-[\d-]*)?)?$`, named)
	return asked != "" && err == nil && same
}

// Health asks whether the engine is alive, which a hung one is; a dead one is an Error of kind
// EngineDead. A plain server is alive if it answers anything to a question for its models.
func (c *Client) Health(ctx context.Context) error {
	plain, what := c.Plain(), "GET /health"
	if plain {
		what = "GET /v1/models"
	}
	err := c.question(ctx, what, nil, nil)
	var e *Error
	switch {
	case !errors.As(err, &e) || e.Status == 0:
	case e.Status == http.StatusServiceUnavailable:
		e.Kind = EngineDead
	case plain:
		return nil
	}
	return err
}

// Version is the server's version of vLLM, like "0.23.0" or "0.23.0+cpu".
func (c *Client) Version(ctx context.Context) (string, error) {
	var answer struct{ Version string }
	err := c.question(ctx, "GET /version", nil, &answer)
	if err == nil && answer.Version == "" {
		err = c.blame(ctx, garbage("no version in the answer to /version"))
	}
	return clip(answer.Version), err
}

// Models lists what the server serves.
func (c *Client) Models(ctx context.Context) (models []Model, err error) {
	var answer struct {
		Data []struct {
			ID          label
			Owner       label  `json:"owned_by"`
			MaxModelLen number `json:"max_model_len"`
		}
	}
	err = c.question(ctx, "GET /v1/models", nil, &answer)
	for _, m := range answer.Data {
		models = append(models, Model{ID: string(m.ID), Owner: string(m.Owner), MaxModelLen: max(0, m.MaxModelLen.value())})
	}
	return models, err
}

// Tokenize is the tokens of a bare text, special ones recognised, none added.
func (c *Client) Tokenize(ctx context.Context, model, text string) ([]int32, error) {
	var answer struct{ Tokens []int32 }
	err := c.question(ctx, "POST /tokenize", map[string]any{"model": model, "prompt": text, "add_special_tokens": false}, &answer)
	return answer.Tokens, err
}

// Detokenize is the text of tokens, special ones written out.
func (c *Client) Detokenize(ctx context.Context, model string, ids []int32) (string, error) {
	var answer struct{ Prompt *string }
	err := c.question(ctx, "POST /detokenize", map[string]any{"model": model, "tokens": ids}, &answer)
	if err == nil && answer.Prompt == nil {
		err = c.blame(ctx, garbage("no text in the answer to /detokenize"))
	}
	if err != nil {
		return "", err
	}
	return *answer.Prompt, nil
}

// questionWithin bounds an answer to a question that needs no tokens.
const questionWithin = 20 * time.Second

// question asks for a method and a path, with a body unless it is nil. The answer is JSON, of
// names in any case, or a text where it is read into one.
func (c *Client) question(ctx context.Context, what string, body map[string]any, into any) error {
	method, path, _ := strings.Cut(what, " ")
	address := c.root + path
	if rest, found := strings.CutPrefix(path, "/v1"); found {
		address = c.api + rest
	}
	var sent []byte
	if body != nil {
		sent, _ = json.Marshal(body, json.Deterministic(true)) // of names, texts and numbers
	}
	until := c.options.Clock.Now().Add(questionWithin)
	ctx, cancel := c.within(ctx, func() (time.Duration, string) {
		return until.Sub(c.options.Clock.Now()), fmt.Sprintf("no answer to %s within %v", path, questionWithin)
	})
	defer cancel()
	response, err := c.send(ctx, method, address, "", sent)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := c.read(ctx, response, largestControl)
	if err != nil || into == nil {
		return err
	}
	answer = c.options.Key.hide(answer)
	if text, ok := into.(*string); ok {
		*text = string(answer)
		return nil
	}
	answer = bytes.TrimSpace(bytes.TrimPrefix(answer, []byte("\ufeff")))
	if err := json.Unmarshal(answer, into, jsontext.AllowDuplicateNames(true), json.MatchCaseInsensitiveNames(true)); err != nil {
		return c.blame(ctx, &Error{Kind: Garbage, Message: "not the JSON expected from " + path + ", starts " + starts(answer), Err: err})
	}
	return nil
}

// Metrics holds the used values of a server's /metrics, summed over its engines. The totals
// count from the start of the server.
type Metrics struct {
	Running, Waiting int     // requests
	Answered         float64 // requests in all, but for aborted ones
	GenerationTokens float64 // in all, of aborted requests too
	PrefixCaching    string  // "True" or "False", as the server says it; "" if it does not
}

var (
	metric  = regexp.MustCompile(`(?m)^(vllm:(?:num_requests_running|num_requests_waiting|generation_tokens_total|request_success_total|cache_config_info))(?:\{(.*)\})?(?:[ \t]+(\S*).*)?\r?$`)
	caching = regexp.MustCompile(`(?:^|,)enable_prefix_caching="([^"]*)"`)
)

// Metrics reads /metrics, in Prometheus' text format: a name, labels in braces, a number, perhaps
// a time. The error of a server that has none of vLLM's, being another or started with
// --disable-log-stats, wraps ErrNotOffered.
func (c *Client) Metrics(ctx context.Context) (m Metrics, err error) {
	var text string
	if c.Plain() {
		return m, &Error{Kind: UnknownModel, URL: c.root, Message: "not asked: it may be none of vLLM", Err: ErrNotOffered}
	}
	if err := c.question(ctx, "GET /metrics", nil, &text); err != nil {
		return m, err
	}
	sums := map[string]float64{}
	for _, line := range metric.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(line[3], 64)
		if err != nil || !(value >= 0 && value <= 1<<53) {
			return m, c.blame(ctx, garbage("/metrics: no count in the line %q", clip(line[0])))
		}
		sums[line[1]] += value
		if said := caching.FindStringSubmatch(line[2]); said != nil {
			m.PrefixCaching = said[1]
		}
	}
	running, found := sums["vllm:num_requests_running"]
	if !found {
		return m, c.blame(ctx, &Error{Kind: Garbage, Message: "/metrics has nothing of vLLM", Err: ErrNotOffered})
	}
	m.Running, m.Waiting = int(running), int(sums["vllm:num_requests_waiting"])
	m.Answered, m.GenerationTokens = sums["vllm:request_success_total"], sums["vllm:generation_tokens_total"]
	return m, nil
}
