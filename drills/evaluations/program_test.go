//go:build drill

package evaluations_test

import (
	"bytes"
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
	async    = policy.HBNAsync.Name
	uniform  = policy.UniformAtBudget.Name
	inStaged = policy.Staged.Name
	informs  = policy.InformedStaged[0].Name
)

// program is the built program with what all of its evaluations share.
type program struct {
	*drill.Lab
	config    string
	out       string // output folder
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

// folder is where the program keeps the evaluation.
func (p *program) folder(o order) string {
	return filepath.Join(p.out, "evaluate", "benchmark="+p.id, "model="+p.model, o.name())
}

// log is the file with what an evaluation prints.
func (p *program) log(o order) string { return p.Path(p.id + "-" + o.name() + ".txt") }

// start starts an evaluation, or resumes it.
func (p *program) start(o order) *drill.Process {
	p.Helper()
	words := []string{"evaluate"}
	switch extended := o; {
	case o.extends > 0:
		extended.budget, extended.extends = o.extends, 0
		words = append(words, "extend", p.folder(extended), "--benchmark", p.benchmark, "--budget", strconv.Itoa(o.budget))
	case o.targetSE > 0:
		words = append(words, "--target-se", fmt.Sprint(o.targetSE))
	default:
		words = append(words, "--budget", strconv.Itoa(o.budget))
	}
	if o.extends == 0 {
		words = append(words, "--benchmark", p.benchmark, "--model", p.model, "--policy", o.policy, "--seed", fmt.Sprint(o.seed))
	}
	words = append(words, "--config", p.config, "--out", p.out, "-q", "--json")
	for _, url := range o.workers {
		words = append(words, "--worker", url)
	}
	return p.StartProgram(p.log(o), p.Program, append(words, o.flags...)...)
}

// run makes an evaluation to its end, through its pauses. It returns the result that the
// program prints, checked.
func (p *program) run(o order) *evaluation.Result {
	p.Helper()
	running := p.start(o)
	running.Wait()
	for range p.pauses {
		if running.Code() == paused {
			running = p.start(o)
			running.Wait()
		}
	}
	running.Says(0)
	text := []byte(running.Text())
	var r evaluation.Result
	if err := json.Unmarshal(text[max(0, bytes.IndexByte(text, '{')):], &r); err != nil { // warnings come before it
		p.Fatalf("%s: what it printed is no result: %v\n%s", o.name(), err, running.Last())
	}
	checkResult(p.Lab, &r, o.budget)
	p.OK(os.Remove(p.log(o)))
	return &r
}

// strike starts an evaluation, or resumes it, and sends it SIGKILL some seconds after its
// first answer. It reports whether the process was still running then.
func (p *program) strike(o order, after float64) (hit bool) {
	p.Helper()
	journal := filepath.Join(p.folder(o), "requests.journal")
	before := size(journal)
	running := p.start(o)
	p.Until(o.name(), func() bool { return running.Gone() || size(journal) > before })
	hit = running.KillAfter(time.Duration(after * float64(time.Second)))
	if !hit && (running.Code() != paused || p.pauses == 0) {
		running.Says(0)
	}
	return hit
}

// size is the length of a file, 0 if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
