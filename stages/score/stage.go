// Package score is the stage that turns rollouts into verdicts, by the rule of
// each task, and counts these into profiles: one unit a benchmark and model,
// which keeps every verdict, and one that gathers the profiles. Where profiles
// stand in for rollouts the stage has nothing to run.
package score

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/scoring/code"
	"speceval/internal/scoring/command"
	"speceval/internal/scoring/family"
	"speceval/internal/scoring/judge"
	"speceval/internal/store/profile"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Name and version of the stage. The version is of how verdicts are kept and
// counted; the rules of scoring have versions of their own.
const (
	name    = "score"
	about   = "verdicts on rollouts, and profiles that count them"
	version = 2
)

// Settings are the settings of the stage.
type Settings struct {
	Rollouts   int // K, of every task
	Benchmarks []Benchmark
	Models     []Model

	// Judge finds the servers of the judge, called by every unit that needs one.
	Judge func(ctx context.Context) (Judge, error)
	// Runner returns the runner of programs, called by every unit that has some.
	Runner func(ctx context.Context) (*code.Runner, error)
	// JudgeName is the name of the judge in the version of its verdicts: its model, and its
	// prompt if that is not ours.
	JudgeName string
	// GradingName is JudgeName for graded answers, whose prompt is another one.
	GradingName string

	// Config is the part of the configuration that verdicts depend on where
	// scoring has a need.
	Config map[family.Need]map[string]string
	// Sources are inputs from outside the output folder that verdicts depend on
	// where scoring has a need.
	Sources map[family.Need][]dag.Source
	AtATime int // responses that are scored at a time, where no judge is asked
}

// Benchmark is a benchmark with what its answers are scored by.
type Benchmark struct {
	ID      string
	Tasks   []benchmark.Task
	Answers dag.Source // right answers, options and tests
	// Tests gives the tests of a task whose answers are programs.
	Tests func(t benchmark.Task) ([]benchmark.Test, error)
	// Grader opens the grader of the user's own, called by every unit that needs it; it must
	// be closed. GraderName is its name in the version of its verdicts.
	Grader     func(ctx context.Context) (*command.Grader, error)
	GraderName string
}

// Model is a model whose rollouts are scored.
type Model struct {
	ID string
	// Unparted says that thinking stands before the answer, in one text.
	Unparted bool
}

// Judge is the servers of the judge, and how they are asked.
type Judge struct {
	judge.Settings
	Places  int // questions that can be asked at a time
	Release func()
}

// Satisfied is the stage where profiles stand in for rollouts; standIn says
// which, for plans.
func Satisfied(standIn string) dag.Stage {
	return dag.Stage{Name: name, About: about, Version: version, Satisfied: standIn}
}

// Stage is the stage. It is an error if a benchmark has a task with
// an unknown scorer or one that grades, since profiles count passes.
func Stage(s Settings) (dag.Stage, error) {
	stage := dag.Stage{Name: name, About: about, Version: version, Shared: map[string]string{}}
	var faults []error
	for _, b := range s.Benchmarks {
		stage.Shared[b.Answers.Name] = "its hash is of whole tasks, and changes with their prompts, too"
		_, err := b.families()
		faults = append(faults, err, b.PassFail())
	}
	profiles := dag.Unit{ID: "profiles", Outputs: []string{ProfilesFile}, Provenance: "computed", Run: s.gather}
	for _, c := range s.corpora() {
		stage.Units = append(stage.Units, c.unit())
		profiles.Needs = append(profiles.Needs, c.ref())
	}
	stage.Units = append(stage.Units, profiles)
	return stage, errors.Join(faults...)
}

// ProfilesFile holds the profiles of all benchmarks and models.
const ProfilesFile = "score/profiles.parquet"

// gather is the unit that gathers the profiles, degenerate ones included.
func (s *Settings) gather(_ context.Context, job *dag.Job) error {
	all, err := pair.Profiles(job, Pairs(*s))
	if err != nil {
		return err
	}
	rows := 0
	for _, p := range all {
		rows += p.N()
	}
	return job.Write(ProfilesFile, rows, func(w io.Writer) error {
		return profile.Write(w, all, job.Footer(profile.Schema))
	})
}

// Pairs are the pairs that the stage makes profiles of.
func Pairs(s Settings) []pair.Pair {
	var all []pair.Pair
	for _, c := range s.corpora() {
		var ids []string
		for _, t := range c.benchmark.Tasks {
			ids = append(ids, t.ID)
		}
		all = append(all, pair.Made(c.benchmark.ID, c.model.ID, ids, c.ref(), c.file("profile")))
	}
	return all
}

// scoredRollouts is the rollouts of one model on one benchmark.
type scoredRollouts struct {
	*Settings
	benchmark *Benchmark
	model     *Model
}

// corpora are the rollouts of all models on all benchmarks.
func (s *Settings) corpora() (all []*scoredRollouts) {
	for m := range s.Models {
		for b := range s.Benchmarks {
			all = append(all, &scoredRollouts{s, &s.Benchmarks[b], &s.Models[m]})
		}
	}
	return all
}

// find returns the rollouts of a model on a benchmark; nil if it is not scored.
func (s *Settings) find(benchmark, model string) *scoredRollouts {
	for _, c := range s.corpora() {
		if c.benchmark.ID == benchmark && c.model.ID == model {
			return c
		}
	}
	return nil
}

// families are the families of the tasks, by name in order. The error names a task with an
// unknown scorer.
func (b *Benchmark) families() (found []family.Family, err error) {
	byName := map[string]family.Family{}
	for _, t := range b.Tasks {
		f, err := family.Named(t.Scorer)
		if err != nil {
			return nil, fmt.Errorf("benchmark %s: task %s: scorer %w", b.ID, t.ID, err)
		}
		byName[f.Name] = f
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b family.Family) int { return strings.Compare(a.Name, b.Name) }), nil
}

// familyOf is the family of a task; an empty one if its scorer is unknown.
func familyOf(t benchmark.Task) family.Family {
	f, _ := family.Named(t.Scorer)
	return f
}

// PassFail is an error that names a task whose rewards are more than pass or fail.
func (b *Benchmark) PassFail() error {
	for _, t := range b.Tasks {
		if familyOf(t).Graded {
			return fmt.Errorf("benchmark %s: task %s is scored by %s, whose rewards are graded, and profiles, replays and timed runs count passes: "+
				"evaluate the benchmark by `speceval evaluate`, or give its tasks a scorer that passes or fails", b.ID, t.ID, t.Scorer)
		}
	}
	return nil
}

func (c *scoredRollouts) ref() dag.Ref {
	return dag.Ref{Stage: name, Unit: c.benchmark.ID + "/" + c.model.ID}
}

func (c *scoredRollouts) unit() dag.Unit {
	u := dag.Unit{
		ID:      c.ref().Unit,
		Config:  map[string]string{"corpus.rollouts_per_task": fmt.Sprint(c.Rollouts), "model.unparted": fmt.Sprint(c.model.Unparted)},
		Sources: []dag.Source{c.benchmark.Answers},
		Needs:   []dag.Ref{{Stage: "generate", Unit: c.ref().Unit}},
		Outputs: []string{c.file("scores"), c.file("profile")},
		Expect:  c.expect(),
		Run:     c.run,
	}
	maps.Copy(u.Config, c.rules())
	for _, need := range c.needs() {
		u.Sources = append(u.Sources, c.Sources[need]...)
	}
	return u
}

// expect is the quantities of the unit's work, for plans.
func (c *scoredRollouts) expect() []dag.Quantity {
	all := []dag.Quantity{{Name: "responses", Amount: float64(c.total())}}
	for _, need := range []family.Need{family.Judge, family.Sandbox, family.Grader} {
		if n := c.responses(need); n > 0 {
			all = append(all, dag.Quantity{Name: need.Takes, Amount: float64(n)})
		}
	}
	return all
}

// responses counts those whose scoring has a need.
func (c *scoredRollouts) responses(need family.Need) int {
	return c.Rollouts * family.Count(c.benchmark.Tasks, need)
}

// needs are the needs of the families, each once.
func (c *scoredRollouts) needs() (all []family.Need) {
	families, _ := c.benchmark.families()
	for _, f := range families {
		if f.Slow() && !slices.Contains(all, f.Need) {
			all = append(all, f.Need)
		}
	}
	return all
}

// total is the number of rollouts.
func (c *scoredRollouts) total() int { return len(c.benchmark.Tasks) * c.Rollouts }

// file is an output of the unit: its scores or its profile.
func (c *scoredRollouts) file(what string) string {
	return fmt.Sprintf("score/benchmark=%s/model=%s/%s.parquet", c.benchmark.ID, c.model.ID, what)
}

// partVersion names the rules by which the answer is found in a rollout: see partOf.
const partVersion = "speceval_answer_v2"

// version names the rules of a family, in scores and profiles.
func (c *scoredRollouts) version(f family.Family) string {
	switch {
	case f.Need == family.Judge && f.Graded:
		return f.Version + ":" + c.GradingName
	case f.Need == family.Judge:
		return f.Version + ":" + c.JudgeName
	case f.Need == family.Grader:
		return f.Version + ":" + c.benchmark.GraderName
	}
	return f.Version
}

// Rules returns the rules that verdicts on a pair depend on besides the answers: the
// versions of the scorers of its tasks, and the keys of the configuration that they read.
func (s *Settings) Rules(benchmark, model string) map[string]string {
	c := s.find(benchmark, model)
	if c == nil {
		return make(map[string]string)
	}
	return c.rules()
}

func (c *scoredRollouts) rules() map[string]string {
	rules := map[string]string{"answer": partVersion}
	families, _ := c.benchmark.families()
	for _, f := range families {
		rules["scorer."+f.Name] = c.version(f)
		maps.Copy(rules, c.Config[f.Need])
	}
	return rules
}
