package config

import (
	"slices"
	"strings"
)

// Executors.
const (
	ExecutorLocal = "local"
	ExecutorSlurm = "slurm"
)

// Executor says where units run. It never changes a result.
type Executor struct {
	Kind    string // this machine, or job arrays of a cluster
	Workers int    // units at a time on this machine; 0: one per core

	// Of Slurm, for every stage; a stage may have its own.
	Partition, Account, QOS string // "" for the site's default

	ArraySize      int     // elements of one array at most
	Throttle       int     // elements of an array that run at a time; 0: no limit
	ElementMinutes float64 // units are packed until an element runs about so long
	Retries        int     // of a unit that failed
	PollSeconds    float64 // between two looks at the queue
	SettleSeconds  float64 // that files of other machines may take to be seen here

	Stages map[string]Resources // by stage, all of them
}

// Where the units of a stage run under Slurm.
const (
	WhereJobs = "jobs" // in jobs
	WhereHere = "here" // on the machine of the run itself
)

// Resources are what a stage's jobs ask Slurm for.
type Resources struct {
	Where                   string   // in jobs, or on the machine of the run itself
	Partition, Account, QOS string   // "" for those of the executor
	CPUs                    int      // and so many units at a time
	MemoryMiB               int      // of an element; 0: the site's default
	Minutes                 int      // time limit at least; 0: the partition's default
	GPUs                    int      // of an element that starts servers
	Exclusive               bool     // whole nodes for elements that start servers
	Arguments               []string // more for sbatch
}

// executorStages are the stages that have resources of their own.
var executorStages = []string{"generate", "score", "replay", "systems", "report"}

func defaultExecutor() Executor {
	e := Executor{
		Kind: ExecutorLocal, ArraySize: 1000, ElementMinutes: 5, Retries: 2, PollSeconds: 10, SettleSeconds: 30,
		Stages: make(map[string]Resources),
	}
	for _, stage := range executorStages {
		e.Stages[stage] = Resources{Where: WhereJobs, CPUs: 1, MemoryMiB: 4000, Minutes: 60, GPUs: 8, Exclusive: true}
	}
	generate, report := e.Stages["generate"], e.Stages["report"]
	generate.MemoryMiB, generate.Minutes = 0, 0
	report.Where = WhereHere
	e.Stages["generate"], e.Stages["report"] = generate, report
	return e
}

// refused are arguments of sbatch that are ours to give, or that would break
// how jobs are found again.
var refused = []string{"--array", "-a", "--job-name", "-J", "--output", "-o", "--error", "-e", "--chdir", "-D", "--parsable", "--wrap", "--wait", "-W", "--no-requeue"}

// bind reads the executor. A stage that is timed on servers has other defaults.
func (e *Executor) bind(t *table, workers []Worker, timed bool) {
	if timed {
		e.Stages["systems"] = e.Stages["generate"]
	}
	t.choice("kind", &e.Kind, ExecutorLocal, ExecutorSlurm)
	t.integer("workers", &e.Workers, 0, 4096)
	t.optionalText("partition", &e.Partition)
	t.optionalText("account", &e.Account)
	t.optionalText("qos", &e.QOS)
	t.integer("array_size", &e.ArraySize, 1, 1<<20)
	t.integer("throttle", &e.Throttle, 0, 1<<20)
	t.number("element_minutes", &e.ElementMinutes, 0, 1<<16)
	t.integer("retries", &e.Retries, 0, 100)
	t.number("poll_seconds", &e.PollSeconds, 0.1, 3600)
	t.number("settle_seconds", &e.SettleSeconds, 0, 3600)
	for _, stage := range executorStages {
		r := e.Stages[stage]
		r.bind(t.table(stage))
		e.Stages[stage] = r
	}
	launched := 0
	for _, w := range workers {
		if w.Launch != "" {
			launched++
		}
	}
	if e.Kind == ExecutorSlurm && launched > 1 {
		t.fault("kind", `needs one [[worker]] with a launch command at most, there are %d: it is launched on every node that Slurm gives`, launched)
	}
}

func (r *Resources) bind(t *table) {
	t.choice("where", &r.Where, WhereJobs, WhereHere)
	t.optionalText("partition", &r.Partition)
	t.optionalText("account", &r.Account)
	t.optionalText("qos", &r.QOS)
	t.integer("cpus", &r.CPUs, 1, 4096)
	t.integer("memory_mib", &r.MemoryMiB, 0, 1<<30)
	t.integer("minutes", &r.Minutes, 0, 1<<20)
	t.integer("gpus", &r.GPUs, 0, 1024)
	t.boolean("exclusive", &r.Exclusive)
	t.texts("arguments", &r.Arguments)
	t.record("arguments", slices.Concat([]string{}, r.Arguments))
	for _, argument := range r.Arguments {
		if name, _, _ := strings.Cut(argument, "="); slices.Contains(refused, name) {
			t.fault("arguments", "must not have %s, which the program sets itself", name)
		}
	}
}
