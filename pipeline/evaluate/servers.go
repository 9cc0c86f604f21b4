package evaluate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/measurement"
	"speceval/internal/serving"
	"speceval/internal/shown"
	"speceval/internal/vllm"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
)

// lease is replicas of the model, as an evaluation uses them.
type lease struct{ experiment.Replicas }

var _ evaluation.Servers = lease{}

// keyMark is what comes between an address and the name of a variable.
const keyMark = ",key_env="

// workers are servers as they are named on the command line: URL, or URL,key_env=NAME of
// those whose key is in an environment variable of their own. Those with the same variable
// are one worker. What is wrong is a *RequestError, which repeats no password and no key.
func workers(named []string) ([]config.Worker, error) {
	var all []config.Worker
	for _, text := range named {
		address, variable, own := strings.Cut(text, keyMark)
		if own && !config.VariableName.MatchString(variable) {
			return nil, requestf("--worker %s%s: want the name of an environment variable behind it, in capital letters, and not the key itself", shown.Address(address), keyMark)
		}
		if err := vllm.CheckAddress(address); err != nil {
			return nil, requestf("--worker: %w", err)
		}
		at := slices.IndexFunc(all, func(w config.Worker) bool { return w.KeyEnv == variable })
		if at < 0 {
			at = len(all)
			name := "worker"
			if at > 0 {
				name = fmt.Sprintf("worker_%d", at+1)
			}
			all = append(all, config.Worker{Name: name, KeyEnv: variable})
		}
		all[at].URLs = append(all[at].URLs, address)
	}
	return all, nil
}

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
