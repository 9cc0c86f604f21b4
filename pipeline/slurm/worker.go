package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"speceval/internal/process"
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

// Worker runs the units of one element of a job array, in its job. It is made
// by NewWorker, and ended by Close.
type Worker struct {
	Stage  string     // of its units
	Logs   string     // folder for logs of what they start: nodes that write in one file spoil it
	Origin dag.Origin // of their manifests, with the time in the queue

	batch   *Batch
	members []Member
	file    io.Closer
	log     *runlog.Logger
	before  map[Member]runlog.Event // the last of each unit, of an earlier life of the element
	now     func() time.Time
	start   time.Time
}

// NewWorker reads the batch whose folder is dir, and opens the log of the
// element that the variables name: a *RefusedError if they name none. Origin is that of the
// program.
func NewWorker(dir string, variable func(name string) string, origin dag.Origin, now func() time.Time) (*Worker, error) {
	w := &Worker{Origin: origin, now: now, start: now()}
	var err error
	if w.batch, err = ReadBatch(dir); err != nil {
		return nil, err
	}
	number, job := variable(elementVariable), w.batch.label()
	if number == "" {
		number = variable(arrayVariable)
		job = variable(jobVariable) + "_" + number
	}
	index, err := strconv.Atoi(number)
	if err != nil || index < 0 || index >= len(w.batch.Elements) {
		return nil, &RefusedError{fmt.Errorf("%s or %s is %q: want the number of one of the %d elements of %s", elementVariable, arrayVariable, number, len(w.batch.Elements), dir)}
	}
	w.Stage, w.members = w.batch.Stage, w.batch.Elements[index]
	w.Logs = filepath.Join(dir, fmt.Sprintf("element-%d", index))
	e := newArray(w.batch, dir).open[index]
	if err := e.read(); err != nil {
		return nil, err
	}
	w.before = e.events
	file, err := os.OpenFile(EventsPath(dir, index), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	w.file, w.log = file, runlog.New(file, now, origin.Host, job)
	w.Origin.Queue = &dag.Queue{Job: job, Submitted: w.batch.Submitted, Attempt: w.batch.Attempt,
		QueueSeconds: max(0, w.start.Sub(w.batch.Submitted).Seconds())}
	return w, nil
}

// Close ends the log.
func (w *Worker) Close() error {
	used := process.Used() // as much as the units, and what it took to begin
	w.log.Log(runlog.Event{What: runlog.Ended, Use: &runlog.Use{WallSeconds: w.now().Sub(w.start).Seconds(), CPUSeconds: used.CPUSeconds, PeakBytes: used.PeakBytes}})
	return w.file.Close()
}

// Refuse fails all units for a reason that another attempt would meet, too.
func (w *Worker) Refuse(err error) error {
	for _, m := range w.members {
		w.log.Failed(w.batch.Ref(m), m.Key, err, true)
	}
	return err
}

// SameProgram is an error if this program is not the one that submitted the
// element: another version might make other bytes.
func (w *Worker) SameProgram() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	build, err := BuildOf(program)
	if err != nil {
		return err
	}
	if build != w.batch.Build {
		return fmt.Errorf("%s on %s is not the program that submitted this job (sha256 %.8s…, not %.8s…): it was built again, or nodes have another; run again with one program everywhere",
			filepath.Base(program), w.Origin.Host, build, w.batch.Build)
	}
	return nil
}

// BuildOf is the SHA-256 of a program, as Batch.Build has it.
func BuildOf(program string) (string, error) {
	digest, err := files.DigestOf("", program)
	return digest.SHA256, err
}

// Run runs the units that are not done yet, as many at a time as the batch says,
// and passes the manifest of each to done: without a start for one that was done before.
// One that fails does not keep the others from running.
func (w *Worker) Run(ctx context.Context, graph *dag.Graph, out string, done func(dag.Ref, *dag.Manifest)) error {
	refs := make([]dag.Ref, len(w.members))
	for i, m := range w.members {
		refs[i] = w.batch.Ref(m)
	}
	snapshot, err := graph.ScanUnits(out, refs)
	if err != nil {
		return w.Refuse(err)
	}
	errs := make([]error, len(w.members))
	places := make(chan struct{}, max(1, w.batch.Workers))
	var all sync.WaitGroup
	for i, m := range w.members {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			errs[i] = w.runUnit(ctx, snapshot, refs[i], m.Key, done)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// runUnit runs a unit that is not done, and logs how it ends.
func (w *Worker) runUnit(ctx context.Context, snapshot *dag.Snapshot, ref dag.Ref, key string, done func(dag.Ref, *dag.Manifest)) error {
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
	if fresh == nil || w.redo(fresh) {
		w.log.Log(runlog.Of(runlog.Started, ref, key))
		m, err = snapshot.RunUnit(ctx, ref, w.Origin, w.now, w.advance(ref, key))
	}
	switch {
	case err == nil:
		w.log.Done(ref, m)
		done(ref, m)
	case ctx.Err() != nil:
		w.log.Log(runlog.Of(runlog.Stopped, ref, key))
	default:
		w.log.Failed(ref, key, err, false)
	}
	return err
}

// redo reports whether a fresh unit is to be run again: this batch has not.
func (w *Worker) redo(m *dag.Manifest) bool {
	return w.batch.Redo && (m.Queue == nil || !m.Submitted.Equal(w.batch.Submitted))
}

// advanceInterval is the time between two lines about how far a long unit is.
const advanceInterval = 10 * time.Second

// advance logs how far a unit is, at intervals.
func (w *Worker) advance(ref dag.Ref, key string) func(dag.Progress) {
	var last time.Time
	var one sync.Mutex
	return func(p dag.Progress) {
		one.Lock()
		defer one.Unlock()
		now := w.now()
		if !last.IsZero() && now.Sub(last) < advanceInterval {
			return
		}
		last = now
		told := runlog.Of(runlog.Told, ref, key)
		told.Progress = &p
		w.log.Log(told)
	}
}
