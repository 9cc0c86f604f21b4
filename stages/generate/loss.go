package generate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"speceval/internal/rollout"
	"speceval/internal/vllm"
)

// keeps tells whether what comes in is kept, to go on from. Otherwise answers are asked
// for in one piece.
func (f *sampling) keeps() bool { return f.OnLoss != vllm.AskAgain && f.servers.Continues() }

// resume sets from where a request goes on, for which servers have worked so long
// already. It is an error if the rollout would have to be asked for again and must not.
func (f *sampling) resume(request *vllm.Request, id rollout.ID) (took time.Duration, err error) {
	keeps, there := f.keeps(), f.store.log.Find(id)
	request.OnLoss, request.TokenIDs = f.OnLoss, request.TokenIDs || keeps
	if there != nil && (there.Torn || !keeps) && f.OnLoss == vllm.Refuse {
		return 0, fmt.Errorf("rollout %d of %s: %w: set serving.on_loss to %q to ask for it again", id.Rollout, f.benchmark.Tasks[id.Task].ID, vllm.ErrLost, vllm.Continue)
	}
	switch {
	case there == nil:
	case keeps && there.Prefix != nil:
		request.Prefix, took = there.Prefix, there.Took
		f.continued.Add(1)
	default:
		f.store.log.Forget(id)
	}
	f.store.log.Asked(id, keeps)
	return took, nil
}

// send asks for an answer, or for the rest of it.
func (f *sampling) send(ctx context.Context, request vllm.Request, id rollout.ID) (vllm.Completion, string, error) {
	log := f.store.log
	if !f.keeps() {
		answer, server, err := f.servers.Complete(ctx, request)
		var failure *vllm.Error
		if errors.As(err, &failure) && !failure.Worked() {
			log.Torn(id, false)
		}
		if answer.Again > 0 {
			log.Forget(id)
		}
		return answer, server, err
	}
	answer, server, err := f.servers.Stream(ctx, request, func(p vllm.Piece) {
		if p.Anew {
			log.Forget(id)
		}
		log.Saw(id, p)
	})
	if answer.Continued > 0 && request.Prefix == nil {
		f.continued.Add(1)
	}
	return answer, server, err
}
