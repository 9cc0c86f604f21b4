package conformance

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	runningName   = "vllm:num_requests_running"
	waitingName   = "vllm:num_requests_waiting"
	generatedName = "vllm:generation_tokens_total"
	promptName    = "vllm:prompt_tokens_total"
	successName   = "vllm:request_success_total"
)

// metrics reads the server's metrics; those that differ in labels alone are
// summed up.
func (s *session) metrics(ctx context.Context) (map[string]float64, error) {
	got, err := s.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	if got.status != http.StatusOK || got.kind != "text/plain" {
		return nil, fmt.Errorf("metrics: %d %s", got.status, got.kind)
	}
	values := make(map[string]float64)
	for scanner := bufio.NewScanner(bytes.NewReader(got.body)); scanner.Scan(); {
		line := scanner.Text()
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 {
			return nil, fmt.Errorf("metrics: no value in %q", line)
		}
		v, err := strconv.ParseFloat(line[cut+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %w in %q", err, line)
		}
		name, _, _ := strings.Cut(line[:cut], "{")
		values[name] += v
	}
	return values, nil
}

// poll is the pause between two looks at the metrics.
const poll = 5 * time.Millisecond

// await looks at the metrics until so many requests are running and waiting.
func (s *session) await(ctx context.Context, running, waiting int) (map[string]float64, error) {
	for {
		m, err := s.metrics(ctx)
		if err != nil {
			return nil, err
		}
		if int(m[runningName]) == running && int(m[waitingName]) == waiting {
			return m, nil
		}
		if err := s.Clock.Sleep(ctx, poll); err != nil {
			return nil, fmt.Errorf("%d running and %d waiting for %d and %d: %w",
				int(m[runningName]), int(m[waitingName]), running, waiting, err)
		}
	}
}
