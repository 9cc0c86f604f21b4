package systems

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/internal/atomicfile"
	"speceval/internal/coupled"
	"speceval/internal/fleet/virtual"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/router"
	"speceval/internal/rowfile"
	"speceval/internal/seed"
	"speceval/method/controller"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// setting is a pair at a budget: what strategies are compared in.
type setting struct {
	*Settings
	pair   pair.Pair
	budget int // b
}

// execution is one run of a strategy.
type execution struct {
	*setting
	plan
	profile  profile.Profile
	digest   string // that coupled rewards follow from
	strategy *policy.Strategy
	repeat   int

	rewards   string // measurement.Coupled or measurement.Scored
	replicate int    // of the identities: 0 under coupled rewards, else the run's own

	inStages  *inStages // nil: the two stages of the plan, under the reference prior
	lengthsAt seed.Seed // the lengths of simulated answers are drawn from; zero: by the strategy
}

// executions lists the runs of a setting in the order in which they are made.
// Without a plan there are none.
// The order of strategies is drawn once for a profile; every repeat begins it
// with another one, so that none always comes first.
func (s *setting) executions(job *dag.Job, p *plan, repeats int) ([]execution, error) {
	if p == nil {
		return nil, nil
	}
	known, err := s.pair.Profile(job)
	if err != nil {
		return nil, err
	}
	order := slices.Clone(policy.Strategies)
	random := s.seed().Child("order").Stream()
	for i := len(order) - 1; i > 0; i-- {
		j := int(random.Float64() * float64(i+1))
		order[i], order[j] = order[j], order[i]
	}
	var all []execution
	for repeat := range repeats {
		for k := range order {
			all = append(all, execution{
				setting: s, plan: *p, profile: known, digest: s.Releases.Digest(known),
				strategy: order[(k+repeat)%len(order)], repeat: repeat, rewards: measurement.Coupled,
			})
		}
	}
	return all, nil
}

// seed is the branch of the seed tree of the setting's pair.
func (s *setting) seed() seed.Seed {
	return seed.Root(s.Seed).Child(name).Child(s.pair.Benchmark).Child(s.pair.Model)
}

// accepts is the budget that the run spends, b or the equivalent one.
func (e execution) accepts() int {
	if e.strategy.Equivalent {
		return e.Equivalent
	}
	return e.budget
}

// controller is the policy, ready to begin.
func (e execution) controller() (*controller.Controller, error) {
	s := controller.Settings{
		Policy: e.strategy.Controller, Tasks: e.profile.N(), Budget: e.accepts(), Pilots: min(e.Pilots, e.accepts()),
		Late: e.AsPublished,
	}
	switch {
	case !e.strategy.HasPilot():
		return controller.New(s)
	case e.inStages != nil:
		p := e.inStages.plan
		s.Weight, s.LeaveOneOut, s.Fractions, s.Prior = p.Weight, p.LeaveOneOut, p.Fractions, e.inStages.prior
	default:
		prior, err := neyman.NewPrior(e.QuadratureOrder)
		if err != nil {
			return nil, err
		}
		s.Prior = controller.Cold(prior)
	}
	s.Order = coupled.Ranks(e.profile.TaskIDs, e.Seed)
	return controller.New(s)
}

// run executes the strategy on an engine, under these rewards.
func (e execution) run(ctx context.Context, engine router.Engine, reward func(controller.ID) bool) (outcome, error) {
	ctl, err := e.controller()
	if err != nil {
		return outcome{}, err
	}
	record, err := router.Run(ctx, router.Settings{
		Controller: ctl, Engine: engine, Reward: router.PassFail(reward), Sparse: e.AsPublished,
	})
	if err != nil {
		return outcome{}, err
	}
	return outcome{e, record}, nil
}

// outcome is an execution and what came of it.
type outcome struct {
	execution
	record *router.Record
}

// identities names the run's rollouts. Under coupled rewards strategies of a
// setting share them, but for the equivalent budget, which is a setting of its
// own; under real ones every run has its own.
func (e execution) identities() coupled.Identities {
	p := coupled.Protocol{
		Profile: e.digest, Budget: e.accepts(), Pilots: e.Pilots, Seed: e.Seed, Sampling: e.Sampling(e.profile.Model),
	}
	if e.strategy.Equivalent {
		p.Reference = e.budget
	}
	return coupled.NewIdentities(p.Fingerprint(), e.profile.TaskIDs, e.Seed).Replicate(e.replicate)
}

// runs are the good runs of a unit so far, in its scratch folder: what has been
// measured is never measured again because of another run.
type runs struct {
	dir string
}

func openRuns(job *dag.Job) (*runs, error) {
	dir, err := job.Scratch()
	return &runs{dir}, err
}

// voidsFile lists the void runs, a line each.
const voidsFile = "void.txt"

func (r *runs) path(e execution, what string) string {
	return filepath.Join(r.dir, fmt.Sprintf("repeat=%d.%s.%s.parquet", e.repeat, e.strategy.Name, what))
}

// read is a run that was kept. The error says that it is not there, whole.
func (r *runs) read(e execution) (measurement.Run, []measurement.Request, error) {
	rows, _, err := rowfile.ReadFile[measurement.Run](r.path(e, "run"))
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("%s has %d rows, want 1", r.path(e, "run"), len(rows))
	}
	if err != nil {
		return measurement.Run{}, nil, err
	}
	requests, _, err := rowfile.ReadFile[measurement.Request](r.path(e, "requests"))
	return rows[0], requests, err
}

// missing are the runs that are not there, or of another provenance.
func (r *runs) missing(all []execution, provenance string) []execution {
	return slices.DeleteFunc(slices.Clone(all), func(e execution) bool {
		row, _, err := r.read(e)
		return err == nil && row.Provenance == provenance
	})
}

// complete reports whether all runs are there, of one provenance.
func (r *runs) complete(all []execution) bool {
	row, _, err := r.read(all[0])
	return err == nil && len(r.missing(all, row.Provenance)) == 0
}

// keep stores a run, its requests first: the run itself says that all is there.
func (r *runs) keep(e execution, row measurement.Run, requests []measurement.Request) error {
	err := atomicfile.Write(r.path(e, "requests"), func(w io.Writer) error { return rowfile.Write(w, requests, nil) })
	if err != nil {
		return err
	}
	return atomicfile.Write(r.path(e, "run"), func(w io.Writer) error { return rowfile.Write(w, []measurement.Run{row}, nil) })
}

// void notes a run that was void, as why says.
func (r *runs) void(now time.Time, why error) error {
	f, err := os.OpenFile(filepath.Join(r.dir, voidsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("note a void run: %w", err)
	}
	line := strings.Join(strings.Fields(why.Error()), " ")
	_, err = fmt.Fprintf(f, "%s %s\n", now.UTC().Format(time.RFC3339), line)
	return errors.Join(err, f.Close())
}

// assemble makes the outputs of all runs, which must be there, of one
// provenance.
func (r *runs) assemble(job *dag.Job, s *setting, kind string, all []execution) error {
	var rows []measurement.Run
	var requests []measurement.Request
	for _, e := range all {
		row, more, err := r.read(e)
		if err != nil {
			return err
		}
		rows, requests = append(rows, row), append(requests, more...)
	}
	job.Provenance(rows[0].Provenance)
	if err := r.noteVoids(job); err != nil {
		return err
	}
	if err := writeRows(job, s.requestsFile(kind), requestSchema, requests); err != nil {
		return err
	}
	return writeRows(job, s.runsFile(kind), measurement.RunSchema, rows)
}

// noteVoids puts the void runs into the manifest.
func (r *runs) noteVoids(job *dag.Job) error {
	text, err := os.ReadFile(filepath.Join(r.dir, voidsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	job.Note("void runs that were made again:\n%s", strings.TrimSpace(string(text)))
	return nil
}

// Simulated is the simulated fleet.
type Simulated struct {
	Repeats int        // executions of every strategy in a setting
	Source  dag.Source // what it was calibrated by
	// Knows reports whether it has been calibrated for a pair.
	Knows func(p pair.Pair) bool
	// Worker is a worker that serves a profile's model at an average budget, the
	// lengths of its answers drawn from a branch of the seed tree.
	Worker func(p profile.Profile, budget int, lengths seed.Seed) (virtual.Settings, error)
}

// simulatedSeconds is what a repeat of a setting takes of one core, as measured
// in a run of the shipped experiment.
const simulatedSeconds = 0.02

// simulatedUnit executes the setting under a virtual clock.
func (s *setting) simulatedUnit() dag.Unit {
	u := dag.Unit{
		ID:         simulatedKind + "/" + s.id(),
		Config:     s.config("systems.repeats"),
		Seed:       s.seed().Label(),
		Sources:    []dag.Source{s.Simulated.Source},
		Needs:      []dag.Ref{plansRef},
		Outputs:    []string{s.runsFile(simulatedKind), s.requestsFile(simulatedKind)},
		Provenance: measurement.Simulated,
		Run:        s.simulate,
		Cost:       simulatedSeconds * float64(s.Simulated.Repeats),
	}
	s.feed(&u)
	return u
}

// simulate is the unit. Of requests it keeps those of the first repeat: the
// others come out again from the seed.
func (s *setting) simulate(ctx context.Context, job *dag.Job) error {
	p, err := s.plan(job)
	if err != nil {
		return err
	}
	all, err := s.executions(job, p, s.Simulated.Repeats)
	if err != nil {
		return err
	}
	var runs []measurement.Run
	var requests []measurement.Request
	for _, e := range all {
		o, err := e.simulate(ctx)
		if err != nil {
			return fmt.Errorf("%s, repeat %d: %w", e.strategy.Name, e.repeat, err)
		}
		runs = append(runs, o.row(measurement.Simulated))
		if e.repeat == 0 {
			requests = append(requests, o.requests(false)...)
		}
	}
	if err := writeRows(job, s.requestsFile(simulatedKind), requestSchema, requests); err != nil {
		return err
	}
	return writeRows(job, s.runsFile(simulatedKind), measurement.RunSchema, runs)
}

// simulate executes the strategy on a simulated worker. Lengths are drawn anew
// for every execution, as servers would make them.
func (e execution) simulate(ctx context.Context) (outcome, error) {
	lengths := e.lengthsAt
	if lengths == (seed.Seed{}) {
		lengths = e.seed().Index(e.budget).Child(e.strategy.Name).Index(e.repeat)
	}
	settings, err := e.Simulated.Worker(e.profile, e.accepts(), lengths)
	if err != nil {
		return outcome{}, err
	}
	engine, err := virtual.New(settings)
	if err != nil {
		return outcome{}, err
	}
	o, err := e.run(ctx, engine, e.coupledRewards())
	if err != nil {
		return o, err
	}
	return o, o.check()
}
