package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/internal/atomicfile"
	"speceval/internal/clock"
	"speceval/internal/slurm"
	"speceval/pipeline/dag"
)

// Resources are what the jobs of a stage ask for.
type Resources struct {
	Partition, Account, QOS string
	CPUs                    int
	MemoryMiB               int // of an element; 0: the site's default
	Minutes                 int // 0: the partition's default
	GPUs                    int
	Exclusive               bool
	Arguments               []string
	Workers                 int // units of an element at a time
}

// Settings say how units run in Slurm jobs.
type Settings struct {
	Client    *slurm.Client
	Folder    string   // of the batches, absolute
	Directory string   // in which elements run
	Program   []string // command line of speceval up to the command
	Build     string   // of the program, see Batch.Build
	Process   int      // of this run, for the names of batches
	Stages    map[string]Resources

	ArraySize int           // elements of an array at most
	Throttle  int           // elements of an array that run at a time; 0: no limit
	Element   time.Duration // that an element should take
	Retries   int           // of a unit that failed
	Poll      time.Duration // between two looks at the queue
	Settle    time.Duration // that files of other machines may take to be seen here
	Grace     time.Duration // after an interrupt, for a second one

	Clock  clock.Clock
	Drain  <-chan struct{} // closed by the first interrupt
	Report func(string)    // takes a line for people
	Now    func() time.Time
}

// Slurm runs units as elements of job arrays. It is made by Attach.
type Slurm struct {
	Settings
	limits     slurm.Limits
	partitions []slurm.Partition
	earlier    []*array // of earlier runs, with elements that may still run
}

var _ dag.Executor = (*Slurm)(nil)

// Attach asks the cluster for its limits, and finds the jobs of earlier runs in
// the folder.
func Attach(ctx context.Context, s Settings) (*Slurm, error) {
	x := &Slurm{Settings: s}
	var err error
	if x.limits, err = s.Client.Limits(ctx); err != nil {
		return nil, err
	}
	if x.partitions, err = s.Client.Partitions(ctx); err != nil {
		return nil, err
	}
	x.earlier, err = attach(ctx, s.Client, s.Folder)
	return x, err
}

// Live counts the units of earlier runs that wait or run.
func (x *Slurm) Live() int {
	n := 0
	for _, a := range x.earlier {
		for _, e := range a.open {
			n += len(a.Elements[e.index])
		}
	}
	return n
}

// Execute submits the tasks that arrive on ready, those that arrive together in
// as few arrays as may be, and watches them until each has its manifest or has
// failed for good. Units that jobs of an earlier run are at are not submitted
// again. After an interrupt it leaves the jobs to Slurm, and cancels them when
// ctx is cancelled.
func (x *Slurm) Execute(ctx context.Context, ready <-chan dag.Task, results chan<- dag.Result) {
	c := newCoordinator(x, results)
	defer c.sweep()
	var gathered, looked <-chan struct{}
	for ready != nil || c.busy() {
		if gathered == nil && len(c.waiting) > 0 {
			gathered = c.alarm(ctx, min(gather, x.Poll))
		}
		if looked == nil && len(c.arrays) > 0 {
			looked = c.alarm(ctx, x.Poll)
		}
		select {
		case task, open := <-ready:
			if !open {
				ready = nil
				continue
			}
			c.take(task)
		case <-gathered:
			gathered = nil
			if !c.arriving() {
				c.submit(ctx)
			}
		case <-looked:
			looked = nil
			c.poll(ctx)
		case <-x.Drain:
			c.leave(ctx, ready)
			return
		case <-ctx.Done():
			c.cancel(ctx, ready)
			return
		}
	}
}

// gather is how long tasks may keep arriving for the same arrays.
const gather = 300 * time.Millisecond

// Check asks whether Slurm would take the jobs of a stage. What it refuses is
// an error that names the configuration's keys.
func (x *Slurm) Check(ctx context.Context, stage string) error {
	r := x.Stages[stage]
	p, err := x.partition(stage)
	if err != nil {
		return err
	}
	if p.MaxMinutes > 0 && r.Minutes > p.MaxMinutes {
		return fmt.Errorf("executor.%s.minutes = %d: partition %s allows %d", stage, r.Minutes, p.Name, p.MaxMinutes)
	}
	if len(p.Accounts) > 0 && r.Account != "" && !slices.Contains(p.Accounts, r.Account) {
		return fmt.Errorf("executor.%s.account = %q: partition %s is for %s", stage, r.Account, p.Name, strings.Join(p.Accounts, ", "))
	}
	test := x.submission(stage, r)
	test.Name, test.Elements, test.Log = "speceval-test", 1, "/dev/null"
	if err := x.Client.Test(ctx, test); err != nil {
		return fmt.Errorf("Slurm takes no jobs of %s (%s): look at executor.%s and executor in the configuration", stage, err, stage)
	}
	return nil
}

// partition is the one of a stage; it has no name if the site has no default.
func (x *Slurm) partition(stage string) (slurm.Partition, error) {
	name := x.Stages[stage].Partition
	var names []string
	for _, p := range x.partitions {
		if p.Name == name || name == "" && p.Default {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if name == "" {
		return slurm.Partition{}, nil
	}
	return slurm.Partition{}, fmt.Errorf("partition %q of stage %s does not exist, there are %s: set executor.%s.partition", name, stage, strings.Join(names, ", "), stage)
}

// submission is what the resources of a stage ask for.
func (x *Slurm) submission(stage string, r Resources) slurm.Submission {
	return slurm.Submission{
		Throttle: x.Throttle, Partition: r.Partition, Account: r.Account, QOS: r.QOS,
		CPUs: r.CPUs, MemoryMiB: r.MemoryMiB, Minutes: r.Minutes, GPUs: r.GPUs, Exclusive: r.Exclusive, Arguments: r.Arguments,
	}
}

// arrayKey is what the units of an array have in common.
type arrayKey struct {
	stage           string
	redo            bool
	attempt         int
	memory, minutes int
}

// submit submits all pieces that wait, in arrays.
func (c *coordinator) submit(ctx context.Context) {
	byKey := make(map[arrayKey][]*piece)
	var keys []arrayKey
	for _, p := range c.waiting {
		k := arrayKey{p.task.Ref.Stage, p.task.Redo, p.attempt, p.memory, p.minutes}
		if byKey[k] == nil {
			keys = append(keys, k)
		}
		byKey[k] = append(byKey[k], p)
	}
	c.waiting = nil
	for _, k := range keys {
		r := c.Stages[k.stage]
		elements := pack(byKey[k], c.Element.Seconds()*float64(max(1, r.Workers)))
		for part := range slices.Chunk(elements, max(1, min(c.ArraySize, c.limits.ArraySize))) {
			c.submitArray(ctx, k, r, part)
		}
	}
}

// submitArray submits one array. If there is no room for it now its pieces wait
// on; if Slurm will not have it they fail.
func (c *coordinator) submitArray(ctx context.Context, k arrayKey, r Resources, elements [][]*piece) {
	a, err := c.makeBatch(k, r, elements)
	if err == nil {
		a.Job, err = c.send1(ctx, a, k, r, elements)
	}
	var refused *slurm.RefusedError
	if errors.As(err, &refused) {
		os.RemoveAll(a.dir) // there is no such job
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		c.keep(elements)
		return
	case refused != nil && refused.Limit && len(c.arrays) > 0:
		c.Report(firstLine(err) + "; waiting for room")
		c.keep(elements)
		return
	default:
		for _, element := range elements {
			for _, p := range element {
				c.send(p, fmt.Errorf("submit it to Slurm: %w", err))
			}
		}
		return
	}
	for i, element := range elements {
		a.open[i].pieces = slices.Clone(element)
		a.open[i].state.Job = a.Job
		for _, p := range element {
			c.open[p] = true
			a.had[p] = c.limitsOf(p)
		}
	}
	c.arrays = append(c.arrays, a)
	c.Report(fmt.Sprintf("%s: %s submitted as job %s, %s", k.stage, count(elements), a.Job, a.dir))
}

// keep has pieces wait for the next poll of the queue.
func (c *coordinator) keep(elements [][]*piece) {
	for _, element := range elements {
		c.later = append(c.later, element...)
	}
}

// makeBatch writes the folder of a new batch. What it holds is there before
// Slurm hears of it: however this process ends, the next finds its jobs.
func (c *coordinator) makeBatch(k arrayKey, r Resources, elements [][]*piece) (*array, error) {
	c.number++
	now := c.Now().UTC()
	b := &Batch{
		Format: batchFormat, Stage: k.stage, Submitted: now, Build: c.Build, Redo: k.redo, Attempt: k.attempt, Workers: max(1, r.Workers),
		Name: fmt.Sprintf("%s-%d-%s-%d", now.Format("20060102T150405.000Z"), c.Process, k.stage, c.number),
	}
	for _, element := range elements {
		var members []Member
		for _, p := range element {
			members = append(members, member(p))
		}
		b.Elements = append(b.Elements, members)
	}
	dir := filepath.Join(c.Folder, b.Name)
	if err := b.write(c.Folder); err != nil {
		return nil, err
	}
	threads := r.CPUs
	if r.Exclusive {
		threads = 0 // all that the node has
	}
	text := script(dir, c.Directory, c.Program, threads)
	return newArray(b, dir), atomicfile.WriteText(filepath.Join(dir, scriptFile), text)
}

// send1 hands the array to Slurm and stores its answer. When the answer gets
// lost it looks for the job by its name.
func (c *coordinator) send1(ctx context.Context, a *array, k arrayKey, r Resources, elements [][]*piece) (job string, err error) {
	s := c.submission(k.stage, r)
	s.Name, s.Elements = a.Name, len(elements)
	s.Script, s.Log = filepath.Join(a.dir, scriptFile), filepath.Join(a.dir, "element-%a.log")
	for _, element := range elements {
		s.Minutes = max(s.Minutes, minutesOf(element, r.Minutes, r.Workers))
	}
	if k.minutes > 0 {
		s.Minutes = k.minutes
	}
	if partition, err := c.partition(k.stage); err == nil && partition.MaxMinutes > 0 {
		s.Minutes = min(s.Minutes, partition.MaxMinutes)
	}
	if k.memory != 0 {
		s.MemoryMiB = k.memory
	}
	for range submissions {
		job, err = c.Client.Submit(ctx, s)
		var refused *slurm.RefusedError
		if err == nil || errors.As(err, &refused) || ctx.Err() != nil {
			break
		}
		c.Report(firstLine(err) + "; looking whether the job is there")
		c.Clock.Sleep(ctx, c.Poll)
		if named, lookErr := c.Client.Named(ctx, a.Name); lookErr == nil && len(named) > 0 {
			job, err = named[0], nil
			break
		}
	}
	if err != nil {
		return "", err
	}
	a.Job = job
	return job, a.write(c.Folder)
}

// submissions is how often an array is handed in when no answer comes.
const submissions = 5

// count is so many units in so many elements.
func count(elements [][]*piece) string {
	n := 0
	for _, element := range elements {
		n += len(element)
	}
	return fmt.Sprintf("%s in %s", plural(n, "unit"), plural(len(elements), "element"))
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// leave leaves the jobs to Slurm, unless ctx is cancelled within the grace.
func (c *coordinator) leave(ctx context.Context, ready <-chan dag.Task) {
	if jobs := c.jobs(); len(jobs) > 0 {
		c.Report(fmt.Sprintf("jobs %v go on without this run, and the next finds them; interrupt again within %v to cancel them", jobs, c.Grace.Round(time.Second)))
		c.Clock.Sleep(ctx, c.Grace)
	}
	if ctx.Err() != nil {
		c.cancel(ctx, ready)
		return
	}
	c.giveBack(dag.ErrDrained, ready)
}

// cancel cancels all jobs.
func (c *coordinator) cancel(ctx context.Context, ready <-chan dag.Task) {
	if len(c.arrays) > 0 {
		without, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelling)
		defer stop()
		c.Report(fmt.Sprintf("cancelling jobs %v", c.jobs()))
		for _, a := range c.arrays {
			if err := c.Client.Cancel(without, a.Name, []string{a.Job}); err != nil {
				c.Report(firstLine(err))
			}
		}
	}
	c.giveBack(ctx.Err(), ready)
}

// cancelling is how long the command that cancels jobs may take.
const cancelling = 30 * time.Second

// giveBack ends every piece with the same error.
func (c *coordinator) giveBack(err error, ready <-chan dag.Task) {
	for _, p := range slices.Concat(c.waiting, c.later) {
		c.send(p, err)
	}
	c.waiting, c.later = nil, nil
	for p := range c.open {
		c.send(p, err)
	}
	for task := range ready {
		c.results <- dag.Result{Task: task, Err: err}
	}
}
