package evaluation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"speceval/internal/evaluation/ledger"
	"speceval/internal/policy"
	"speceval/internal/policy/coupled"
	"speceval/internal/store/atomicfile"
	"speceval/method/controller"
	"speceval/method/design"
	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// Folder is the folder of evaluations in an output folder.
const Folder = "evaluate"

const (
	setupFile   = "evaluation.json"
	setupSchema = "evaluation/1"
)

// Head is the subject of an evaluation and its spending, in a setup and in its result.
type Head struct {
	Schema    string `json:"schema"`
	Benchmark string `json:"benchmark"`
	Model     string `json:"model"`
	Policy    string `json:"policy"`
	Used      string `json:"policy_used,omitempty"` // in its place, since no gain was foreseen; "": itself
	Budget    int    `json:"budget"`                // b, average rollouts per task; with a Stop what was planned
	Stop      *Stop  `json:"stop,omitempty"`
	Seed      uint64 `json:"seed"`
	Coupled   bool   `json:"coupled,omitempty"` // seeds of rollouts are the same for every model
}

// Setup describes an evaluation. It is fixed before the first request.
type Setup struct {
	Head
	Design  Design   `json:"design"`
	TaskIDs []string `json:"task_ids"`

	// Shares is the weight of each task in the mean; none where all are alike.
	Shares []float64 `json:"shares,omitempty"`
	// Clusters is the cluster of each task, those of which are no independent sample of
	// tasks; none where every task is its own.
	Clusters []string      `json:"clusters,omitempty"`
	Suite    []Part        `json:"suite,omitempty"` // the benchmarks, where there are several
	Price    *ledger.Price `json:"price,omitempty"`
	PassK    []int         `json:"pass_k,omitempty"` // numbers k of pass@k and pass^k
	Donors   []Donor       `json:"donors,omitempty"`
	Extends  *Extends      `json:"extends,omitempty"`

	// Asked is all that rollouts depend on besides their seeds, by name: the
	// digest of the prompts, the model and how it is sampled.
	Asked map[string]string `json:"asked"`
}

// Design is how the budget is divided. Under Uniform the pilot is all there is.
type Design struct {
	Pilots    int           `json:"pilots"`              // m
	Weight    float64       `json:"weight"`              // w, of the pilot, or of the evaluation that is extended
	Fractions []float64     `json:"fractions,omitempty"` // of what is left, by stage after the pilot; none: all of it, in two stages
	Rounds    int           `json:"rounds,omitempty"`    // through all tasks, that all stages may take; 0: any number
	Risk      *float64      `json:"risk"`                // variance relative to Uniform's that the prior expects; null under Uniform
	FreeRisk  *float64      `json:"free_risk,omitempty"` // the same without floors; null where there are none
	Cells     []staged.Cell `json:"cells,omitempty"`     // the benchmarks of a suite, with their floors; none: no floors
	Scores    []float64     `json:"scores,omitempty"`    // by task, by which what is left is divided; none: what the evaluation finds
	Source    string        `json:"source"`              // its file in the output folder, or what else it follows from
}

// Part is a benchmark of a suite.
type Part struct {
	Benchmark string  `json:"benchmark"`
	Weight    float64 `json:"weight"` // in the mean, of all together 1
	First     int     `json:"first"`  // its first task
	Tasks     int     `json:"n_tasks"`

	// What came of it, in a result.
	Estimate      float64    `json:"estimate,omitempty"`
	StandardError float64    `json:"standard_error,omitempty"`
	Interval      [2]float64 `json:"interval"` // 95%
	Rollouts      int        `json:"rollouts,omitempty"`
}

// Donor holds another evaluation's, or a profile's, counts of the tasks.
type Donor struct {
	Name   string `json:"name"`   // benchmark and model
	Source string `json:"source"` // where it is
	Same   bool   `json:"same"`   // it is of the same model
	Counts
	// Fixed is the parts of it whose numbers of rollouts were decided before any of them,
	// by which a test finds whether the model has changed; none where rewards are graded.
	Fixed []Counts `json:"fixed,omitempty"`
}

// Counts are rollouts by task.
type Counts struct {
	Passes   []int `json:"passes"`   // rounded where rewards are graded
	Rollouts []int `json:"rollouts"` // 0 of a task that is not there
}

// Name of the evaluation among those of its benchmark and model.
func (s *Setup) Name() string {
	spent := fmt.Sprintf("b%d", s.Budget)
	if s.Stop != nil {
		spent = s.Stop.name()
	}
	if s.Coupled {
		spent += "-coupled"
	}
	if s.Extends != nil {
		after := strings.TrimSuffix(s.Extends.Name, fmt.Sprintf("-seed%d", s.Seed))
		spent += "-after-" + strings.TrimPrefix(after, s.Policy+"-")
	}
	return fmt.Sprintf("%s-%s-seed%d", s.Policy, spent, s.Seed)
}

// FullName of the evaluation in an output folder.
func (s *Setup) FullName() string { return s.Benchmark + "/" + s.Model + "/" + s.Name() }

// Path of the evaluation in an output folder.
func (s *Setup) Path(out string) string {
	return filepath.Join(out, Folder, "benchmark="+url.PathEscape(s.Benchmark), "model="+url.PathEscape(s.Model), s.Name())
}

// execution is the execution of the policy that is used.
func (s *Setup) execution() (*policy.Execution, error) {
	return policy.FindExecution(cmp.Or(s.Used, s.Policy))
}

// ReadSetup reads the setup in the folder of an evaluation, which must be the one that it has
// begun with; fs.ErrNotExist is in the error if there is none.
func ReadSetup(folder string) (*Setup, error) {
	path := filepath.Join(folder, setupFile)
	m, err := readManifest(folder)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err != nil && !m.complete() {
		return nil, err
	}
	text, err := m.read(folder, setupFile, "put back what it was, or take another --seed; the design and the tasks of an evaluation never change")
	if err != nil {
		return nil, err
	}
	var s Setup
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", path, err, restoreAdvice)
	}
	return &s, s.checkSchema(path, setupSchema)
}

// checkSchema is an error unless a stored setup or result has the schema that this program writes.
func (h *Head) checkSchema(path, schema string) error {
	if h.Schema != schema {
		return fmt.Errorf("%s has the schema %q, want %q: it was made by another version of speceval", path, h.Schema, schema)
	}
	return nil
}

// Check says what is wrong with a setup, if anything.
func (s *Setup) Check() error {
	own, err := s.execution()
	d, tasks := s.Design, len(s.TaskIDs)
	switch {
	case err != nil:
	case tasks < 2:
		err = fmt.Errorf("%d tasks, want at least 2", tasks)
	case s.Budget < 2 || s.Budget > design.MostBudget:
		err = fmt.Errorf("a budget of %d rollouts per task, want 2 to %d", s.Budget, design.MostBudget)
	case !s.fits(tasks):
		err = fmt.Errorf("shares, clusters, donors or earlier stages that are not those of %d tasks", tasks)
	case s.Price.Check() != nil:
		err = s.Price.Check()
	case s.Stop != nil && (!(s.Stop.Dollars >= 0 && s.Stop.Dollars < 1e9) || s.Stop.Dollars > 0 && s.Stop.Tokens > 0):
		err = fmt.Errorf("limits of %d tokens and %v dollars: want one of the two", s.Stop.Tokens, s.Stop.Dollars)
	case own.Donors != (len(s.Donors) > 0):
		err = fmt.Errorf("%s with %d donors", s.Policy, len(s.Donors))
	case own.Uniform() && (s.Extends != nil || s.Stop != nil && (s.Used == "" || *s.Stop != Stop{Rollouts: s.Stop.Rollouts})):
		err = errors.New("uniform neither extends an evaluation nor stops by what it finds")
	case s.Extends != nil && s.Limit() > 0:
		err = errors.New("an evaluation that extends another one has no limit on tokens or dollars")
	case own.Uniform() && (d.Pilots != s.Budget || d.Weight != 1):
		err = fmt.Errorf("a pilot of %d with weight %v under uniform, want all %d rollouts with weight 1", d.Pilots, d.Weight, s.Budget)
	case s.Extends == nil && !own.Uniform() && (d.Pilots < 1 || d.Pilots >= s.Budget || !(d.Weight > 0 && d.Weight < 1)):
		err = fmt.Errorf("a pilot of %d rollouts with weight %v does not fit a budget of %d", d.Pilots, d.Weight, s.Budget)
	}
	if err != nil {
		return err
	}
	for _, k := range s.PassK {
		switch least := s.Floor(d.Pilots); {
		case k < 1 || k > estimate.MostK:
			return fmt.Errorf("pass^k for k = %d: want 1 to %d", k, estimate.MostK)
		case d.Pilots == s.Budget && k > s.Budget:
			return fmt.Errorf("pass^%d by %d rollouts of each task: want a budget of %d at least", k, s.Budget, k)
		case d.Pilots < s.Budget && least > s.Budget-d.Pilots:
			return fmt.Errorf("pass^%d takes %d rollouts of every task after a pilot of %d: want a budget of %d at least", k, least, d.Pilots, least+d.Pilots)
		}
	}
	return nil
}

// fits reports whether a setup, which a caller of the protocol may have made, holds for each
// of its tasks what it holds for any, in counts that an evaluation can have.
func (s *Setup) fits(tasks int) bool {
	most := design.MostBudget * tasks
	ok := s.Design.Rounds >= 0 && s.Design.Rounds <= most && len(s.Design.Scores)%tasks == 0 && len(s.Design.Scores) <= tasks
	for _, d := range s.Donors {
		for _, c := range append(slices.Clone(d.Fixed), d.Counts) {
			ok = ok && len(c.Passes) == tasks && len(c.Rollouts) == tasks
		}
	}
	if s.Extends != nil {
		ok = ok && len(s.Extends.Stages) == tasks
		for _, stages := range s.Extends.Stages {
			weight := 0.0
			for _, x := range stages {
				weight += x.Weight
				most -= x.Rollouts
				ok = ok && x.Rollouts >= 0 && most >= 0 && (x.Rollouts > 0 || x.Weight == 0) && x.Rewards >= 0 && x.Rewards <= float64(x.Rollouts)
			}
			ok = ok && math.Abs(weight-1) <= 1e-6
		}
	}
	return ok && len(s.Shares)%tasks == 0 && len(s.Shares) <= tasks && len(s.Clusters)%tasks == 0 && len(s.Clusters) <= tasks
}

// Keep writes the setup into the folder of an evaluation where there is none, and
// otherwise reports whether it is the one that is there.
func (s *Setup) Keep(folder string) error {
	s.Schema = setupSchema
	if err := s.Check(); err != nil {
		return fmt.Errorf("the evaluation %s: %w", folder, err)
	}
	there, err := ReadSetup(folder)
	switch {
	case err == nil:
		return there.Matches(s)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	p := part{setupFile, func(w io.Writer) error { return atomicfile.EncodeJSON(w, s) }}
	f, err := p.record(io.Discard)
	if err == nil {
		err = newManifest("", f).write(folder) // its hash first
	}
	if err == nil {
		err = new(manifest).writeParts(folder, []part{p})
	}
	return err
}

// Matches is nil if another setup is of the same name and its rollouts would be the same.
func (s *Setup) Matches(other *Setup) error {
	if s.FullName() != other.FullName() || s.Design.Rounds != other.Design.Rounds || !reflect.DeepEqual(s.Stop, other.Stop) {
		return fmt.Errorf("the folder has the evaluation %s, not %s: move it away, or name another folder", s.FullName(), other.FullName())
	}
	err := s.alike(other)
	if err == nil && s.Limit() != other.Limit() {
		err = errors.New("with another --price, which limits it")
	}
	if err != nil {
		return fmt.Errorf("evaluation %s of %s with %s has begun %w: put that back, or take another --seed", s.Name(), s.Benchmark, s.Model, err)
	}
	return nil
}

// alike is nil if rollouts of another setup would be the same, whatever limits them. The error
// goes on from "has begun".
func (s *Setup) alike(other *Setup) error {
	switch {
	case !slices.Equal(s.TaskIDs, other.TaskIDs):
		return fmt.Errorf("with other tasks (%d, now %d)", len(s.TaskIDs), len(other.TaskIDs))
	case !reflect.DeepEqual(s.Donors, other.Donors) && len(s.Donors)+len(other.Donors) > 0:
		return fmt.Errorf("knowing other donors (%s, now %s)", cmp.Or(strings.Join(Sources(s.Donors), ", "), "none"), cmp.Or(strings.Join(Sources(other.Donors), ", "), "none"))
	case !slices.Equal(s.PassK, other.PassK):
		return fmt.Errorf("with --pass-k %v, now %v, which decides on allocations", s.PassK, other.PassK)
	case !slices.Equal(s.Shares, other.Shares) || !slices.Equal(s.Clusters, other.Clusters):
		return errors.New("with other weights or clusters of its tasks")
	case !slices.Equal(s.Design.Cells, other.Design.Cells):
		return errors.New("with another --floor")
	case s.PromptWeight() != other.PromptWeight():
		return errors.New("with another --price, which limits it")
	}
	if key := s.Differs(other); key != "" {
		return fmt.Errorf("with other %s (%.24s, now %.24s)", key, s.Asked[key], other.Asked[key])
	}
	return nil
}

// Differs is the first key of what is asked in which another evaluation differs; "": none.
func (s *Setup) Differs(other *Setup) string {
	for _, key := range slices.Sorted(maps.Keys(s.Asked)) {
		if s.Asked[key] != other.Asked[key] {
			return key
		}
	}
	return ""
}

// Sources are where donors come from, for messages.
func Sources(donors []Donor) (all []string) {
	for _, d := range donors {
		all = append(all, d.Source)
	}
	return all
}

// Priors are the priors that know the setup's donors, of some benchmarks; none: of all.
// Without donors they are the reference prior in the form of policies in stages.
func (s *Setup) Priors(of ...Part) (all informed.Suite, err error) {
	if len(of) == 0 {
		of = s.Suite
	}
	if len(of) == 0 {
		of = []Part{{Tasks: len(s.TaskIDs)}}
	}
	for _, p := range of {
		var donors []informed.Donor
		for _, d := range s.Donors {
			own := informed.Donor{Name: d.Source, Passes: d.Passes[p.First : p.First+p.Tasks], Rollouts: d.Rollouts[p.First : p.First+p.Tasks]}
			if slices.Max(own.Rollouts) > 0 {
				donors = append(donors, own)
			}
		}
		prior, fault := informed.New(p.Tasks, donors)
		all, err = append(all, prior), errors.Join(err, fault)
	}
	return all, err
}

// estimate is the mean over the tasks of some benchmarks; none: of all.
func (s *Setup) estimate(reference *neyman.Prior, tasks []estimate.Task, of ...Part) (estimate.Mean, error) {
	if len(s.Donors)+len(s.Suite) == 0 {
		return estimate.Of(reference, tasks)
	}
	known, err := s.Priors(of...)
	if err != nil {
		return estimate.Mean{}, err
	}
	return estimate.Of(reference, tasks, known...)
}

// Controller is the policy, ready to begin, after the evaluation that the setup extends if
// there is one. Without ahead, or where rollouts or tokens are limited, nothing is submitted
// before it is selected. used returns what a task's first rollouts have taken, and small hears
// of a limit that is too small; only a Stop by tokens needs them.
func (s *Setup) Controller(reference *neyman.Prior, ahead bool, used func(task, rollouts int) ledger.Used, small func(least int64)) (*controller.Controller, error) {
	own, err := s.execution()
	if err != nil {
		return nil, err
	}
	d, tasks := s.Design, len(s.TaskIDs)
	c := controller.Settings{Policy: own.Controller, Tasks: tasks, Budget: s.Budget, Pilots: d.Pilots, TaskShares: s.Shares}
	// Where a limit counts what is submitted, nothing is submitted that has not been selected:
	// what it takes depends on time.
	capped := s.Stop != nil && (s.Stop.Rollouts > 0 || s.Stop.Tokens > 0 || s.Stop.Dollars > 0)
	if c.Policy == controller.Async && (!ahead || capped) {
		c.Policy = controller.Sync
	}
	if own.Uniform() {
		return controller.New(c)
	}
	c.Weight, c.Fractions, c.Order = d.Weight, d.Fractions, coupled.Ranks(s.TaskIDs, s.Seed)
	c.Least, c.Rounds, c.Cells = s.Floor(d.Pilots), d.Rounds, d.Cells
	c.Prior = controller.Cold(reference)
	if priors, err := s.Priors(); err != nil {
		return nil, err
	} else if len(s.Donors)+len(s.Suite) > 0 || len(d.Fractions) > 1 { // not the paper's two stages
		c.Prior = controller.Informed(priors...)
	}
	if d.Scores != nil {
		c.Prior = controller.Given(d.Scores)
	}
	if s.Extends != nil {
		c.Past = s.Extends.past()
		c.Left = tasks*s.Budget - c.Past.Rollouts()
	}
	if s.Stop != nil {
		c.Remaining = s.remaining(used, small)
	}
	return controller.New(c)
}
