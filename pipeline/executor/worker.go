package executor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"speceval/internal/process"
	"speceval/internal/slurm"
	"speceval/pipeline/dag"
	"speceval/pipeline/runlog"
)

// The environment variables by which Slurm numbers an element.
const (
	elementVariable = "SLURM_ARRAY_TASK_ID"
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
	gaveUp  map[Member]string // units that an earlier life of the element failed at, and why
	now     func() time.Time
	start   time.Time
}

// ElementError is an environment that names no element of a batch.
type ElementError struct {
	Dir      string // of the batch
	Element  string // as the environment has it
	Elements int    // of the batch
}

func (e *ElementError) Error() string {
	return fmt.Sprintf("%s is %q: want the number of one of the %d elements of %s", elementVariable, e.Element, e.Elements, e.Dir)
}

// NewWorker reads the batch whose folder is dir, and opens the log of the
// element that Slurm's variables name. Origin is that of the program.
func NewWorker(dir string, variable func(name string) string, origin dag.Origin, now func() time.Time) (*Worker, error) {
	w := &Worker{Origin: origin, now: now, start: now()}
	var err error
	if w.batch, err = ReadBatch(dir); err != nil {
		return nil, err
	}
	index, err := strconv.Atoi(variable(elementVariable))
	if err != nil || index < 0 || index >= len(w.batch.Elements) {
		return nil, &ElementError{dir, variable(elementVariable), len(w.batch.Elements)}
	}
	w.Stage, w.members = w.batch.Stage, w.batch.Elements[index]
	w.Logs = filepath.Join(dir, fmt.Sprintf("element-%d", index))
	events := EventsPath(dir, index)
	if w.gaveUp, err = failures(events); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(events, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	job := variable(jobVariable) + "_" + strconv.Itoa(index)
	w.file, w.log = file, runlog.New(file, now, runlog.Place{Host: origin.Host, Job: job})
	w.Origin.Queue = &dag.Queue{Job: job, Submitted: w.batch.Submitted, Attempt: w.batch.Attempt,
		QueueSeconds: max(0, w.start.Sub(w.batch.Submitted).Seconds())}
	return w, nil
}

// failures are the units at which the element of a log failed when it last came
// to them: the run that submitted it has read that, and may have submitted them
// again.
func failures(path string) (map[Member]string, error) {
	events, err := runlog.NewReader(path).Next()
	failed := make(map[Member]string)
	for _, event := range events {
		m := Member{Unit: event.Unit.Unit, Key: event.Key}
		delete(failed, m)
		if event.What == runlog.Failed {
			failed[m] = event.Error
		}
	}
	return failed, err
}

// Close ends the log.
func (w *Worker) Close() error {
	w.log.ElementEnded(w.now().Sub(w.start), process.Used())
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
	file, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", fmt.Errorf("read the program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Run runs the units that are not done yet, as many at a time as the batch says,
// and reports them to watch: a unit that was done before as finished without
// having started. One that fails does not keep the others from running.
func (w *Worker) Run(ctx context.Context, graph *dag.Graph, out string, watch dag.Observer) error {
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
	var one sync.Mutex // of watch
	for i, m := range w.members {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			errs[i] = w.runUnit(ctx, snapshot, refs[i], m.Key, &oneAtATime{watch, &one})
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// oneAtATime hands reports on to an observer, by one goroutine at a time.
type oneAtATime struct {
	dag.Observer
	mu *sync.Mutex
}

func (o *oneAtATime) Advanced(unit dag.Ref, p dag.Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Observer.Advanced(unit, p)
}

func (o *oneAtATime) Finished(done dag.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Observer.Finished(done)
}

// runUnit runs a unit that is not done, and logs how it ends.
func (w *Worker) runUnit(ctx context.Context, snapshot *dag.Snapshot, ref dag.Ref, key string, watch dag.Observer) error {
	if why, before := w.gaveUp[Member{Unit: ref.Unit, Key: key}]; before {
		return fmt.Errorf("unit %s failed before it was requeued, and is left alone: %s", ref, why)
	}
	fresh, err := snapshot.Fresh(ref, key)
	if err != nil {
		var changed *dag.ChangedKeyError
		w.log.Failed(ref, key, err, errors.As(err, &changed))
		return err
	}
	if fresh && !w.redo(snapshot.Manifest(ref)) {
		w.log.Done(ref, &dag.Manifest{Key: key})
		watch.Finished(dag.Outcome{Unit: ref, Key: key})
		return nil
	}
	w.log.Started(ref, key)
	m, err := snapshot.RunUnit(ctx, ref, w.Origin, w.now, w.advance(ref, key, watch))
	switch {
	case err == nil:
		w.log.Done(ref, m)
		watch.Finished(dag.Outcome{Unit: ref, Key: key, Manifest: m})
	case ctx.Err() != nil:
		w.log.Stopped(ref, key)
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
func (w *Worker) advance(ref dag.Ref, key string, watch dag.Observer) func(dag.Progress) {
	var mu sync.Mutex
	var last time.Time
	return func(p dag.Progress) {
		mu.Lock()
		defer mu.Unlock()
		now := w.now()
		if !last.IsZero() && now.Sub(last) < advanceInterval {
			return
		}
		last = now
		w.log.Told(ref, key, p)
		watch.Advanced(ref, p)
	}
}

// stateFromLog is the state of an element that failed or is forgotten, by what
// Slurm wrote at the end of its log: some sites say there alone that it ran out
// of memory.
func stateFromLog(state slurm.State, path string) slurm.State {
	if state != slurm.Failed && state != slurm.Forgotten {
		return state
	}
	end := logEnd(path)
	for _, sign := range []struct {
		text  string
		state slurm.State
	}{
		{"exceeded memory limit", slurm.OutOfMemory}, {"oom-kill event", slurm.OutOfMemory}, {"oom_kill event", slurm.OutOfMemory},
		{"DUE TO TIME LIMIT", slurm.Timeout}, {"DUE TO NODE FAILURE", slurm.NodeFail}, {"DUE TO PREEMPTION", slurm.Preempted},
	} {
		if bytes.Contains(end, []byte(sign.text)) {
			return sign.state
		}
	}
	return state
}

// logEnd is the last lines of a log, nothing if it cannot be read: what stands
// before them may be of an earlier life of the element.
func logEnd(path string) []byte {
	const most, lines = 4 << 10, 6
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	end, _ := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-most), most))
	all := bytes.Split(bytes.TrimSpace(end), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}

// verdict is what is to be done about a unit whose element has ended without
// it.
type verdict struct {
	why    string // in words that follow "job 12_3 on n1"
	final  bool   // trying again cannot help
	lost   bool   // no fault of the unit: the attempt does not count
	memory bool   // it needs more
	time   bool   // it needs more
	begun  bool   // the element had come to it
}

// judge tells what the end of an element means for a unit that it has not done.
// Begun tells whether the element had come to the unit.
func judge(state slurm.State, exit int, begun bool) verdict {
	v := meaning(state, exit, begun)
	v.begun = begun
	return v
}

func meaning(state slurm.State, exit int, begun bool) verdict {
	switch state {
	case slurm.Completed:
		return verdict{why: "ended without it"}
	case slurm.OutOfMemory:
		return verdict{why: "ran out of memory", memory: begun, lost: !begun}
	case slurm.Timeout:
		return verdict{why: "ran out of time", time: begun, lost: !begun}
	case slurm.NodeFail, slurm.BootFail, slurm.Revoked:
		return verdict{why: "lost its node", lost: true}
	case slurm.Preempted:
		return verdict{why: "was preempted", lost: true}
	case slurm.Cancelled, slurm.Deadline:
		return verdict{why: "was cancelled", final: true}
	case slurm.Forgotten:
		return verdict{why: "is gone, and Slurm does not say why", lost: !begun}
	}
	if exit == unshared {
		return verdict{why: "did not find the output folder: it must be on a file system that all nodes share", final: true}
	}
	return verdict{why: fmt.Sprintf("failed with exit code %d", exit), lost: !begun}
}

// mostLost bounds how often a unit is tried again without a fault of its own.
const mostLost = 10

// errTooShort says that no longer time limit can be asked for.
var errTooShort = errors.New("no longer time limit can be asked for: set minutes or another partition for its stage")

// next is the unit's next attempt after a failure; false if there is none.
func (p *piece) next(v verdict, retries int, limits resourceLimits) (*piece, bool) {
	q := *p
	q.alone = p.alone || v.begun // it may be what ends elements
	if v.lost {
		q.lost++
		return &q, !v.final && q.lost <= mostLost
	}
	q.attempt++
	if v.final || q.attempt > retries+1 {
		return &q, false
	}
	if v.memory {
		q.memory = slurm.WholeNode
		if limits.memory > 0 && p.memory != slurm.WholeNode {
			q.memory = 2 * max(limits.memory, p.memory)
		}
	}
	if v.time {
		now := max(limits.minutes, p.minutes)
		if q.minutes = longer(now, limits.longest); q.minutes <= now {
			q.last = errTooShort
			return &q, false
		}
	}
	return &q, true
}

// longer is twice a time limit, up to the partition's; of a partition's default,
// which is 0, it is the longest that there is. Nothing is longer than the longest.
func longer(minutes, longest int) int {
	switch {
	case minutes == 0:
		return longest
	case longest == 0:
		return 2 * minutes
	}
	return min(2*minutes, longest)
}

// resourceLimits are what an attempt had, and what the partition allows.
type resourceLimits struct {
	memory  int // MiB; 0: the site's default
	minutes int // 0: the partition's default
	longest int // minutes; 0: no limit
}
