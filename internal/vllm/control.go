package vllm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Model is a model that a server serves.
type Model struct {
	ID          string // the name that requests give
	Root        string // where the weights came from
	Owner       string // owned_by: "vllm", and what others call themselves
	MaxModelLen int    // tokens of prompt and answer together; 0 if the server does not tell
}

// Health asks whether the engine is alive. A hung one still says yes. A server
// that answers that it is not gives an Error of kind EngineDead. A plain server
// is asked for its models, and is alive if it answers whatever.
func (c *Client) Health(ctx context.Context) error {
	address := c.root + "/health"
	plain := c.Plain()
	if plain {
		address = c.api + "/models"
	}
	_, err := c.ask(ctx, http.MethodGet, address, nil)
	var e *Error
	switch {
	case !errors.As(err, &e) || e.Status == 0:
		return err
	case e.Status == http.StatusServiceUnavailable:
		e.Kind = EngineDead
	case plain:
		return nil
	}
	return err
}

// Version is the server's version of vLLM, like "0.23.0" or "0.23.0+cpu".
func (c *Client) Version(ctx context.Context) (string, error) {
	var answer struct {
		Version string `json:"version"`
	}
	if err := c.get(ctx, c.root+"/version", &answer); err != nil {
		return "", err
	}
	if answer.Version == "" {
		return "", c.blame(garbage("no version in the answer to /version"))
	}
	if len(answer.Version) > longestName {
		return "", c.blame(garbage(fmt.Sprintf("a version of %d bytes", len(answer.Version))))
	}
	return answer.Version, nil
}

// Models lists what the server serves.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var answer struct {
		Data []struct {
			ID          string `json:"id"`
			Root        string `json:"root"`
			Owner       string `json:"owned_by"`
			MaxModelLen int    `json:"max_model_len"`
		} `json:"data"`
	}
	if err := c.get(ctx, c.api+"/models", &answer); err != nil {
		return nil, err
	}
	models := make([]Model, len(answer.Data))
	for i, m := range answer.Data {
		if n := max(len(m.ID), len(m.Root), len(m.Owner)); n > longestName {
			return nil, c.blame(garbage(fmt.Sprintf("a model with a name of %d bytes", n)))
		}
		models[i] = Model{ID: m.ID, Root: m.Root, Owner: m.Owner, MaxModelLen: m.MaxModelLen}
	}
	return models, nil
}

// Tokenize is the tokens of a bare text, special ones recognised, none added.
func (c *Client) Tokenize(ctx context.Context, model, text string) ([]int32, error) {
	question, err := json.Marshal(map[string]any{"model": model, "prompt": text, "add_special_tokens": false})
	if err != nil {
		return nil, err
	}
	body, err := c.ask(ctx, http.MethodPost, c.root+"/tokenize", question)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Tokens []int32 `json:"tokens"`
	}
	if err := decode(body, &answer); err != nil {
		return nil, c.blame(err)
	}
	return answer.Tokens, nil
}

// Detokenize is the text of tokens, special ones written out.
func (c *Client) Detokenize(ctx context.Context, model string, ids []int32) (string, error) {
	question, err := json.Marshal(map[string]any{"model": model, "tokens": ids})
	if err != nil {
		return "", err
	}
	body, err := c.ask(ctx, http.MethodPost, c.root+"/detokenize", question)
	if err != nil {
		return "", err
	}
	var answer struct {
		Text *string `json:"prompt"`
	}
	if err := decode(body, &answer); err != nil {
		return "", c.blame(err)
	}
	if answer.Text == nil {
		return "", c.blame(garbage("no text in the answer to /detokenize"))
	}
	return *answer.Text, nil
}

// ResetPrefixCache forgets cached prefixes. Only servers in development mode
// (VLLM_SERVER_DEV_MODE=1) can; the error of others wraps ErrNotOffered.
func (c *Client) ResetPrefixCache(ctx context.Context) error {
	if c.Plain() {
		return c.notOffered()
	}
	_, err := c.ask(ctx, http.MethodPost, c.root+"/reset_prefix_cache", nil)
	if e := (*Error)(nil); errors.As(err, &e) && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) {
		e.Err = ErrNotOffered
	}
	return err
}

// notContinued is the error of an answer that cannot go on from its prefix.
func (c *Client) notContinued(why string, cause error) error {
	return &Error{Kind: NotContinued, URL: c.root, Message: why, Err: cause}
}

// notOffered is the error of what a plain server is not even asked for.
func (c *Client) notOffered() error {
	return &Error{Kind: UnknownModel, URL: c.root, Message: "not asked: it may be none of vLLM", Err: ErrNotOffered}
}

func (c *Client) get(ctx context.Context, address string, into any) error {
	body, err := c.ask(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	return c.blame(decode(body, into))
}

// ask sends a short question, which needs no tokens generated, and returns the
// body of the answer. An Error of kind Idle says that none came in good time.
func (c *Client) ask(ctx context.Context, method, address string, question []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if c.options.Clock.Sleep(ctx, controlWithin) == nil {
			cancel(&Error{Kind: Idle, URL: c.root, Message: fmt.Sprintf("no answer to %s within %v", strings.TrimPrefix(address, c.root), controlWithin)})
		}
	}()
	response, err := c.send(ctx, method, address, "", question)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var buffer bytes.Buffer
	err = c.read(ctx, response, &buffer, largestControl)
	return c.hider.answer(buffer.Bytes()), err
}

// Metrics is what matters of a server's /metrics, summed over its engines. The
// totals count from the start of the server.
type Metrics struct {
	Running, Waiting int     // requests
	GenerationTokens float64 // total, of aborted requests too
	PromptTokens     float64 // total
	PrefixCaching    string  // "True" or "False", as the server says it; "" if it does not
}

// Metrics reads /metrics. The error of a server that has none of vLLM's, being
// another or started with --disable-log-stats, wraps ErrNotOffered.
func (c *Client) Metrics(ctx context.Context) (Metrics, error) {
	if c.Plain() {
		return Metrics{}, c.notOffered()
	}
	body, err := c.ask(ctx, http.MethodGet, c.root+"/metrics", nil)
	if err != nil {
		return Metrics{}, err
	}
	m, err := parseMetrics(string(body))
	return m, c.blame(err)
}

// parseMetrics reads Prometheus' text format: a name, labels in braces, a number.
func parseMetrics(text string) (Metrics, error) {
	var m Metrics
	var running, waiting, ignored float64
	sums := map[string]*float64{
		"vllm:num_requests_running":    &running,
		"vllm:num_requests_waiting":    &waiting,
		"vllm:generation_tokens_total": &m.GenerationTokens,
		"vllm:prompt_tokens_total":     &m.PromptTokens,
		"vllm:cache_config_info":       &ignored,
	}
	found := false
	for line := range strings.Lines(text) {
		name, labels, number := split(strings.TrimSpace(line))
		sum, wanted := sums[name]
		if !wanted {
			continue
		}
		value, err := count(number)
		if err != nil {
			return Metrics{}, &Error{Kind: Garbage, Message: fmt.Sprintf("/metrics: line %q", clip(line)), Err: err}
		}
		*sum += value
		switch name {
		case "vllm:num_requests_running":
			found = true
		case "vllm:cache_config_info":
			m.PrefixCaching = label(labels, "enable_prefix_caching")
		}
	}
	if !found {
		return Metrics{}, &Error{Kind: Garbage, Message: "/metrics has nothing of vLLM", Err: ErrNotOffered}
	}
	m.Running, m.Waiting = int(running), int(waiting)
	return m, nil
}

// split parts a line into name, labels and what follows them.
func split(line string) (name, labels, number string) {
	open, end := strings.IndexByte(line, '{'), strings.LastIndexByte(line, '}')
	if open < 0 || end < open {
		name, number, _ = strings.Cut(line, " ")
		return name, "", number
	}
	return line[:open], line[open+1 : end], line[end+1:]
}

// count is the number of a line; a time may follow it.
func count(text string) (float64, error) {
	number, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	value, err := strconv.ParseFloat(number, 64)
	if err == nil && !(value >= 0 && value <= 1<<53) {
		err = fmt.Errorf("%v is no count", value)
	}
	return value, err
}

// label is the value of one label of a line; "" if it is not there. Values with
// escaped quotes do not occur in what is read here.
func label(labels, name string) string {
	_, rest, found := strings.Cut(","+labels, ","+name+`="`)
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
