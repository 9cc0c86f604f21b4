package config

import (
	"regexp"
	"slices"
	"strings"
)

// Executors.
const (
	ExecutorLocal   = "local"
	ExecutorSlurm   = "slurm"
	ExecutorCommand = "command"
)

// Executor says where units run. It never changes a result.
type Executor struct {
	Kind    string // this machine, job arrays of Slurm, or jobs of commands
	Workers int    // units at a time on this machine; 0: one per core

	// Of the kind "command": what a shell runs.
	Submit string // a job; {command} runs its element
	Status string // lists jobs, with their states; {jobs} are their ids
	Cancel string // cancels {jobs}

	// Of Slurm, for every stage; a stage may have its own.
	Partition, Account, QOS string // "" for the site's default

	ArraySize      int     // elements of one array at most
	Throttle       int     // elements of an array that run at a time; 0: no limit
	ElementMinutes float64 // units are packed until an element runs about so long
	Retries        int     // of a unit that failed
	PollSeconds    float64 // between two looks at the queue
	SettleSeconds  float64 // that files of other machines may take to be seen here
	AnswerSeconds  float64 // that a command which submits, polls or cancels may take

	Stages map[string]Resources // by stage, all of them
}

// InJobs reports whether stages may run in jobs.
func (e Executor) InJobs() bool { return e.Kind == ExecutorSlurm || e.Kind == ExecutorCommand }

// Where the units of a stage run if they may run in jobs.
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
		Kind: ExecutorLocal, ArraySize: 1000, ElementMinutes: 5, Retries: 2, PollSeconds: 10, SettleSeconds: 30, AnswerSeconds: 60,
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

// takesNext are the arguments after which a value may stand.
var takesNext = regexp.MustCompile(`^(-\w|--[^=]+)$`)

// option is an option of sbatch that arguments must not have.
type option struct {
	long, short string // without hyphens
	instead     string
}

// The program gives sbatch these options, or finds its jobs no longer where others are set.
const ours = "the program sets it, or would not find its jobs again"

var refused = []option{
	{"array", "a", ours}, {"job-name", "J", ours}, {"output", "o", ours}, {"error", "e", ours}, {"chdir", "D", ours}, {"parsable", "", ours},
	{"wrap", "", ours}, {"wait", "W", ours}, {"no-requeue", "", ours}, {"test-only", "", ours}, {"open-mode", "", ours}, {"help", "h", ours},
	{"usage", "", ours}, {"version", "V", ours}, {"nodes", "N", ours}, {"ntasks", "n", ours},
	{"partition", "p", "set partition"}, {"account", "A", "set account"}, {"qos", "q", "set qos"}, {"cpus-per-task", "c", "set cpus"},
	{"mem", "", "set memory_mib"}, {"time", "t", "set minutes"}, {"gpus-per-node", "", "set gpus"},
}

// is reports whether sbatch takes an argument, up to a "=", for the option: a long one may be
// cut short, and a short one be followed by its value.
func (o option) is(argument string) bool {
	if long, found := strings.CutPrefix(argument, "--"); found {
		return long == o.long || len(long) > 1 && strings.HasPrefix(o.long, long)
	}
	short, found := strings.CutPrefix(argument, "-")
	return found && o.short != "" && strings.HasPrefix(short, o.short)
}

// bind reads the executor. A stage that is timed on servers has other defaults.
func (e *Executor) bind(t *table, workers []Worker, timed bool) {
	if timed {
		e.Stages["systems"] = e.Stages["generate"]
	}
	t.choice("kind", &e.Kind, ExecutorLocal, ExecutorSlurm, ExecutorCommand)
	e.bindCommands(t)
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
	t.number("answer_seconds", &e.AnswerSeconds, 0.1, 3600)
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
	if e.InJobs() && launched > 1 {
		t.fault("kind", `needs one [[worker]] with a launch command at most, there are %d: it is launched in every job`, launched)
	}
}

// bindCommands reads the commands of jobs.
func (e *Executor) bindCommands(t *table) {
	for _, c := range []struct {
		key, must, is string
		to            *string
	}{
		{"submit", "{command}", "what runs the element", &e.Submit}, {"status", "", "the command that lists jobs", &e.Status},
		{"cancel", "{jobs}", "the ids of the jobs to cancel", &e.Cancel},
	} {
		t.optionalText(c.key, c.to)
		switch {
		case *c.to == "" && e.Kind == ExecutorCommand:
			t.fault("kind", "needs %s as well", c.key)
		case *c.to != "" && !strings.Contains(*c.to, c.must):
			t.fault(c.key, "lacks %s, %s", c.must, c.is)
		}
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
	before := "" // may be an option whose value follows
	for _, argument := range r.Arguments {
		name, _, _ := strings.Cut(argument, "=")
		for _, r := range refused {
			if r.is(name) {
				t.fault("arguments", "must not have %s: %s", name, r.instead)
			}
		}
		if !strings.HasPrefix(argument, "-") && !takesNext.MatchString(before) {
			t.fault("arguments", "has %q, which is no option: sbatch would run it", argument)
		}
		before = argument
	}
}
