package stored

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/store/group"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// ExperimentFile is where the report stores the facts of the experiment.
const ExperimentFile = "report/experiment.json"

// Experiment describes the experiment of the stored results. It is an output of the
// stage, so that a verdict depends on stored results alone and cannot hold
// one experiment against the numbers of another.
type Experiment struct {
	Published bool          `json:"published"` // the profiles are the paper's
	Budgets   []int32       `json:"budgets"`   // rollouts per task
	Profiles  []ProfileFact `json:"profiles"`
	Corpus    CorpusFact    `json:"corpus"`

	// CaseStudy is null where the profile of the case study is not evaluated.
	CaseStudy *CaseFact `json:"case_study"`

	// Compared are the tables that compare measured with predicted numbers.
	Compared []string `json:"compared,omitempty"`
}

// CorpusFact is the size of the corpus that the profiles count, those without
// variance included.
type CorpusFact struct {
	Tasks     int64 `json:"tasks"`     // of all benchmarks
	Responses int64 `json:"responses"` // rollouts of all tasks and models
}

// ProfileFact holds the report's facts about an evaluated profile.
type ProfileFact struct {
	Name    string `json:"name"` // "<benchmark>__model=<model>"
	NTasks  int32  `json:"n_tasks"`
	TestedK int    `json:"tested_k"`            // rollouts of each task, by which its probability is known; 0 if they differ
	Outside int64  `json:"tasks_outside_02_08"` // tasks with p outside [0.2, 0.8]
	SHA256  string `json:"sha256"`
}

// Find is the fact of a profile, nil where the experiment lacks it.
func (e Experiment) Find(name string) *ProfileFact {
	if i := slices.IndexFunc(e.Profiles, func(p ProfileFact) bool { return p.Name == name }); i >= 0 {
		return &e.Profiles[i]
	}
	return nil
}

// Facts is the facts that the report stored of the experiment.
var Facts = Once(ExperimentFile, func(s *Source) (e Experiment, err error) {
	path, err := s.locate(ExperimentFile)
	if err != nil {
		return e, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return Experiment{}, fmt.Errorf("%s: %w; run the report stage again", path, err)
	}
	return e, nil
})

// Has reports whether the experiment asks for a budget.
func (e Experiment) Has(budget int32) bool { return slices.Contains(e.Budgets, budget) }

// NewExperiment gathers the facts of the evaluated profiles, without those that
// turn out to be degenerate, and the size of the whole corpus.
func NewExperiment(s *Settings, compared []string, in Locate) (Experiment, error) {
	e := Experiment{Published: s.Published, Compared: compared}
	for _, b := range s.Budgets {
		e.Budgets = append(e.Budgets, int32(b))
	}
	counted := map[string]bool{} // benchmarks
	count := func(p profile.Profile) (outside int64) {
		if !counted[p.Benchmark] {
			counted[p.Benchmark] = true
			e.Corpus.Tasks += int64(p.N())
		}
		for i := range p.N() {
			e.Corpus.Responses += int64(p.Rollouts(i))
			if v := p.P(i); v < 0.2 || v > 0.8 {
				outside++
			}
		}
		return outside
	}
	for _, p := range s.LeftOut {
		count(p)
	}
	for _, pair := range s.Pairs {
		p, err := pair.ProfileIn(in)
		if err != nil {
			return e, err
		}
		outside := count(p)
		if p.Name() == s.CaseStudy.Profile {
			e.CaseStudy = &CaseFact{Benchmark: p.Benchmark, Model: p.Model, Budget: int32(s.CaseStudy.Budget),
				TestedK: p.TestedK, Tested: p.Tested, TaskIDs: p.TaskIDs, PassCounts: p.PassCounts}
		}
		if p.VarianceSum() > 0 {
			e.Profiles = append(e.Profiles, ProfileFact{Name: p.Name(), NTasks: int32(p.N()), TestedK: p.TestedK, Outside: outside, SHA256: p.SHA256()})
		}
	}
	return e, nil
}

// Units that the report is made of.
var (
	DesignsRef  = replay("designs")
	RatiosRef   = replay("ratios")
	SuiteRef    = replay("suite")
	TwoStageRef = replay("two_stage")
	SearchRef   = replay("ts_neyman")
	ErrorsRef   = replay("profile_errors")
	PairedRef   = replay("differences")
	CaseRef     = replay("case_study")

	RunsRef        = systems("runs")
	PredictionsRef = systems("predictions")
	BenefitRef     = systems("benefit")
	CostsRef       = systems("measurements")

	ExperimentRef = Own("experiment")
)

func replay(unit string) dag.Ref  { return dag.Ref{Stage: "replay", Unit: unit} }
func systems(unit string) dag.Ref { return dag.Ref{Stage: "systems", Unit: unit} }

// Own is a unit of the report: a table or a figure by its base name, or another.
func Own(unit string) dag.Ref { return dag.Ref{Stage: "report", Unit: unit} }

// Reads is the stored results that something is made of, in addition to the settings.
type Reads struct {
	Units    []dag.Ref // read as far as they have run
	Runs     bool      // the timed runs, as Costs gathers them
	Profiles bool      // the profiles of all pairs
	Case     bool      // the case study

	Architectures bool // the constants of the FLOP proxy
	Paper         bool // the paper's numbers, where the profiles are the paper's
}

// Feed makes what is read inputs of a unit, which may have some of them already.
func (r Reads) Feed(u *dag.Unit, s *Settings) {
	defer func() { u.Wants, u.Sources = once(u.Wants, u.Needs), once(u.Sources, nil) }()
	u.Wants = append(u.Wants, r.Units...)
	configure := func(key, value string) {
		if u.Config == nil {
			u.Config = map[string]string{}
		}
		u.Config[key] = value
	}
	if r.Architectures {
		u.Sources = append(u.Sources, SourceOf(ArchitecturesFile, s.Architectures))
	}
	if r.Paper {
		configure("report.paper_columns", strconv.FormatBool(s.Published))
		if s.Published {
			u.Sources = append(u.Sources, SourceOf(paper.File, s.Targets))
		}
	}
	if r.Case {
		configure("replay.case_study.profile", strconv.Quote(s.CaseStudy.Profile))
		configure("replay.case_study.budget", fmt.Sprint(s.CaseStudy.Budget))
		if s.HasCase() {
			u.Wants = append(u.Wants, ExperimentRef)
		}
		if s.HasEstimates() {
			u.Wants = append(u.Wants, CaseRef)
		}
	}
	if r.Runs && s.Published {
		configure("experiment.budgets", fmt.Sprint(s.Budgets))
		u.Sources = append(u.Sources, SourceOf(MeasurementsFile, s.Measurements))
	}
	if r.Runs && s.Systems {
		u.Wants = append(u.Wants, CostsRef)
	}
	if r.Profiles {
		pair.Feed(u, s.Pairs...)
	}
}

// once is each of the values once, without the ones that are there already.
func once[T comparable](values, there []T) (out []T) {
	for _, v := range values {
		if !slices.Contains(out, v) && !slices.Contains(there, v) {
			out = append(out, v)
		}
	}
	return out
}

// HasSuite reports whether a model has several benchmarks.
func (s *Settings) HasSuite() bool {
	return len(group.By(s.Pairs, func(p pair.Pair) string { return p.Model })) < len(s.Pairs)
}

// SourceOf is an input from outside the output folder, by its content.
func SourceOf(name string, data []byte) dag.Source {
	return dag.Source{Name: name, SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}
}

// CaseFact is the profile of the case study.
type CaseFact struct {
	Benchmark  string   `json:"benchmark"`
	Model      string   `json:"model"`
	Budget     int32    `json:"budget"`           // of the sampling distributions
	TestedK    int      `json:"tested_k"`         // 0 if tasks differ in it
	Tested     []int    `json:"tested,omitempty"` // of each task, if they differ
	TaskIDs    []string `json:"task_ids"`
	PassCounts []int    `json:"pass_counts"` // of each task
}

// Evaluated is the fact as a profile.
func (c CaseFact) Evaluated() profile.Profile {
	return profile.Profile{Benchmark: c.Benchmark, Model: c.Model, TestedK: c.TestedK, Tested: c.Tested, TaskIDs: c.TaskIDs, PassCounts: c.PassCounts}
}

// Case is the case study, as far as it is there: of no tasks where the experiment has none,
// or has not stored its facts.
func Case(s *Source) (c variance.Case, err error) {
	if !s.HasCase() {
		return c, nil
	}
	e, err := Facts(s)
	var absent *dag.AbsentError
	if errors.As(err, &absent) {
		return c, nil
	}
	ratios, noRatios := Ratios(s)
	var estimates []variance.Estimates
	if err = cmp.Or(err, noRatios); err == nil && s.HasEstimates() {
		estimates, err = Estimates(s)
	}
	if err == nil && e.CaseStudy == nil {
		err = fmt.Errorf("%s has no case study; run the report stage again", ExperimentFile)
	}
	if err != nil {
		return c, err
	}
	return variance.NewCase(e.CaseStudy.Evaluated(), e.CaseStudy.Budget, ratios, estimates), nil
}

// Timed is the timed runs of an experiment.
type Timed struct {
	Runs    []measurement.Measurement // published runs, and those of the systems stage
	Repeats []measurement.Repeat      // the executions behind those of the systems stage
	Drawn   bool                      // answers of measured runs had drawn lengths
}

// Costs gathers the runs that Tables 2 to 4 are made of: the published ones, where the
// profiles are the paper's, and those of the systems stage, where the experiment has one.
var Costs = Once("costs", func(s *Source) (costs Timed, err error) {
	if s.Published {
		if costs.Runs, err = publishedRuns(s.Settings); err != nil {
			return costs, err
		}
	}
	if !s.Systems {
		return costs, nil
	}
	path, err := s.there(measurement.File)
	if err != nil || path == "" {
		return costs, err
	}
	runs, footer, err := rowfile.ReadFile[measurement.Measurement](path)
	if err != nil {
		return costs, err
	}
	costs.Runs, costs.Drawn = append(costs.Runs, runs...), footer[measurement.LengthsKey] == measurement.LengthsDrawn
	if path, err = s.locate(measurement.RepeatsFile); err != nil {
		return costs, err
	}
	costs.Repeats, err = rowsOf[measurement.Repeat](path)
	return costs, err
})

// Groups is the runs in groups that have each of the strategies.
func Groups(s *Source, strategies ...string) ([]measurement.Group, error) {
	costs, err := Costs(s)
	if err != nil {
		return nil, err
	}
	return measurement.Groups(costs.Runs, costs.Repeats, strategies...)
}

// publishedRuns is the published runs of the experiment's budgets.
func publishedRuns(s *Settings) ([]measurement.Measurement, error) {
	if len(s.Measurements) == 0 {
		return nil, nil
	}
	all, err := measurement.Parse(s.Measurements, MeasurementsFile)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, p := range s.Pairs {
		wanted[p.Name()] = true
	}
	return slices.DeleteFunc(all, func(m measurement.Measurement) bool {
		return !slices.Contains(s.Budgets, int(m.ReferenceBudget)) || !wanted[m.Profile()]
	}), nil
}

// Folder finds the files of an output folder, for readers that are no unit.
func Folder(outDir string) Locate {
	return func(file string) (string, error) {
		path := filepath.Join(outDir, filepath.FromSlash(file))
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			stage, _, _ := strings.Cut(file, "/")
			return "", &dag.AbsentError{Output: file, Stage: stage}
		}
		return path, nil
	}
}
