package imitation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/fleet"
)

// histogramFamilies are the histograms of /metrics, in its order, without the
// prefix "vllm:". Without bounds they are 1, 2, 5, … up to the context.
var histogramFamilies = []struct {
	name, about string
	bounds      []float64
}{
	{"request_prompt_tokens", "Number of prefill tokens processed.", nil},
	{"request_generation_tokens", "Number of generation tokens processed.", nil},
	{"iteration_tokens_total", "Histogram of number of tokens per engine_step.", stepBuckets},
	{"request_max_num_generation_tokens", "Histogram of maximum number of requested generation tokens.", nil},
	{"request_params_n", "Histogram of the n request parameter.", manyBuckets},
	{"request_params_max_tokens", "Histogram of the max_tokens request parameter.", nil},
	{"time_to_first_token_seconds", "Histogram of time to first token in seconds.", firstTokenBuckets},
	{"inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", tokenBuckets},
	{"request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", tokenBuckets},
	{"e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", requestBuckets},
	{"request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", requestBuckets},
	{"request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", requestBuckets},
	{"request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", requestBuckets},
	{"request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", requestBuckets},
	{"request_prefill_kv_computed_tokens", "Histogram of new KV tokens computed during prefill (excluding cached tokens).", nil},
}

// page builds Prometheus's text form.
type page struct {
	b      []byte
	labels string // of every vLLM metric: engine and model
	born   string // time of the process's start
}

// sample is one line of a family: its labels beyond those of all, as they
// stand between engine and model_name or after them, and the value.
type sample struct {
	labels string
	value  float64
}

// family writes one family of gauges or counters; counters get their time of
// creation too, as Python's client does.
func (p *page) family(kind, name, about string, samples ...sample) {
	shown := "vllm:" + name
	if kind == "counter" {
		shown += "_total"
	}
	p.head(shown, kind, about)
	for _, s := range samples {
		p.line(shown, s.labels, decimal(s.value))
	}
	if kind == "counter" {
		p.head("vllm:"+name+"_created", "gauge", about)
		for _, s := range samples {
			p.line("vllm:"+name+"_created", s.labels, p.born)
		}
	}
}

func (p *page) head(name, kind, about string) {
	p.b = append(p.b, "# HELP "+name+" "+about+"\n# TYPE "+name+" "+kind+"\n"...)
}

// line writes a sample, its labels in alphabetical order.
func (p *page) line(name, labels, value string) {
	all := p.labels
	switch {
	case labels == "":
	case labels < "model":
		all = strings.Replace(all, ",", ","+labels+",", 1)
	default:
		all += "," + labels
	}
	p.b = append(p.b, name+"{"+all+"} "+value+"\n"...)
}

// label is one label of a sample.
func label(name, value string) string { return name + "=" + strconv.Quote(value) }

// reasons are the ways in which a request may finish.
var reasons = [...]string{"stop", "length", "abort", "error", "repetition"}

// page is the text of /metrics.
func (m *meter) page(s Settings) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := &page{
		labels: `engine="0",` + label("model_name", s.Model),
		born:   strconv.FormatFloat(float64(m.born.UnixMicro())/1e6, 'e', -1, 64),
	}
	one := func(v float64) sample { return sample{value: v} }
	waiting := float64(m.waiting.Load())
	p.family("gauge", "num_requests_running", "Number of requests in model execution batches.", one(float64(m.running.Load())))
	p.family("gauge", "num_requests_waiting", "Number of requests waiting to be processed.", one(waiting))
	p.family("gauge", "num_requests_waiting_by_reason", "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; "+
		"'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons equals vllm:num_requests_waiting.",
		sample{label("reason", "capacity"), waiting}, sample{label("reason", "deferred"), 0})
	p.family("gauge", "engine_sleep_state", "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; "+
		"weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.",
		sample{label("sleep_state", "awake"), 1}, sample{label("sleep_state", "weights_offloaded"), 0}, sample{label("sleep_state", "discard_all"), 0})
	p.family("gauge", "kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", one(min(1, float64(m.kept.Load())/float64(m.cacheTokens))))
	p.family("counter", "prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.", one(float64(m.queries)))
	p.family("counter", "prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", one(0))
	p.family("counter", "num_preemptions", "Cumulative number of preemption from the engine.", one(0))
	p.family("counter", "prompt_tokens", "Number of prefill tokens processed.", one(float64(m.prompts)))
	p.family("counter", "prompt_tokens_by_source", "Number of prompt tokens by source.",
		sample{label("source", "local_compute"), float64(m.prompts)}, sample{label("source", "local_cache_hit"), 0}, sample{label("source", "external_kv_transfer"), 0})
	p.family("counter", "prompt_tokens_cached", "Number of cached prompt tokens (local + external).", one(0))
	p.family("counter", "generation_tokens", "Number of generation tokens processed.", one(float64(m.generated)))
	var finished []sample
	for _, reason := range reasons {
		finished = append(finished, sample{label("finished_reason", reason), float64(m.finished[reason])})
	}
	p.family("counter", "request_success", "Count of successfully processed requests.", finished...)
	for _, f := range histogramFamilies {
		p.head("vllm:"+f.name, "histogram", f.about)
		p.b = m.histograms[f.name].appendTo(p.b, "vllm:"+f.name, p.labels)
		p.head("vllm:"+f.name+"_created", "gauge", f.about)
		p.line("vllm:"+f.name+"_created", "", p.born)
	}
	p.cache(s)
	p.requests(m)
	return p.b
}

// cache writes the configuration of the cache, as far as it means something
// here.
func (p *page) cache(s Settings) {
	caching := "False"
	if s.PrefixCaching {
		caching = "True"
	}
	p.head("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig")
	p.b = fmt.Appendf(p.b, "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",enable_prefix_caching=\"%s\",engine=\"0\",num_gpu_blocks=\"%d\"} 1.0\n",
		caching, (s.MaxModelLen*s.MaxSequences+15)/16)
}

// requests writes the counts of HTTP requests.
func (p *page) requests(m *meter) {
	p.head("http_requests_total", "counter", "Total number of requests by method, status and handler.")
	for _, key := range m.order {
		p.b = fmt.Appendf(p.b, "http_requests_total{handler=%q,method=%q,status=%q} %s\n", key[0], key[1], key[2], decimal(float64(m.http[key])))
	}
}

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
// jobs are stamped and reported.
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

// Buckets of the real server's histograms.
var (
	firstTokenBuckets = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	tokenBuckets      = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	requestBuckets    = []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	stepBuckets       = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	manyBuckets       = []float64{1, 2, 5, 10, 20}
)

// countBuckets are 1, 2, 5, 10, … up to most.
func countBuckets(most int) (buckets []float64) {
	for power := 1; ; power *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*power > most {
				return buckets
			}
			buckets = append(buckets, float64(m*power))
		}
	}
}

// histogram counts values in buckets.
type histogram struct {
	bounds []float64
	counts []uint64 // below the bounds, and above all at the end
	sum    float64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// observe counts a value n times.
func (h *histogram) observe(value float64, n int) {
	if n <= 0 {
		return
	}
	i, _ := slices.BinarySearch(h.bounds, value)
	h.counts[i] += uint64(n)
	h.sum += value * float64(n)
}

// appendTo writes the samples of a histogram in Prometheus's text form.
func (h *histogram) appendTo(b []byte, name, labels string) []byte {
	total := uint64(0)
	for i, n := range h.counts {
		total += n
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = decimal(h.bounds[i])
		}
		b = append(b, name+"_bucket{"+labels[:len(`engine="0",`)]+`le="`+bound+`",`+labels[len(`engine="0",`):]+"} "...)
		b = append(b, decimal(float64(total))+"\n"...)
	}
	b = append(b, name+"_count{"+labels+"} "+decimal(float64(total))+"\n"...)
	return append(b, name+"_sum{"+labels+"} "+decimal(h.sum)+"\n"...)
}

// decimal writes a number as Python does: always with a point or an exponent.
func decimal(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if v >= 1e-4 && v < 1e16 || v <= -1e-4 && v > -1e16 || v == 0 {
		text = strconv.FormatFloat(v, 'f', -1, 64)
		if v == float64(int64(v)) {
			text += ".0"
		}
	}
	return text
}
