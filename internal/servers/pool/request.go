package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"speceval/internal/policy/seed"
	"speceval/internal/servers/vllm"
)

// job is a request on its way through the pool, and its answer through all tries.
type job struct {
	pool    *Pool
	request vllm.Request // with what has been seen of its answer
	seen    func(vllm.Piece)
	anew    bool // the answer has begun anew, and the caller has no piece that says so

	continued, again int           // as in vllm.Completion
	worked           time.Duration // by servers on the part that is resumed
	limited          time.Time     // when a replica first put it off; zero: never
}

// Stream asks one of the replicas for a completion, whose pieces seen hears unless it is nil, and
// returns the name of the replica that it came from, or that failed last. A request that is lost
// under way goes on from what was seen of its answer, at any replica, or begins anew, which
// its first piece says then: see vllm.OnLoss. Ids of tokens are asked for of servers
// alone that tell them.
func (p *Pool) Stream(ctx context.Context, r vllm.Request, seen func(vllm.Piece)) (vllm.Completion, string, error) {
	j := job{pool: p, request: r, seen: seen}
	c, name, err := j.run(ctx)
	if j.anew && err == nil { // in no piece
		j.again++
	}
	c.Continued, c.Again, c.Sent = j.continued, j.again, c.Sent.Add(-j.worked)
	return c, name, err
}

// run sends the request until it is answered, fails for good, or has failed as often as allowed.
func (j *job) run(ctx context.Context) (completion vllm.Completion, name string, err error) {
	p := j.pool
	arrival := p.arrivals.Add(1)
	for failures := 0; ; {
		l, err := p.acquire(ctx, arrival)
		if err != nil {
			return completion, name, err
		}
		name = l.replica.Name
		plain := l.replica.Client.Plain()
		r := j.request
		r.TokenIDs = r.TokenIDs && !plain
		completion, err = l.Stream(r, j.hear)
		l.Release()
		if err == nil || ctx.Err() != nil || !transient(err) {
			return completion, name, err
		}
		if err := j.proceed(&completion, err, plain); err != nil {
			return completion, name, err
		}
		if j.counts(err) {
			if failures++; failures >= p.settings.Attempts {
				return completion, name, attempts(failures, err)
			}
			if ended := j.backOff(ctx, failures, err); ended != nil {
				return completion, name, fmt.Errorf("%w, while waiting to try again after: %v", ended, err)
			}
		}
		p.resent.Add(1)
	}
}

// transient reports whether a request may be sent again after an error.
func transient(err error) bool {
	var e *vllm.Error
	return !errors.Is(err, ErrClosed) &&
		(errors.As(err, new(*loss)) || vllm.KindOf(err) == vllm.NotContinued || errors.As(err, &e) && !e.Kind.Permanent())
}

// counts reports whether a failure is one of the attempts: not where the replica cannot have had
// the request or continued it, nor where it was put off and just waits for its turn again, unless
// that takes longer than an outage may.
func (j *job) counts(err error) bool {
	var e *vllm.Error
	if errors.As(err, &e) && e.Limited() {
		now := j.pool.settings.Clock.Now()
		j.limited = cmp.Or(j.limited, now)
		return now.Add(e.Later).Sub(j.limited) > j.pool.settings.Outage
	}
	var lost *loss
	return vllm.KindOf(err) != vllm.NotContinued && !(errors.As(err, &lost) && lost.unsent)
}

// backOff waits before the next try, unless the replica was lost and another one is asked.
func (j *job) backOff(ctx context.Context, failures int, err error) error {
	if errors.As(err, new(*loss)) {
		return nil
	}
	// Less a random half, so that requests that failed together do not return together.
	wait := min(firstWait<<min(failures-1, 20), lastWait)
	stream := seed.Root(uint64(j.request.Seed)).Child("retry").Index(failures).Stream()
	wait -= time.Duration(stream.Float64() * float64(wait) / 2)
	var e *vllm.Error
	if errors.As(err, &e) {
		wait = max(wait, e.Later)
	}
	if failures > 1 { // one failure is nothing to speak of: see Resent
		j.pool.settings.Report(fmt.Sprintf("%s failed, attempt %d of %d, again in %v: %v", j.name(), failures, j.pool.settings.Attempts, wait.Round(time.Millisecond), err))
	}
	return j.pool.pause(ctx, wait)
}

// attempts is the error of what has failed so often.
func attempts(n int, err error) error {
	if n > 1 {
		return fmt.Errorf("%d attempts: %w", n, err)
	}
	return err
}

// Waits between two tries of a request double from the first.
const (
	firstWait = 250 * time.Millisecond
	lastWait  = 30 * time.Second
)

// pause waits between two tries, unless StopWaiting ends that.
func (p *Pool) pause(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.waits, func() { cancel(vllm.ErrStopped) })()
	if p.settings.Clock.Sleep(ctx, d) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// name says which request it is.
func (j *job) name() string {
	if j.request.ID != "" {
		return "request " + j.request.ID
	}
	return fmt.Sprintf("request with seed %d", j.request.Seed)
}

// hear passes a piece on.
func (j *job) hear(p vllm.Piece) {
	if j.anew {
		p.Anew, j.anew = true, false
		j.again++
	}
	if j.seen != nil {
		j.seen(p)
	}
}

// proceed decides how a request is made again that has failed: from what was seen of
// its answer, or from nothing. Its error forbids that.
func (j *job) proceed(c *vllm.Completion, err error, plain bool) error {
	had := 0
	if j.request.Prefix != nil {
		had = len(j.request.Prefix.IDs)
	}
	kind, prefix := vllm.KindOf(err), c.Prefix()
	grown := prefix != nil && len(prefix.IDs) > had
	switch {
	case had > 0 && (kind == vllm.NotContinued || kind == vllm.Garbage && !grown): // the server does not go on with it
	case prefix != nil && j.request.OnLoss != vllm.AskAgain:
		if grown {
			j.continued++
		}
		j.request.Prefix = prefix
		j.worked += c.Finished.Sub(c.Sent)
		return nil
	case c.Text == "" && c.Reasoning == "" && len(c.TokenIDs) == 0:
		// A failure before the first token may tell something of the answer, that it had not come
		// after a while, unless a stream of vLLM would have told its first token.
		var e *vllm.Error
		if !plain && j.request.LeaveOut&vllm.LeaveStream == 0 || errors.As(err, &e) && !e.Worked() {
			return nil // nothing is thrown away
		}
	}
	if j.request.OnLoss == vllm.Refuse {
		return fmt.Errorf("%s: %w: %v", j.name(), vllm.ErrLost, err)
	}
	j.request.Prefix, j.anew, j.worked = nil, true, 0
	return nil
}
