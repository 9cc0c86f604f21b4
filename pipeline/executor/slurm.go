package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
			c.look(ctx)
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
