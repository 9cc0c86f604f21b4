package evaluated

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	process "speceval/drills/lab"
)

// Program is the built program with what all of its evaluations share.
type Program struct {
	Binary    string
	Config    string
	Out       string
	Logs      string // folder for what it says
	Benchmark string // id, or path of a task file
	ID        string // of the benchmark
	Model     string

	// Pauses is how often in a row an evaluation may end with exit code 1 and be started
	// again: where all servers may be away at once.
	Pauses int
}

// paused is the exit code of an evaluation that the same command goes on with.
const paused = 1

// Order is an evaluation to make.
type Order struct {
	Policy   string
	Budget   int     // rollouts per task; 0 with a TargetSE
	TargetSE float64 // standard error to reach; 0 with a Budget
	Extends  int     // budget of the evaluation of this policy and seed that it extends; 0: none
	Seed     uint64
	Workers  []string // URLs
	Flags    []string // further ones
}

// Name tells the order from others of the same benchmark and model.
func (o Order) Name() string {
	spent := fmt.Sprintf("b%d", o.Budget)
	switch {
	case o.TargetSE > 0:
		spent = fmt.Sprintf("se%g", o.TargetSE)
	case o.Extends > 0:
		spent += fmt.Sprintf("-after-b%d", o.Extends)
	}
	return fmt.Sprintf("%s-%s-seed%d", o.Policy, spent, o.Seed)
}

// Extended is the evaluation that the order extends.
func (o Order) Extended() Order {
	o.Budget, o.Extends = o.Extends, 0
	return o
}

// Folder is where the program keeps the evaluation.
func (p *Program) Folder(o Order) string { return folder(p.Out, p.ID, p.Model, o.Name()) }

// Made reports whether the program has kept a result of the evaluation.
func (p *Program) Made(o Order) bool {
	r, err := Read(p.Folder(o))
	return r != nil && err == nil
}

// Start starts an evaluation, or goes on with it. What it prints is in the file
// that said names.
func (p *Program) Start(o Order) (running *process.Process, said string, err error) {
	words := append(p.asks(o), "--config", p.Config, "--out", p.Out, "-q", "--json")
	for _, url := range o.Workers {
		words = append(words, "--worker", url)
	}
	words = append(words, o.Flags...)
	said = filepath.Join(p.Logs, p.ID+"-"+o.Name()+".txt")
	running, err = process.StartProgram(said, nil, p.Binary, words...)
	return running, said, err
}

// asks are the words of the command that say what to evaluate.
func (p *Program) asks(o Order) []string {
	if o.Extends > 0 {
		return []string{"evaluate", "extend", p.Folder(o.Extended()), "--benchmark", p.Benchmark, "--budget", strconv.Itoa(o.Budget)}
	}
	spend := []string{"--budget", strconv.Itoa(o.Budget)}
	if o.TargetSE > 0 {
		spend = []string{"--target-se", fmt.Sprint(o.TargetSE)}
	}
	words := append([]string{"evaluate", "--benchmark", p.Benchmark, "--model", p.Model}, spend...)
	return append(words, "--policy", o.Policy, "--seed", strconv.FormatUint(o.Seed, 10))
}

// Run makes an evaluation to its end and reads what it prints, which is removed
// then.
func (p *Program) Run(ctx context.Context, o Order) (*Result, error) {
	running, said, err := p.finish(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name(), err)
	}
	text, err := os.ReadFile(said)
	if err != nil {
		return nil, err
	}
	r, err := Parse(text[max(0, bytes.IndexByte(text, '{')):]) // warnings stand before it
	if err != nil {
		return nil, fmt.Errorf("%s: what it printed is no result: %w\n%s", o.Name(), err, running.Last())
	}
	if err := r.Check(o.Budget); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name(), err)
	}
	return r, os.Remove(said)
}

// finish makes an evaluation to its end, through its pauses.
func (p *Program) finish(ctx context.Context, o Order) (running *process.Process, said string, err error) {
	for range 1 + p.Pauses {
		if running, said, err = p.Start(o); err != nil {
			return nil, "", err
		}
		err = running.Succeed(ctx)
		running.Kill()
		if err == nil || ctx.Err() != nil || running.Code() != paused {
			break
		}
	}
	return running, said, err
}
