package main

import (
	"context"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/measurement"
	"speceval/internal/serving"
	"speceval/internal/vllm"
	"speceval/pipeline/experiment"
)

// acquireUnless waits for servers, of any kind that will do, as long as nobody asks
// to stop.
func acquireUnless(ctx context.Context, drain <-chan struct{}, servers *serving.Servers, e *evaluated) (*serving.Lease, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-drain:
			cancel()
		case <-ctx.Done():
		}
	}()
	model := experiment.ServedModel(e.cfg, e.model)
	model.Requires.Foreign, model.Requires.Version = true, ""
	model.Requires.Sampling = experiment.Sampling(e.cfg, e.model)
	return servers.Acquire(ctx, model)
}

// provenanceOf says whether servers are simulated ones.
func provenanceOf(r experiment.Replicas) string {
	if strings.Contains(strings.Join(r.Versions(), " "), "simulated") {
		return measurement.Simulated
	}
	return measurement.Measured
}

// evaluationServers are a lease as an evaluation sees it.
type evaluationServers struct{ experiment.Replicas }

var _ evaluation.Servers = evaluationServers{}

// Stream asks one of the replicas.
func (e evaluationServers) Stream(ctx context.Context, r vllm.Request, seen func(vllm.Usage)) (vllm.Completion, string, error) {
	return e.Lease.Stream(ctx, r, seen)
}
