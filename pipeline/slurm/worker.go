package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"speceval/internal/machine/process"
	"speceval/internal/store/files"
	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
)

// The environment variables that number an element: our own, of jobs that are no arrays,
// and else those of Slurm.
const (
	elementVariable = "SPECEVAL_ELEMENT"
	arrayVariable   = "SLURM_ARRAY_TASK_ID"
	jobVariable     = "SLURM_ARRAY_JOB_ID"
)

// Worker runs the units of one element of a job, in its job.
type Worker struct {
	Variable func(name string) string // values of the environment
	Origin   dag.Origin               // of this program
	Now      func() time.Time

	// Open opens the stage of the units. What they start has its logs in a folder of its own:
	// nodes that write in one file spoil it.
	Open func(stage, logs string) (graph *dag.Graph, out string, err error)
	// Done takes the manifest of each unit: without a start if it was done before.
	Done func(dag.Ref, *dag.Manifest)

	batch  *Batch
	log    *runlog.Logger
	before map[Member]runlog.Event // the last of each unit, of an earlier life of the element
}

// Run runs the units of the batch's element that the environment numbers, as far as they are not
// done yet, and as many at a time as the batch says. One that fails does not keep the others from
// running. The batch's folder is dir. A *RefusedError says that there is no such element.
func (w *Worker) Run(ctx context.Context, dir string) (err error) {
	start := w.Now()
	if w.batch, err = ReadBatch(dir); err != nil {
		return err
	}
	number, job := w.Variable(elementVariable), w.batch.label()
	if number == "" {
		number = w.Variable(arrayVariable)
		job = w.Variable(jobVariable) + "_" + number
	}
	index, err := strconv.Atoi(number)
	if err != nil || index < 0 || index >= len(w.batch.Elements) {
		return &RefusedError{fmt.Errorf("%s or %s is %q: want the number of one of the %d elements of %s", elementVariable, arrayVariable, number, len(w.batch.Elements), dir)}
	}
	e := newArray(w.batch, dir).open[index]
	if err := e.read(); err != nil {
		return err
	}
	file, err := os.OpenFile(EventsPath(dir, index), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	w.before, w.log = e.events, runlog.New(file, w.Now, w.Origin.Host, job)
	w.Origin.Queue = &dag.Queue{Job: job, Submitted: w.batch.Submitted, Attempt: w.batch.Attempt,
		QueueSeconds: max(0, start.Sub(w.batch.Submitted).Seconds())}
	defer func() {
		used := process.Used() // as much as the units, and what it took to begin
		w.log.Log(runlog.Event{What: runlog.Ended, Use: &runlog.Use{WallSeconds: w.Now().Sub(start).Seconds(), CPUSeconds: used.CPUSeconds, PeakBytes: used.PeakBytes}})
		err = errors.Join(err, file.Close())
	}()
	members := w.batch.Elements[index]
	snapshot, err := w.open(ctx, members, filepath.Join(dir, fmt.Sprintf("element-%d", index)))
	if err != nil && ctx.Err() == nil { // another attempt would meet the same
		for _, m := range members {
			w.log.Failed(w.batch.Ref(m), m.Key, err, true)
		}
	}
	if err != nil {
		return err
	}
	errs := make([]error, len(members))
	var all errgroup.Group
	all.SetLimit(max(1, w.batch.Workers))
	for i, m := range members {
		all.Go(func() error {
			errs[i] = w.runUnit(ctx, snapshot, w.batch.Ref(m), m.Key)
			return nil
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// open opens what the units of the element need.
func (w *Worker) open(ctx context.Context, members []Member, logs string) (*dag.Snapshot, error) {
	if err := w.sameProgram(); err != nil {
		return nil, err
	}
	graph, out, err := w.Open(w.batch.Stage, logs)
	if err != nil {
		return nil, err
	}
	var refs []dag.Ref
	for _, m := range members {
		refs = append(refs, w.batch.Ref(m))
	}
	return graph.Scan(ctx, out, refs...)
}

// sameProgram is an error if this program is not the one that submitted the
// element: another version might make other bytes.
func (w *Worker) sameProgram() error {
	program, build, err := Build()
	if err == nil && build != w.batch.Build {
		err = fmt.Errorf("%s on %s is not the program that submitted this job (sha256 %.8s…, not %.8s…): it was built again, or nodes have another; run again with one program everywhere",
			filepath.Base(program), w.Origin.Host, build, w.batch.Build)
	}
	return err
}

// Build is the path of this program and its SHA-256, as Batch.Build has it.
func Build() (program, sum string, err error) {
	if program, err = os.Executable(); err != nil {
		return "", "", fmt.Errorf("find the program for the jobs: %w", err)
	}
	digest, err := files.DigestOf("", program)
	return program, digest.SHA256, err
}

// runUnit runs a unit that is not done, and logs how it ends.
func (w *Worker) runUnit(ctx context.Context, snapshot *dag.Snapshot, ref dag.Ref, key string) error {
	if before := w.before[Member{Unit: ref.Unit, Key: key}]; before.What == runlog.Failed { // the run that submitted it may have done so again
		return fmt.Errorf("unit %s failed before it was requeued, and is left alone: %s", ref, before.Error)
	}
	fresh, err := snapshot.Fresh(ref, key)
	if err != nil {
		var changed *dag.ChangedKeyError
		w.log.Failed(ref, key, err, errors.As(err, &changed))
		return err
	}
	m := &dag.Manifest{Key: key}
	if fresh == nil || w.batch.Redo && (fresh.Queue == nil || !fresh.Submitted.Equal(w.batch.Submitted)) { // this batch has not done it
		w.log.Log(runlog.Of(runlog.Started, ref, key))
		m, err = snapshot.RunUnit(ctx, ref, w.Origin, w.Now, w.advance(ref, key))
	}
	switch {
	case err == nil:
		w.log.Done(ref, m)
		w.Done(ref, m)
	case ctx.Err() != nil:
		w.log.Log(runlog.Of(runlog.Stopped, ref, key))
	default:
		w.log.Failed(ref, key, err, false)
	}
	return err
}

// advance logs how far a unit is, at intervals.
func (w *Worker) advance(ref dag.Ref, key string) func(dag.Progress) {
	const advanceInterval = 10 * time.Second // between two lines about a long unit
	var last time.Time
	var one sync.Mutex
	return func(p dag.Progress) {
		one.Lock()
		defer one.Unlock()
		now := w.Now()
		if !last.IsZero() && now.Sub(last) < advanceInterval {
			return
		}
		last = now
		told := runlog.Of(runlog.Told, ref, key)
		told.Progress = &p
		w.log.Log(told)
	}
}
