package vllm

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Metrics is what matters of a server's /metrics, summed over its engines. The
// totals count from the start of the server.
type Metrics struct {
	Running, Waiting   int     // requests
	GenerationTokens   float64 // total, of aborted requests too
	PromptTokens       float64 // total
	PrefixCacheQueries float64 // total tokens looked up; 0 with prefix caching off
	Preemptions        float64 // total
	CacheUse           float64 // share of the key-value cache, of the fullest engine, 0 to 1
	PrefixCaching      string  // "True" or "False", as the server says it; "" if it does not
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
		"vllm:num_requests_running":       &running,
		"vllm:num_requests_waiting":       &waiting,
		"vllm:generation_tokens_total":    &m.GenerationTokens,
		"vllm:prompt_tokens_total":        &m.PromptTokens,
		"vllm:prefix_cache_queries_total": &m.PrefixCacheQueries,
		"vllm:num_preemptions_total":      &m.Preemptions,
		"vllm:kv_cache_usage_perc":        &ignored,
		"vllm:cache_config_info":          &ignored,
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
		case "vllm:kv_cache_usage_perc":
			m.CacheUse = max(m.CacheUse, value)
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
