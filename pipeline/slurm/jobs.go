package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"speceval/internal/machine/clock"
	"speceval/internal/store/group"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
)

// Resources are requested for the jobs of a stage.
type Resources struct {
	config.Resources
	Workers  int    // units of an element at a time
	Clusters string // of Slurm; empty: the local one
}

// ResourcesOf returns the resources of each stage that runs in jobs, by its name. A stage whose
// units start servers runs one unit at a time on a node. Variable gives the values of the
// environment.
func ResourcesOf(x config.Executor, servers map[string]bool, variable func(name string) string) map[string]Resources {
	stages := make(map[string]Resources)
	for name, r := range x.Stages {
		if !x.InJobs() || r.Where != config.WhereJobs {
			continue
		}
		workers := r.CPUs
		r.Partition, r.Account, r.QOS = cmp.Or(r.Partition, x.Partition), cmp.Or(r.Account, x.Account), cmp.Or(r.QOS, x.QOS)
		if servers[name] {
			workers = 1
		} else {
			r.GPUs, r.Exclusive = 0, false
		}
		stages[name] = Resources{r, workers, clusters(r.Arguments, variable)}
	}
	return stages
}

// Settings say how units run in jobs.
type Settings struct {
	config.Executor
	Resources map[string]Resources // by the name of each stage that runs in jobs
	Folder    string               // of the batches, absolute
	Directory string               // in which elements run
	Program   []string             // command line of speceval up to the command
	Build     string               // of the program, see Batch.Build
	Process   int                  // of this run, for the names of batches

	Run    Command
	Grace  time.Duration // after an interrupt, for a second one
	Clock  clock.Clock
	Drain  <-chan struct{} // closed by the first interrupt
	Report func(string)    // takes a line for people
	Now    func() time.Time
}

// Jobs runs units as elements of jobs, in one run. It is made by Attach, and one goroutine
// uses it.
type Jobs struct {
	Settings
	schedulers map[Target]scheduler
	allowed    map[string]allowed // by stage

	results chan<- dag.Result
	waiting []*piece  // to be submitted
	unsure  []*array  // whose submission was not answered: there may be a job
	arrays  []*array  // that have not ended
	number  int       // of batches made
	taken   bool      // a job has been, in this run
	fits    int       // elements that an array may have for want of room; it doubles as arrays are taken
	silent  time.Time // since when a cluster does not answer; zero when all do
	crowded time.Time // since when jobs are not taken; zero when they are
}

// stored reads the arrays in a folder, for those who change nothing; away as of load.
func stored(ctx context.Context, run Command, folder string) (arrays []*array, away, err error) {
	c := Jobs{Settings: Settings{Run: run, Folder: folder, Report: func(string) {}}, schedulers: make(map[Target]scheduler)}
	return c.load(ctx)
}

// Attach asks whether the clusters would take the jobs of stages, and finds the jobs of
// earlier runs in the folder. A *RefusedError names keys of the configuration.
func Attach(ctx context.Context, s Settings, stages ...string) (*Jobs, error) {
	c := &Jobs{Settings: s, schedulers: make(map[Target]scheduler), allowed: make(map[string]allowed), fits: 1 << 20}
	var err error
	for _, stage := range stages {
		if c.allowed[stage], err = c.of(c.target(stage)).check(ctx, stage, s.Resources[stage]); err != nil {
			return nil, err
		}
	}
	var away error
	c.arrays, away, err = c.load(ctx)
	return c, errors.Join(away, err)
}

// target is where the jobs of a stage are submitted.
func (s *Settings) target(stage string) Target {
	if s.Kind == config.ExecutorCommand {
		return Target{Status: s.Status, Cancel: s.Cancel}
	}
	return Target{Clusters: s.Resources[stage].Clusters}
}

// Execute submits the tasks that arrive on ready, those that arrive together in
// as few arrays as may be, and watches them until each has its manifest or has
// failed for good. Units that jobs of an earlier run are at are not submitted
// again. After an interrupt it leaves the jobs alone, and cancels them when
// ctx is cancelled.
func (c *Jobs) Execute(ctx context.Context, ready <-chan dag.Task, results chan<- dag.Result) {
	const gather = 300 * time.Millisecond // in which tasks may keep arriving for the same arrays
	c.results = results
	defer sweep(c.Folder)
	var gathered, polled <-chan struct{}
	for ready != nil || len(c.waiting)+len(c.unsure)+len(c.open()) > 0 {
		if polled == nil && len(c.arrays)+len(c.waiting)+len(c.unsure) > 0 {
			polled = c.alarm(ctx, seconds(c.PollSeconds))
		}
		select {
		case task, open := <-ready:
			if !open {
				ready = nil
				continue
			}
			if c.book(task) {
				gathered = c.alarm(ctx, min(gather, seconds(c.PollSeconds)))
			}
		case <-gathered:
			gathered = nil
			c.submit(ctx)
		case <-polled:
			polled = nil
			c.poll(ctx)
			c.submit(ctx)
		case <-c.Drain:
			c.leave(ctx, ready)
			return
		case <-ctx.Done():
			c.cancel(ctx, ready)
			return
		}
	}
}

func seconds(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }

// alarm is closed after d, or when ctx is done.
func (c *Jobs) alarm(ctx context.Context, d time.Duration) <-chan struct{} {
	rings := make(chan struct{})
	go func() {
		defer close(rings)
		c.Clock.Sleep(ctx, d)
	}()
	return rings
}

// book books a task: as one to submit, or as one that a job is at already.
func (c *Jobs) book(task dag.Task) (waits bool) {
	r := c.Resources[task.Ref.Stage]
	p := &piece{task: task, attempt: 1, memory: r.MemoryMiB, minutes: r.Minutes}
	for _, a := range c.arrays { // of earlier runs
		for _, e := range a.open {
			if a.Stage == task.Ref.Stage && !e.state.State.Ended() && slices.Contains(a.Elements[e.index], member(p)) {
				p.attempt, e.pieces = a.Attempt, append(e.pieces, p)
				return false
			}
		}
	}
	c.waiting = append(c.waiting, p)
	return true
}

// open are the pieces that elements are at.
func (c *Jobs) open() (all []*piece) {
	for _, a := range c.arrays {
		all = append(all, a.pieces()...)
	}
	return all
}

// send ends a piece.
func (c *Jobs) send(p *piece, err error) { c.results <- dag.Result{Task: p.task, Err: err} }

// leave leaves the jobs alone, unless ctx is cancelled within the grace.
func (c *Jobs) leave(ctx context.Context, ready <-chan dag.Task) {
	if jobs, _ := live(c.arrays); len(jobs) > 0 {
		c.Report(fmt.Sprintf("jobs %v go on without this run, and the next finds them; interrupt again within %v to cancel them", jobs, c.Grace.Round(time.Second)))
		c.Clock.Sleep(ctx, c.Grace)
	}
	if ctx.Err() != nil {
		c.cancel(ctx, ready)
		return
	}
	c.giveBack(dag.ErrDrained, ready)
}

// cancelling is how long the commands that cancel jobs may take.
const cancelling = 30 * time.Second

// cancel cancels all jobs, each where it was submitted.
func (c *Jobs) cancel(ctx context.Context, ready <-chan dag.Task) {
	without, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelling)
	defer stop()
	c.lookFor(without)
	jobs, _ := live(c.arrays)
	if len(jobs) > 0 {
		c.Report(fmt.Sprintf("cancelling jobs %v", jobs))
	}
	for _, arrays := range group.By(c.arrays, func(a *array) [2]any { // the jobs of commands together, which have no need of a title
		if a.Status != "" {
			return [2]any{a.Target}
		}
		return [2]any{a.Target, a.Name}
	}) {
		ids := slices.DeleteFunc(idsOf(arrays), func(id string) bool { return !slices.Contains(jobs, id) })
		if len(ids) > 0 {
			c.complain(c.of(arrays[0].Target).cancel(without, arrays[0].Name, ids...))
		}
	}
	c.giveBack(ctx.Err(), ready)
}

// giveBack ends every piece with the same error.
func (c *Jobs) giveBack(err error, ready <-chan dag.Task) {
	for _, a := range c.unsure {
		c.waiting = append(c.waiting, a.pieces()...)
	}
	for _, p := range append(c.waiting, c.open()...) {
		c.send(p, err)
	}
	for task := range ready {
		c.results <- dag.Result{Task: task, Err: err}
	}
}
