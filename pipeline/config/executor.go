package config

import (
	"regexp"
	"strings"
)

// Executor says where units run. It never changes a result.
type Executor struct {
	Kind    string `toml:"kind" want:"local|slurm|command"` // this machine, job arrays of Slurm, or jobs of commands
	Workers int    `toml:"workers" want:"0 to 4096"`        // units at a time on this machine; 0: one per core

	// Of the kind "command": what a shell runs.
	Submit string `toml:"submit"` // a job; {command} runs its element
	Status string `toml:"status"` // lists jobs, with their states; {jobs} are their ids
	Cancel string `toml:"cancel"` // cancels {jobs}

	// Of Slurm, for every stage; a stage may have its own.
	Partition string `toml:"partition"` // "" for the site's default
	Account   string `toml:"account"`
	QOS       string `toml:"qos"`

	ArraySize      int     `toml:"array_size" want:"1 to 2^20"`       // elements of one array at most
	Throttle       int     `toml:"throttle" want:"0 to 2^20"`         // elements of an array that run at a time; 0: no limit
	ElementMinutes float64 `toml:"element_minutes" want:"0 to 65536"` // units are packed until an element runs about so long
	Retries        int     `toml:"retries" want:"0 to 100"`           // of a unit that failed
	PollSeconds    float64 `toml:"poll_seconds" want:"0.1 to 3600"`   // between two looks at the queue
	SettleSeconds  float64 `toml:"settle_seconds" want:"0 to 3600"`   // that files of other machines may take to be seen here
	AnswerSeconds  float64 `toml:"answer_seconds" want:"0.1 to 3600"` // that a command which submits, polls or cancels may take

	Stages map[string]Resources // by stage, all of them
}

// InJobs reports whether stages may run in jobs.
func (e Executor) InJobs() bool { return e.Kind == ExecutorSlurm || e.Kind == ExecutorCommand }

// Resources are the request of a stage's jobs to Slurm.
type Resources struct {
	Where     string   `toml:"where" want:"jobs|here"` // in jobs, or on the machine of the run itself
	Partition string   `toml:"partition"`              // "" for the executor's
	Account   string   `toml:"account"`
	QOS       string   `toml:"qos"`
	CPUs      int      `toml:"cpus" want:"1 to 4096"`       // and units at a time
	MemoryMiB int      `toml:"memory_mib" want:"0 to 2^30"` // of an element; 0: the site's default
	Minutes   int      `toml:"minutes" want:"0 to 2^20"`    // time limit at least; 0: the partition's default
	GPUs      int      `toml:"gpus" want:"0 to 1024"`       // of an element that starts servers
	Exclusive bool     `toml:"exclusive"`                   // whole nodes for elements that start servers
	Arguments []string `toml:"arguments"`                   // more for sbatch
}

// executorStages are the stages that have resources of their own.
var executorStages = []string{"generate", "score", "replay", "systems", "report"}

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

// check holds the kind to the workers and the commands.
func (e *Executor) check(t *table, workers []Worker) {
	for _, c := range []struct{ key, command, must, is string }{
		{"submit", e.Submit, "{command}", "what runs the element"},
		{"status", e.Status, "", "the command that lists jobs"},
		{"cancel", e.Cancel, "{jobs}", "the ids of the jobs to cancel"},
	} {
		switch {
		case c.command == "" && e.Kind == ExecutorCommand:
			t.fault("kind", "needs %s as well", c.key)
		case c.command != "" && !strings.Contains(c.command, c.must):
			t.fault(c.key, "lacks %s, %s", c.must, c.is)
		}
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

// check refuses arguments of sbatch that the program sets, and what is no option.
func (r *Resources) check(t *table) {
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
