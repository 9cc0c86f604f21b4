// Package evaluate carries out live evaluations for the command of that name: it
// finds the benchmark, the model, the budget, the design, the servers and the
// scorers of a request, runs internal/evaluation with them, and finds stored
// evaluations again to plan by, compare, list and rescore. It shows nothing: what
// happens goes to the functions of a Host.
package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/scoring/family"
	"speceval/internal/servers/ending"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/atomicfile"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/experiment"
)

// RequestError is a fault of what was asked for: of an option, the configuration,
// or a file that one of these names. Nothing has been asked of servers.
type RequestError struct{ Err error }

func (e *RequestError) Error() string { return e.Err.Error() }
func (e *RequestError) Unwrap() error { return e.Err }

func requestf(format string, args ...any) error {
	return &RequestError{fmt.Errorf(format, args...)}
}

// Host is the program around an evaluation.
type Host struct {
	experiment.Outside
	evaluation.Host
	Holder string               // of locks
	Warn   func(message string) // shows what a user should know before trusting the result
}

// Evaluate begins an evaluation, resumes one that is not complete, or returns the
// result of a complete one. folder is where it is. The error is an
// *evaluation.PausedError if the same request resumes from there.
func (s *Subject) Evaluate(ctx context.Context, r evaluation.Spec, h Host) (result *evaluation.Result, folder string, err error) {
	e := s.equip(h, s.model)
	defer e.close(&err)
	return s.begin(ctx, e, r, h)
}

// begin evaluates what is asked for.
func (s *Subject) begin(ctx context.Context, e *equipment, r evaluation.Spec, h Host) (_ *evaluation.Result, _ string, err error) {
	if err := s.onLoss(r.OnLoss); err != nil {
		return nil, "", err
	}
	if r.Price, err = s.price(r.Price); err != nil {
		return nil, "", err
	}
	setup, err := s.requested(ctx, r, h.Say)
	if err != nil {
		return nil, "", err
	}
	return s.evaluate(ctx, e, setup, r, nil, h)
}

// requested is the evaluation that is asked for, still without a design.
func (s *Subject) requested(ctx context.Context, r evaluation.Spec, say func(string)) (evaluation.Setup, error) {
	setup := s.setup(r.Seed)
	var err error
	for _, t := range s.tasks.Tasks {
		if f, err := family.Named(t.Scorer); err == nil && f.Graded && len(r.PassK) > 0 {
			return setup, requestf("--pass-k: task %s is scored by %s, whose rewards are graded: only rollouts that pass or fail have pass@k and pass^k", t.ID, t.Scorer)
		}
	}
	r.Coupled = s.couples(r, say)
	setup.PassK, setup.Price, setup.Coupled = r.PassK, r.Price, r.Coupled
	if setup.Donors, err = s.donors(r, setup.Model, setup.Seed); err != nil {
		return setup, err
	}
	chosen := policy.DefaultExecution(len(setup.Donors) > 0)
	if r.Policy != "" {
		if chosen, err = policy.FindExecution(r.Policy); err != nil {
			return setup, &RequestError{err}
		}
	}
	switch {
	case chosen.Donors && len(setup.Donors) == 0:
		return setup, requestf("--policy %s needs donors: name some with --prior", chosen.Name)
	case !chosen.Donors && len(setup.Donors) > 0:
		return setup, requestf("--policy %s makes no use of --prior: leave one of the two out", chosen.Name)
	case r.Stages != 0 && !chosen.Adapts:
		return setup, requestf("--policy %s has a number of stages of its own: leave --stages out", chosen.Name)
	case r.Stages < 0 || r.Stages == 1 || r.Stages > mostStages:
		return setup, requestf("--stages %d: want 2 to %d, the pilot among them", r.Stages, mostStages)
	}
	setup.Policy = chosen.Name
	if setup.Budget, setup.Stop, err = s.spending(ctx, r, setup.Donors, say); err != nil {
		return setup, err
	}
	if setup.Stop != nil && chosen.Uniform() {
		return setup, requestf("uniform has no barrier at which to stop: give it a --budget")
	}
	return setup, s.floors(&setup, r.Floor)
}

// couples reports whether rollouts of other models are to have the same seeds, which servers must
// be given.
func (b *Benchmark) couples(r evaluation.Spec, say func(string)) bool {
	without := slices.Contains(b.Config.Sampling.LeaveOut, "seed")
	if r.Coupled && without {
		say("--coupled is off: servers are given no seed (sampling.leave_out)")
	}
	return r.Coupled && !without
}

// mostStages is the largest number of stages of an evaluation: each ends at a barrier.
const mostStages = 12

// evaluate carries out the evaluation of a setup, as it is asked for, or returns its result if
// it is complete. after is the result that it extends, if any.
func (s *Subject) evaluate(ctx context.Context, e *equipment, setup evaluation.Setup, asked evaluation.Spec, after *evaluation.Result, h Host) (result *evaluation.Result, folder string, err error) {
	folder = setup.Path(s.out())
	scored, err := e.scored()
	if err != nil {
		return nil, folder, err
	}
	rules := s.rules(scored)
	if after != nil && rules != after.Rules {
		return nil, folder, requestf("answers or scorers have changed since %s: score it again first, speceval evaluate rescore %[1]s", setup.Extends.Folder)
	}
	if result, err = s.complete(&setup, folder, rules, h); err != nil {
		return nil, folder, err
	}
	if result != nil {
		s.writePage(folder, h) // a kill may have left none
		return result, folder, nil
	}
	if len(s.Config.Workers) == 0 {
		return nil, folder, requestf("there is no server to ask: name some with --worker URL, or a [[worker]] in the configuration")
	}
	err = s.within(ctx, e, setup, folder, h, func(settings evaluation.Settings) (err error) {
		result, err = s.run(ctx, e.servers, settings, asked, h)
		return err
	})
	return result, folder, err
}

// writePage writes the page of a complete evaluation, if none is there. A page that cannot be
// written is no failure of the evaluation.
func (s *Subject) writePage(folder string, h Host) {
	path := filepath.Join(folder, evaluation.PageFile)
	if _, err := os.Lstat(path); err == nil {
		return
	}
	err := WritePage(folder, func(task int) string {
		return strings.TrimSpace(s.tasks.Tasks[task].Asked())
	})
	if err != nil {
		h.Warn(fmt.Sprintf("the result is stored, but not its page: %v", err))
		return
	}
	h.Say(path + " written")
}

// WritePage writes the page of a complete evaluation; prompt is of a task, and may be nil.
func WritePage(folder string, prompt func(task int) string) error {
	stored, err := evaluation.Open(folder)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(folder, evaluation.PageFile), show.Page{Stored: stored, Prompt: prompt}.Write)
}

// onLoss puts a rule for answers that are lost in the place of the configured one,
// unless it is "".
func (s *Subject) onLoss(rule string) error {
	if all := []vllm.OnLoss{"", vllm.Continue, vllm.AskAgain, vllm.Refuse}; !slices.Contains(all, vllm.OnLoss(rule)) {
		return requestf("--on-loss %q: want one of %s, %s, %s", rule, all[1], all[2], all[3])
	}
	s.Config.Serving.OnLoss = cmp.Or(rule, s.Config.Serving.OnLoss) // of this subject alone
	return nil
}

// complete is the result of an evaluation that is complete; nil if it is not.
func (s *Subject) complete(setup *evaluation.Setup, folder, rules string, h Host) (*evaluation.Result, error) {
	there, err := evaluation.ReadSetup(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = there.Matches(setup)
	}
	if err != nil {
		return nil, &RequestError{err}
	}
	stored, err := Archive{s.Config, h.Warn}.open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = evaluation.Clear(folder) // a kill may have left journals
	}
	if err != nil {
		return nil, err
	}
	if stored.Result.Rules != rules {
		h.Warn("answers or scorers have changed since: speceval evaluate rescore " + folder)
	}
	h.Say("this evaluation is complete; another --seed makes another one")
	return stored.Result, nil
}

// lock takes the lock of the folder of an evaluation, of which none in the output folder
// may be a link.
func (s *Subject) lock(folder string, h Host) (*dag.Lock, error) {
	if below, err := filepath.Rel(s.out(), folder); err == nil && filepath.IsLocal(below) {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return nil, err
		}
	}
	lock, err := dag.Acquire(folder, h.Holder)
	if err != nil {
		return nil, err
	}
	return lock, dag.Sweep(folder)
}

// run begins an evaluation, or resumes one that is not complete.
func (s *Subject) run(ctx context.Context, servers *pool.Servers, settings evaluation.Settings, asked evaluation.Spec, h Host) (*evaluation.Result, error) {
	model := experiment.ServedModel(s.Config, s.model)
	model.Requires.Foreign, model.Requires.Version = true, "" // any server that speaks OpenAI's protocol
	model.Requires.Continues, model.Drain = experiment.Continues(s.Config), h.Drain
	lease, err := servers.Acquire(ctx, model)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	setup := &settings.Setup
	if err := s.design(ctx, setup, asked, lease.Places()); err != nil {
		return nil, err
	}
	if err := setup.Check(); err != nil {
		return nil, &RequestError{err}
	}
	settings.OnLoss, settings.Servers = vllm.OnLoss(s.Config.Serving.OnLoss), lease
	settings.Provenance, settings.Notes = measurement.Measured, pool.Notes(lease.Served())
	if strings.Contains(strings.Join(lease.Versions(), " "), "simulated") {
		settings.Provenance = measurement.Simulated
	}
	if setup.Used != "" {
		settings.Notes = append(settings.Notes, fmt.Sprintf("%s was used in the place of %s: no gain is expected of so few tasks and rollouts; --policy %s takes it all the same", setup.Used, setup.Policy, setup.Policy))
	}
	for _, note := range settings.Notes {
		h.Warn(note)
	}
	h.Say(fmt.Sprintf("%s with %s: %d tasks, %s, %s", setup.Benchmark, setup.Model, len(setup.TaskIDs), show.Spending(setup), show.Stages(setup)))
	if text := show.Floor(setup.Design); text != "" {
		h.Say(text)
	}
	result, err := evaluation.Run(ctx, settings)
	if err == nil {
		s.writePage(settings.Folder, h)
		for _, line := range result.Answers.Lines(ending.Warned) {
			h.Warn(line)
		}
	}
	return result, err
}

// design sets the design of an evaluation: the one that it has begun with, or a new one for
// servers with a number of places. An extension has its own already.
func (s *Subject) design(ctx context.Context, setup *evaluation.Setup, asked evaluation.Spec, places int) error {
	there, err := evaluation.ReadSetup(setup.Path(s.out()))
	switch {
	case err == nil:
		setup.Design, setup.Used = there.Design, there.Used
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case setup.Extends != nil:
		return nil
	}
	cells := setup.Design.Cells
	setup.Design, err = s.designOf(ctx, setup, asked.Stages, places)
	if err == nil && asked.Policy == "" && asked.Stages == 0 && gainless(setup) {
		setup.Used, setup.Design = "uniform", alike(setup.Budget)
	}
	setup.Design.Cells = cells
	return err
}

// Rescore scores the answers of a stored evaluation again, named as in an Archive, by
// the scorers and the answers of today, and stores the result that follows. before is the
// evaluation as it was. benchmarks are task files; the evaluation names its own where one is missing.
func Rescore(ctx context.Context, cfg *config.Config, name string, benchmarks []string, h Host) (before *evaluation.Stored, after *evaluation.Result, err error) {
	before, s, err := Archive{cfg, h.Warn}.reopen(name, benchmarks, evaluation.RolloutsFile, evaluation.RequestsFile)
	if err != nil {
		return nil, nil, err
	}
	e := s.equip(h, s.model)
	defer e.close(&err)
	err = s.within(ctx, e, *before.Setup, before.Folder, h, func(settings evaluation.Settings) error {
		stored, err := evaluation.Open(before.Folder) // another process may have replaced it
		if err != nil {
			return err
		}
		settings.Provenance = stored.Result.Provenance
		after, err = evaluation.Rescore(ctx, settings, stored, 4*runtime.GOMAXPROCS(0))
		s.writePage(before.Folder, h) // of what is there, if it failed
		return err
	})
	return before, after, err
}

// reopen finds a stored evaluation with the files that are needed, and its model on its
// benchmarks as they are now.
func (a Archive) reopen(name string, benchmarks []string, needs ...string) (*evaluation.Stored, *Subject, error) {
	stored, err := a.Stored(name)
	if err == nil {
		err = stored.Needs(needs...)
	}
	if err != nil {
		return nil, nil, err
	}
	b, err := a.again(stored.Result, benchmarks)
	if err != nil {
		return nil, nil, err
	}
	if err := b.sameTasks(stored.Result); err != nil {
		return nil, nil, requestf("%s: %w: name its task file with --benchmark", stored.Folder, err)
	}
	s, err := b.With(stored.Result.Model)
	return stored, s, err
}
