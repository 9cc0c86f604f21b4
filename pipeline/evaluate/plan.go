package evaluate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"speceval/internal/evaluation"
	"speceval/internal/inputfile"
	"speceval/method/design"
	"speceval/method/estimate"
)

// Goal is what an evaluation is to spend or to reach: one of its numbers is not 0.
type Goal struct {
	Budget   int     // rollouts per task on average
	TargetSE float64 // standard error at most
	Resolve  float64 // difference that two such evaluations find four times in five
	From     string  // stored evaluation of the tasks to forecast by; "": the prior

	MostRollouts int   // in all; 0: no limit
	MostTokens   int64 // of answers that count, in all; 0: no limit
	Known
}

// Plan is an evaluation before anything is spent.
type Plan struct {
	Benchmark string `json:"benchmark"`
	Tasks     int    `json:"n_tasks"`
	Prompts   string `json:"prompts_sha256"` // of what is asked
	From      string `json:"from"`           // what is known of the tasks

	Target   *float64 `json:"target_se"` // null where the budget was given
	Resolves float64  `json:"resolves"`  // difference of two such evaluations that is found four times in five

	Budget        int     `json:"budget"` // rollouts per task
	Pilots        int     `json:"pilots"`
	Rollouts      int     `json:"rollouts"`
	StandardError float64 `json:"standard_error"` // expected
	UniformBudget int     `json:"uniform_budget"` // of Uniform with that standard error
	Uniform       int     `json:"uniform_rollouts"`
}

// Text writes the plan for people.
func (p *Plan) Text(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%s, %d tasks, by %s

  budget          %d rollouts per task, %d in all; a pilot of %d each
  standard error  %.4f expected; a difference of %.4f between two such evaluations is
                  found four times in five
  Uniform         needs %d rollouts per task for this error, %d in all

speceval evaluate --benchmark %s --budget %d --model …
`, p.Benchmark, p.Tasks, p.From, p.Budget, p.Rollouts, p.Pilots, p.StandardError, p.Resolves, p.UniformBudget, p.Uniform, p.Benchmark, p.Budget)
	return err
}

// Plan finds the least budget that reaches the goal, or what the budget of the
// goal comes to. estimate.ErrTooPrecise is in the error if no budget reaches it.
func (b *Benchmark) Plan(ctx context.Context, g Goal) (*Plan, error) {
	donors, err := b.donors(g.Known, "", 0)
	if err != nil {
		return nil, err
	}
	return b.plan(ctx, g, donors)
}

func (b *Benchmark) plan(ctx context.Context, g Goal, donors []evaluation.Donor) (*Plan, error) {
	planner, source, err := b.planner(g.From, donors)
	if err != nil {
		return nil, err
	}
	target, err := g.standardError()
	if err != nil {
		return nil, err
	}
	p := &Plan{Benchmark: b.tasks.ID, Tasks: planner.Tasks, Prompts: b.tasks.Prompts().SHA256, From: source}
	var e estimate.Expectation
	if target > 0 {
		p.Target = &target
		e, err = planner.Least(ctx, target)
	} else if err = checkBudget(g.Budget); err == nil {
		e, err = planner.Expect(ctx, g.Budget)
	}
	if err != nil {
		return nil, err
	}
	p.Budget, p.Pilots, p.Rollouts, p.StandardError = e.Budget, e.Pilots, e.Budget*p.Tasks, e.StandardError
	p.Resolves, p.UniformBudget, p.Uniform = estimate.ResolvedByEach(e.StandardError), e.UniformBudget, e.UniformBudget*p.Tasks
	return p, nil
}

// planner forecasts evaluations of the benchmark by a stored one, or by the prior
// if none is named. source says which.
func (b *Benchmark) planner(from string, donors []evaluation.Donor) (p estimate.Planner, source string, err error) {
	p = estimate.Planner{Tasks: len(b.tasks.Tasks), Seed: designSeed}
	switch {
	case from != "" && len(donors) > 0:
		return p, "", requestf("--from or --prior, not both: an evaluation that is a donor is planned by, too")
	case from == "" && len(donors) > 0:
		var names []string
		for _, d := range donors {
			names = append(names, d.Source)
		}
		known := evaluation.Setup{TaskIDs: make([]string, p.Tasks), Donors: donors}
		p.Informed, err = known.Informed()
		return p, "what is known from " + brief(names), err
	case from == "":
		p.InStages = true
		return p, "the reference prior", nil
	}
	stored, err := b.archive().Stored(from)
	if err != nil {
		return p, "", requestf("--from: %w", err)
	}
	r, folder := stored.Result, stored.Folder
	if err := b.sameTasks(r); err != nil {
		return p, "", requestf("--from %s: %w", folder, err)
	}
	p.Prior = b.prior
	p.Earlier, err = r.Update(b.prior)
	return p, folder, err
}

// standardError is that of an evaluation that reaches the goal; 0 if the goal is
// a budget.
func (g Goal) standardError() (float64, error) {
	switch {
	case g.TargetSE != 0 && g.Resolve != 0:
		return 0, requestf("--target-se or --resolve, not both")
	case g.TargetSE < 0 || g.TargetSE >= 0.5 || math.IsNaN(g.TargetSE):
		return 0, requestf("--target-se %v: want a number between 0 and 0.5", g.TargetSE)
	case g.Resolve < 0 || g.Resolve >= 1 || math.IsNaN(g.Resolve):
		return 0, requestf("--resolve %v: want a difference between 0 and 1", g.Resolve)
	case g.Resolve > 0:
		return estimate.ResolvingEach(g.Resolve), nil
	}
	return g.TargetSE, nil
}

func checkBudget(budget int) error {
	if budget < 2 || budget > design.MostBudget {
		return requestf("--budget %d: want 2 to %d rollouts per task, one for the pilot and one for the continuation at least", budget, design.MostBudget)
	}
	return nil
}

// spending is the budget that a request names or leads to, and what decides on the rest
// of the rollouts at barriers; nil if nothing does.
func (b *Benchmark) spending(ctx context.Context, r Request, donors []evaluation.Donor, say func(string)) (int, *evaluation.Stop, error) {
	given := 0
	for _, is := range []bool{r.Budget != 0, r.TargetSE != 0, r.Resolve != 0, r.Plan != ""} {
		if is {
			given++
		}
	}
	capped := r.MostRollouts != 0 || r.MostTokens != 0
	switch {
	case r.MostRollouts < 0 || r.MostTokens < 0:
		return 0, nil, requestf("--max-rollouts %d --max-tokens %d: want positive numbers", r.MostRollouts, r.MostTokens)
	case given > 1 || given == 0 && !capped:
		return 0, nil, requestf("say what to spend, in one way: --budget, --target-se, --resolve, --plan, or --max-rollouts or --max-tokens")
	case capped && (r.Plan != "" || r.Budget != 0):
		return 0, nil, requestf("--max-rollouts and --max-tokens limit a --target-se, or stand alone: a budget is spent whole")
	case r.Plan != "":
		budget, err := b.plannedBudget(r.Plan)
		return budget, nil, err
	case r.Budget != 0:
		return r.Budget, nil, checkBudget(r.Budget)
	}
	stop := &evaluation.Stop{Rollouts: r.MostRollouts, Tokens: r.MostTokens}
	tasks := len(b.tasks.Tasks)
	if least := 2 * tasks; r.MostRollouts != 0 && r.MostRollouts < least {
		return 0, nil, requestf("--max-rollouts %d: %d tasks take %d at least, one in the pilot and one after it", r.MostRollouts, tasks, least)
	}
	budget := unplanned
	if given > 0 {
		p, err := b.plan(ctx, r.Goal, donors)
		if err != nil {
			return 0, nil, err
		}
		stop.StandardError = fourDigits(*p.Target)
		say(fmt.Sprintf("a standard error of %.4g is expected to take %d rollouts per task; what is found decides", *p.Target, p.Budget))
		budget = p.Budget
	}
	if r.MostRollouts != 0 {
		budget = min(budget, r.MostRollouts/tasks)
		if given == 0 && r.MostTokens == 0 {
			budget = min(design.MostBudget, r.MostRollouts/tasks)
		}
	}
	return budget, stop, nil
}

// fourDigits is a positive number rounded down to four significant digits, as names have
// it.
func fourDigits(x float64) float64 {
	unit := math.Pow(10, 3-math.Floor(math.Log10(x)))
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(math.Floor(x*unit*(1+1e-12))/unit, 'g', 4, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// unplanned is the budget that an evaluation is planned for which tokens limit: how many
// rollouts they are is not known.
const unplanned = 16

// plannedBudget reads a budget from the file of a Plan, which must be of these
// tasks.
func (b *Benchmark) plannedBudget(path string) (int, error) {
	text, err := inputfile.Read(path, inputfile.Settings)
	if err != nil {
		return 0, requestf("--plan: %w", err)
	}
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return 0, requestf("--plan %s: %w: want what speceval evaluate plan --json writes", path, err)
	}
	if f := b.tasks; p.Benchmark != f.ID || p.Tasks != len(f.Tasks) {
		return 0, requestf("--plan %s is of %s with %d tasks, not of %s with %d", path, p.Benchmark, p.Tasks, f.ID, len(f.Tasks))
	}
	if p.Prompts != b.tasks.Prompts().SHA256 {
		return 0, requestf("--plan %s was made for other prompts of %s: make it again", path, p.Benchmark)
	}
	return p.Budget, checkBudget(p.Budget)
}
