//go:build drill

package evaluations_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/policy"
)

// Policies, as the program calls them.
var (
	async   = policy.HBNAsync.Name
	uniform = policy.UniformAtBudget.Name
)

// program is the built program with what all of its evaluations share.
type program struct {
	lab       *drill.Lab
	config    string
	out       string // output folder
	logs      string // folder for what it prints
	benchmark string // id, or path of a task file
	id        string // of the benchmark
	model     string

	// pauses is how often in a row an evaluation may end with exit code 1 and be started
	// again: where all servers may be away at once.
	pauses int
}

// paused is the exit code of an evaluation that the same command resumes.
const paused = 1

// order is an evaluation to make.
type order struct {
	policy   string
	budget   int     // rollouts per task; 0 with a targetSE
	targetSE float64 // standard error to reach; 0 with a budget
	extends  int     // budget of the evaluation of this policy and seed that it extends; 0: none
	seed     uint64
	workers  []string // URLs
	flags    []string // further ones
}

// name is the name of the order's folder, unique for a benchmark and model.
func (o order) name() string {
	spent := fmt.Sprintf("b%d", o.budget)
	switch {
	case o.targetSE > 0:
		spent = fmt.Sprintf("se%g", o.targetSE)
	case o.extends > 0:
		spent += fmt.Sprintf("-after-b%d", o.extends)
	}
	return fmt.Sprintf("%s-%s-seed%d", o.policy, spent, o.seed)
}

// extended is the evaluation that the order extends.
func (o order) extended() order {
	o.budget, o.extends = o.extends, 0
	return o
}

// folder is where the program keeps the evaluation.
func (p *program) folder(o order) string {
	return filepath.Join(p.out, "evaluate", "benchmark="+p.id, "model="+p.model, o.name())
}

// start starts an evaluation, or resumes it.
func (p *program) start(o order) *drill.Process {
	words := append(p.command(o), "--config", p.config, "--out", p.out, "-q", "--json")
	for _, url := range o.workers {
		words = append(words, "--worker", url)
	}
	return p.lab.StartProgram(p.log(o), p.lab.Program, append(words, o.flags...)...)
}

// log is the file with what an evaluation prints.
func (p *program) log(o order) string { return filepath.Join(p.logs, p.id+"-"+o.name()+".txt") }

// command are the words of the command that name what to evaluate.
func (p *program) command(o order) []string {
	if o.extends > 0 {
		return []string{"evaluate", "extend", p.folder(o.extended()), "--benchmark", p.benchmark, "--budget", strconv.Itoa(o.budget)}
	}
	spend := []string{"--budget", strconv.Itoa(o.budget)}
	if o.targetSE > 0 {
		spend = []string{"--target-se", fmt.Sprint(o.targetSE)}
	}
	words := append([]string{"evaluate", "--benchmark", p.benchmark, "--model", p.model}, spend...)
	return append(words, "--policy", o.policy, "--seed", strconv.FormatUint(o.seed, 10))
}

// run makes an evaluation to its end, through its pauses. It returns the result that the
// program prints, checked.
func (p *program) run(ctx context.Context, o order) (r *evaluation.Result, err error) {
	var running *drill.Process
	for range 1 + p.pauses {
		running = p.start(o)
		select {
		case <-running.Ended():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if running.Code() != paused {
			break
		}
	}
	if running.Code() != 0 {
		return nil, fmt.Errorf("%s: exit code %d: %s", o.name(), running.Code(), running.Last())
	}
	text := []byte(running.Text())
	if r, err = parse(text[max(0, bytes.IndexByte(text, '{')):]); err != nil { // warnings come before it
		return nil, fmt.Errorf("%s: what it printed is no result: %w\n%s", o.name(), err, running.Last())
	}
	if err := checkResult(r, o.budget); err != nil {
		return nil, fmt.Errorf("%s: %w", o.name(), err)
	}
	return r, os.Remove(p.log(o))
}

// strike starts an evaluation, or resumes it, and sends it SIGKILL some seconds after its
// first answer. It reports whether the process was still running then.
func (p *program) strike(ctx context.Context, o order, after float64) (hit bool, err error) {
	journal := filepath.Join(p.folder(o), "requests.journal")
	before := size(journal)
	running := p.start(o)
	defer running.Kill()
	wait, answered := 5*time.Millisecond, false
	for {
		select {
		case <-running.Ended():
			if code := running.Code(); code == 0 || code == paused && p.pauses > 0 {
				return false, nil
			}
			return false, fmt.Errorf("%s: exit code %d: %s", o.name(), running.Code(), running.Last())
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(wait):
		}
		if answered {
			break
		}
		if answered = size(journal) > before; answered {
			wait = time.Duration(after * float64(time.Second))
		}
	}
	running.Kill()
	return running.Code() == -1, nil
}

// size is the length of a file, 0 if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// parse reads a result, as --json prints it and result.json keeps it. It is an error if
// it has more or fewer tasks than it states.
func parse(text []byte) (*evaluation.Result, error) {
	var r evaluation.Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	if len(r.Rows) == 0 || len(r.Rows) != r.Tasks {
		return nil, fmt.Errorf("results of %d tasks, n_tasks is %d", len(r.Rows), r.Tasks)
	}
	return &r, nil
}
