package imitation

import (
	"fmt"
	"sync"
	"sync/atomic"

	"speceval/internal/fleet"
)

// reasons are the ways in which a request may finish.
var reasons = [...]string{"stop", "length", "abort", "error", "repetition"}

// meter counts what /metrics shows of one server process. As in vLLM, an aborted
// request counts with its tokens, but not as a success.
type meter struct {
	running, waiting atomic.Int64

	mu                 sync.Mutex
	prompts, generated int            // tokens
	finished           map[string]int // requests by reason
}

// page is the text of /metrics, in Prometheus's form: the metrics of vLLM that clients
// of this project read.
func (m *meter) page(s Settings) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b []byte
	head := func(name, kind string) { b = fmt.Appendf(b, "# TYPE vllm:%s %s\n", name, kind) }
	line := func(name, labels string, value int) {
		b = fmt.Appendf(b, "vllm:%s{engine=\"0\",%smodel_name=%q} %d.0\n", name, labels, s.Model, value)
	}
	for _, metric := range []struct {
		name, kind string
		value      int
	}{
		{"num_requests_running", "gauge", int(m.running.Load())},
		{"num_requests_waiting", "gauge", int(m.waiting.Load())},
		{"prompt_tokens_total", "counter", m.prompts},
		{"generation_tokens_total", "counter", m.generated},
	} {
		head(metric.name, metric.kind)
		line(metric.name, "", metric.value)
	}
	head("request_success_total", "counter")
	for _, reason := range reasons {
		line("request_success_total", fmt.Sprintf("finished_reason=%q,", reason), m.finished[reason])
	}
	caching := "False"
	if s.PrefixCaching {
		caching = "True"
	}
	head("cache_config_info", "gauge")
	line("cache_config_info", fmt.Sprintf("enable_prefix_caching=%q,", caching), 1)
	return b
}

// load takes the gauges from the batch.
func (m *meter) load(b *fleet.Batch) {
	m.running.Store(int64(b.Running()))
	m.waiting.Store(int64(b.Waiting()))
}

// step counts what steps steps of the engine have brought. It runs before the
// jobs are reported.
func (m *meter) step(e *engine, steps int, ended []*fleet.Sequence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := func(s *fleet.Sequence) {
		m.generated += steps
		if j := s.Owner.(*job); !j.prefilled {
			j.prefilled = true
			m.prompts += s.Prompt
		}
	}
	e.batch.Each(count)
	for _, s := range ended {
		count(s)
		switch j := s.Owner.(*job); j.mishap.kind {
		case cut: // as if its client had left
		case broken:
			m.finished["error"]++
		default:
			m.finished[j.answer.Finish]++
		}
	}
}
