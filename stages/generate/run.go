package generate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/pipeline/dag"
)

// Provenances of rollouts.
const (
	measured  = "measured"  // of real servers
	simulated = "simulated" // of the simulated fleet
)

// syncEvery is how much a machine that stops can lose at most; a process that
// is killed loses nothing that has arrived.
const syncEvery = time.Second

// run is the unit: it samples what is not stored yet.
func (c *sampledRollouts) run(ctx context.Context, job *dag.Job) (err error) {
	s, err := openStore(c, job)
	if err != nil {
		return err
	}
	if s.before < c.total() {
		err = c.sample(ctx, job, s)
	}
	again := s.log.AskedAgain()
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	if again > 0 {
		job.Note("%d of %d rollouts were lost under way and asked for again, though something of them was seen, or may have been: for that the mean may be off by %.2g at most", again, c.total(), float64(again)/float64(c.total()))
	}
	if err := s.clear(); err != nil {
		return err
	}
	job.Provenance(s.provenance())
	return nil
}

// sample asks servers for every rollout that is missing.
func (c *sampledRollouts) sample(ctx context.Context, job *dag.Job, s *store) error {
	servers, err := c.Servers(ctx, c.model.ID, job.Draining())
	if err != nil {
		select {
		case <-job.Draining(): // which ended the wait
			return dag.ErrDrained
		default:
			return err
		}
	}
	defer servers.Release()
	if err := s.asked(servers.Versions()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &sampling{sampledRollouts: c, job: job, store: s, servers: servers, resent: servers.Resent(), cancel: cancel}
	var background sync.WaitGroup
	background.Go(func() { f.keepSynced(ctx) })
	err = f.all(ctx)
	cancel(nil)
	background.Wait()
	return err
}

// sampling is the requests of a unit under way.
type sampling struct {
	*sampledRollouts
	job     *dag.Job
	store   *store
	servers Servers
	resent  int                     // by servers before
	cancel  context.CancelCauseFunc // gives up everything for a reason

	tokens    atomic.Int64 // of the completions of this run
	continued atomic.Int64 // answers that went on from a part
	faults    faults
}

// all hands out the missing places to as many askers as servers have places
// for, and waits until every request under way has ended.
func (f *sampling) all(ctx context.Context) error {
	places := make(chan int)
	var askers sync.WaitGroup
	for range f.servers.Places() {
		askers.Go(func() {
			for place := range places {
				f.one(ctx, place)
			}
		})
	}
	drained := f.handOut(ctx, places)
	close(places)
	askers.Wait()
	if err := f.store.log.Flush(); err != nil {
		return err
	}
	f.advance()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err := f.faults.err(f.sampledRollouts); err != nil || !drained {
		return err
	}
	return dag.ErrDrained
}

// handOut sends the missing places until there are none, or the run wants to
// end.
func (f *sampling) handOut(ctx context.Context, places chan<- int) (drained bool) {
	for place := range f.store.missing() {
		if f.faults.refused(place / f.Rollouts) {
			continue
		}
		select {
		case places <- place:
		case <-f.job.Draining():
			return true
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// one asks for the rollout at a place and stores it.
func (f *sampling) one(ctx context.Context, place int) {
	if ctx.Err() != nil {
		return
	}
	r, err := f.ask(ctx, place)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, vllm.ErrStopped) {
			return // given up, not failed
		}
		if fatal := f.faults.noteFailure(place/f.Rollouts, err); fatal != nil {
			f.cancel(fatal)
		}
		return
	}
	f.store.log.Deliver(r)
	f.faults.success()
	f.tokens.Add(int64(r.CompletionTokens))
}

func (f *sampling) ask(ctx context.Context, place int) (*rollout.Rollout, error) {
	id, end := f.id(place), f.servers.ThinkEnd()
	request := f.asked.Request(id, end)
	took, err := f.resume(&request, id)
	if err != nil {
		return nil, err
	}
	answer, server, err := f.send(ctx, request, id)
	if err != nil {
		return nil, err
	}
	answer.Sent = answer.Sent.Add(-took) // the whole answer took longer
	if !answer.Usage.Counted() {
		return nil, &vllm.Error{Kind: vllm.Garbage, URL: server, Message: "an answer without counts of tokens"}
	}
	return f.asked.Rollout(id, &answer, server, end)
}

// keepSynced syncs the journals and reports progress until ctx is done.
func (f *sampling) keepSynced(ctx context.Context) {
	for f.Clock.Sleep(ctx, syncEvery) == nil {
		f.advance()
		if err := f.store.sync(); err != nil {
			f.cancel(err)
			return
		}
	}
}

// advance tells how far the unit is.
func (f *sampling) advance() {
	detail := fmt.Sprintf("%.3g M tokens", float64(f.tokens.Load())/1e6)
	if n := f.servers.Resent() - f.resent; n > 0 {
		detail += fmt.Sprintf(", %d sent again", n)
	}
	if n := f.continued.Load(); n > 0 {
		detail += fmt.Sprintf(", %d continued", n)
	}
	f.job.Advance(dag.Progress{Done: f.store.count(), Total: f.total(), Stored: f.store.before, What: "rollouts", Detail: detail})
}
