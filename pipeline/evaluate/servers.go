package evaluate

import (
	"context"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/measurement"
	"speceval/internal/serving"
	"speceval/internal/vllm"
	"speceval/pipeline/experiment"
)

// lease is replicas of the model, as an evaluation uses them.
type lease struct{ experiment.Replicas }

var _ evaluation.Servers = lease{}

// acquire waits for servers of the model, of any kind that speaks OpenAI's
// protocol, until drain is closed.
func (s *Subject) acquire(ctx context.Context, servers *serving.Servers, drain <-chan struct{}) (lease, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-drain:
			cancel()
		case <-ctx.Done():
		}
	}()
	model := experiment.ServedModel(s.cfg, s.model)
	model.Requires.Foreign, model.Requires.Version = true, ""
	model.Requires.Continues = experiment.OnLoss(s.cfg) != vllm.AskAgain
	model.Requires.Sampling = experiment.Sampling(s.cfg, s.model)
	l, err := servers.Acquire(ctx, model)
	return lease{experiment.Replicas{Lease: l}}, err
}

// Stream asks one of the replicas.
func (l lease) Stream(ctx context.Context, r vllm.Request, seen func(vllm.Piece)) (vllm.Completion, string, error) {
	return l.Lease.Stream(ctx, r, seen)
}

// provenance says whether the replicas are simulated ones.
func (l lease) provenance() string {
	if strings.Contains(strings.Join(l.Versions(), " "), "simulated") {
		return measurement.Simulated
	}
	return measurement.Measured
}
