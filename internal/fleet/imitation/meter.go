package imitation

import (
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/fleet"
)

// meter is what /metrics tells of one server process. As in vLLM, an aborted
// request counts with its tokens, but in nothing that is counted by request.
type meter struct {
	running, waiting, kept atomic.Int64 // kept: tokens in the cache

	mu                   sync.Mutex
	born                 time.Time
	prompts, generated   int
	queries              int                   // of the prefix cache, in tokens
	finished             map[string]int        // requests by reason
	histograms           map[string]*histogram // by name
	http                 map[[3]string]int     // by handler, method and class of status
	order                [][3]string
	cacheTokens, context int
}

func newMeter(s Settings) *meter {
	m := &meter{
		born: s.Clock.Now(), finished: map[string]int{}, http: map[[3]string]int{},
		histograms: map[string]*histogram{}, context: s.MaxModelLen, cacheTokens: s.MaxModelLen * s.MaxSequences,
	}
	for _, f := range histogramFamilies {
		bounds := f.bounds
		if bounds == nil {
			bounds = countBuckets(s.MaxModelLen)
		}
		m.histograms[f.name] = newHistogram(bounds)
	}
	return m
}

// load takes the gauges from the batch.
func (m *meter) load(b *fleet.Batch) {
	m.running.Store(int64(b.Running()))
	m.waiting.Store(int64(b.Waiting()))
	m.kept.Store(int64(b.Context()))
}

// step counts what steps steps of the engine have brought. It runs before the
// jobs are stamped and told.
func (m *meter) step(e *engine, steps int, ended []*fleet.Sequence, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tokens := 0
	count := func(s *fleet.Sequence) {
		j := s.Owner.(*job)
		tokens += steps
		if !j.first.IsZero() {
			m.histograms["inter_token_latency_seconds"].observe(now.Sub(e.last).Seconds()/float64(steps), steps)
			return
		}
		j.first = now
		tokens += s.Prompt
		m.prompts += s.Prompt
		if e.PrefixCaching {
			m.queries += s.Prompt
		}
		m.histograms["time_to_first_token_seconds"].observe(now.Sub(j.arrived).Seconds(), 1)
		m.histograms["inter_token_latency_seconds"].observe(0, steps-1)
	}
	before := m.prompts
	e.batch.Each(count)
	for _, s := range ended {
		count(s)
	}
	m.generated += tokens - (m.prompts - before)
	m.histograms["iteration_tokens_total"].observe(float64(tokens)/float64(steps), steps)
	for _, s := range ended {
		m.end(s.Owner.(*job), now)
	}
}

// end counts a request that has ended by itself.
func (m *meter) end(j *job, now time.Time) {
	switch j.mishap.kind {
	case cut: // as if its client had left
		return
	case broken:
		m.finished["error"]++
	default:
		m.finished[j.answer.Finish]++
	}
	generated := j.sequence.Generated
	for name, value := range map[string]float64{
		"request_prompt_tokens":                 float64(j.sequence.Prompt),
		"request_generation_tokens":             float64(generated),
		"request_max_num_generation_tokens":     float64(generated),
		"request_params_n":                      1,
		"request_params_max_tokens":             float64(j.most),
		"request_time_per_output_token_seconds": now.Sub(j.first).Seconds() / float64(max(1, generated-1)),
		"e2e_request_latency_seconds":           now.Sub(j.arrived).Seconds(),
		"request_queue_time_seconds":            j.started.Sub(j.arrived).Seconds(),
		"request_inference_time_seconds":        now.Sub(j.started).Seconds(),
		"request_prefill_time_seconds":          j.first.Sub(j.started).Seconds(),
		"request_decode_time_seconds":           now.Sub(j.first).Seconds(),
		"request_prefill_kv_computed_tokens":    float64(j.sequence.Prompt),
	} {
		m.histograms[name].observe(value, 1)
	}
}

// asked counts an HTTP request.
func (m *meter) asked(handler, method string, status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [3]string{handler, method, string(rune('0'+status/100)) + "xx"}
	if m.http[key] == 0 {
		m.order = append(m.order, key)
	}
	m.http[key]++
}
