package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"speceval/internal/rusage"
	"speceval/pipeline/dag"
	"speceval/pipeline/executor"
	"speceval/pipeline/runlog"
)

// What Slurm tells an element about itself.
const (
	elementVariable = "SLURM_ARRAY_TASK_ID"
	jobVariable     = "SLURM_ARRAY_JOB_ID"
)

// element is an element of a job array at work.
type element struct {
	*session
	batch   *executor.Batch
	members []executor.Member
	log     *runlog.Logger
	gaveUp  map[executor.Member]string // units that an earlier life of the element failed at, and why
}

// runElement runs the units of an element that are not done yet. One that fails
// does not keep the others from running.
func (s *session) runElement(dir string) error {
	start := s.now()
	batch, err := executor.ReadBatch(dir)
	if err != nil {
		return err
	}
	index, err := strconv.Atoi(s.variable(elementVariable))
	if err != nil || index < 0 || index >= len(batch.Elements) {
		return usagef("%s is %q: want the number of one of the %d elements of %s", elementVariable, s.variable(elementVariable), len(batch.Elements), dir)
	}
	file, err := os.OpenFile(executor.EventsPath(dir, index), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer file.Close()
	job := s.variable(jobVariable) + "_" + strconv.Itoa(index)
	e := &element{
		session: s, batch: batch, members: batch.Elements[index],
		log: runlog.New(file, s.now, runlog.Place{Host: s.origin.Host, Job: job}),
	}
	if e.gaveUp, err = failures(executor.EventsPath(dir, index)); err != nil {
		return err
	}
	s.logs = filepath.Join(dir, fmt.Sprintf("element-%d", index)) // nodes that write in one file spoil it
	s.origin.Queue = &dag.Queue{Job: job, Submitted: batch.Submitted, Attempt: batch.Attempt,
		QueueSeconds: max(0, start.Sub(batch.Submitted).Seconds())}
	defer func() { e.log.ElementEnded(s.now().Sub(start), rusage.Process()) }()
	return e.run()
}

// failures are the units at which the element of a log failed when it last came
// to them: whoever submitted it has been told, and may have submitted them again.
func failures(path string) (map[executor.Member]string, error) {
	events, err := runlog.NewReader(path).Next()
	failed := make(map[executor.Member]string)
	for _, event := range events {
		m := executor.Member{Unit: event.Unit.Unit, Key: event.Key}
		delete(failed, m)
		if event.What == runlog.Failed {
			failed[m] = event.Error
		}
	}
	return failed, err
}

// run runs the units.
func (e *element) run() error {
	if err := e.sameProgram(); err != nil {
		return e.refuse(err)
	}
	o, err := e.open(dag.Selection{Stages: []string{e.batch.Stage}})
	if err != nil {
		return e.refuse(err)
	}
	ctx, stop := e.interruptible()
	defer stop()
	err = e.runAll(ctx, o)
	return errors.Join(err, o.close(ctx))
}

// refuse fails all units for a reason that another attempt would meet, too.
func (e *element) refuse(err error) error {
	for _, m := range e.members {
		e.log.Failed(e.batch.Ref(m), m.Key, err, true)
	}
	return err
}

// sameProgram is an error if this program is not the one that submitted the
// element: another version might make other bytes.
func (e *element) sameProgram() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	build, err := buildOf(program)
	if err != nil {
		return err
	}
	if build != e.batch.Build {
		return fmt.Errorf("%s on %s is not the program that submitted this job (sha256 %.8s…, not %.8s…): it was built again, or nodes have another; run again with one program everywhere",
			filepath.Base(program), e.origin.Host, build, e.batch.Build)
	}
	return nil
}

// runAll runs the units, as many at a time as the batch says.
func (e *element) runAll(ctx context.Context, o *opened) error {
	refs := make([]dag.Ref, len(e.members))
	for i, m := range e.members {
		refs[i] = e.batch.Ref(m)
	}
	snapshot, err := o.graph.ScanUnits(o.out, refs)
	if err != nil {
		return e.refuse(err)
	}
	errs := make([]error, len(e.members))
	places := make(chan struct{}, max(1, e.batch.Workers))
	var all sync.WaitGroup
	for i, m := range e.members {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			errs[i] = e.runUnit(ctx, snapshot, refs[i], m.Key)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// runUnit runs a unit that is not done, and logs how it ends.
func (e *element) runUnit(ctx context.Context, snapshot *dag.Snapshot, ref dag.Ref, key string) error {
	if why, before := e.gaveUp[executor.Member{Unit: ref.Unit, Key: key}]; before {
		return fmt.Errorf("unit %s failed before it was requeued, and is left alone: %s", ref, why)
	}
	fresh, err := snapshot.Fresh(ref, key)
	if err != nil {
		var changed *dag.ChangedKeyError
		e.log.Failed(ref, key, err, errors.As(err, &changed))
		return err
	}
	if fresh && !e.redo(snapshot.Manifest(ref)) {
		e.log.Done(ref, &dag.Manifest{Key: key})
		e.say("%s was done before", ref)
		return nil
	}
	e.log.Started(ref, key)
	m, err := snapshot.RunUnit(ctx, ref, e.origin, e.now, e.teller(ref, key))
	switch {
	case err == nil:
		e.log.Done(ref, m)
		e.sayUnit(m)
	case ctx.Err() != nil:
		e.log.Stopped(ref, key)
	default:
		e.log.Failed(ref, key, err, false)
	}
	return err
}

// redo tells whether a fresh unit is to be run again: this batch has not.
func (e *element) redo(m *dag.Manifest) bool {
	return e.batch.Redo && (m.Queue == nil || !m.Submitted.Equal(e.batch.Submitted))
}

// tellInterval is the time between two lines about how far a long unit is.
const tellInterval = 10 * time.Second

// teller logs how far a unit is, now and then.
func (e *element) teller(ref dag.Ref, key string) func(dag.Progress) {
	var mu sync.Mutex
	long := make(longUnits)
	var last time.Time
	return func(p dag.Progress) {
		mu.Lock()
		defer mu.Unlock()
		now := e.now()
		u := long.note(ref, p, now)
		if !last.IsZero() && now.Sub(last) < tellInterval {
			return
		}
		last = now
		e.log.Told(ref, key, p)
		e.say("%s %s %s", dated(now), ref, u.text(now))
	}
}
