package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/clock"
	"speceval/internal/profile"
	"speceval/internal/servers/serving"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/files"
	"speceval/internal/upstream"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/generate"
	"speceval/stages/score"
)

// profileStages is the pairs of benchmark and model that are evaluated, and the stages
// that make their profiles.
type profileStages struct {
	pairs     []pair.Pair       // sorted by benchmark, then model
	leftOut   []profile.Profile // known ones that cannot be evaluated
	published bool              // their profiles are the paper's
	generate  dag.Stage
	score     dag.Stage
	notes     []string // what the user should know of the profiles

	scoreNotes []string // and of scoring

	// close ends the servers that answer and judge; nil: there are none.
	close func(ctx context.Context) error
}

// publishedProfiles are the paper's, read once.
var publishedProfiles = sync.OnceValues(func() ([]profile.Profile, error) {
	return profile.Parse(data.Profiles(), data.ProfilesName)
})

// newProfileStages returns the stages that make the configured profiles.
func newProfileStages(cfg *config.Config, o Outside) (profileStages, error) {
	if cfg.Corpus.Source == config.SourceVLLM {
		return sampledProfiles(cfg, o)
	}
	return knownProfiles(cfg)
}

// knownProfiles returns stages with nothing to run, whose profiles stand in for
// rollouts: the paper's, or a file of the user's.
func knownProfiles(cfg *config.Config) (profileStages, error) {
	published, err := publishedProfiles()
	if err != nil {
		return profileStages{}, err
	}
	all, err := cfg.Profiles(published, data.ProfilesName)
	if err != nil {
		return profileStages{}, err
	}
	profiles, degenerate, err := profile.Evaluated(all)
	if err != nil {
		return profileStages{}, err
	}
	standIn := cfg.Corpus.StandIn(data.ProfilesName)
	c := profileStages{pairs: pair.AllKnown(profiles), leftOut: degenerate, generate: generate.Satisfied(standIn), score: score.Satisfied(standIn)}
	for _, p := range degenerate {
		c.notes = append(c.notes, p.Name()+" is left out: its variance is zero, every task passes always or never")
	}
	c.published, err = arePublished(profiles)
	return c, err
}

// arePublished reports whether profiles, evaluated ones, are exactly the
// paper's: only then do its numbers apply. Both are sorted.
func arePublished(profiles []profile.Profile) (bool, error) {
	all, err := publishedProfiles()
	if err != nil {
		return false, err
	}
	papers, _, err := profile.Evaluated(all)
	return slices.EqualFunc(profiles, papers, func(a, b profile.Profile) bool {
		return a.SHA256() == b.SHA256()
	}), err
}

// sampledProfiles is one whose rollouts are sampled from servers, and scored.
func sampledProfiles(cfg *config.Config, o Outside) (profileStages, error) {
	servers, judges := Servers(cfg, o), Judges(cfg, o)
	tasks, err := readTasks(cfg)
	if err != nil {
		return profileStages{}, err
	}
	sampled, err := generateSettings(cfg, servers, tasks)
	if err != nil {
		return profileStages{}, err
	}
	scored, notes, err := ScoreSettings(cfg, o, judges, tasks)
	if err != nil {
		return profileStages{}, err
	}
	stage, err := score.Stage(scored)
	if err != nil {
		return profileStages{}, err
	}
	pairs := score.Pairs(scored)
	slices.SortFunc(pairs, func(a, b pair.Pair) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model))
	})
	return profileStages{
		pairs: pairs, generate: generate.Stage(sampled), score: stage, scoreNotes: notes,
		close: func(ctx context.Context) error { return errors.Join(servers.Close(ctx), judges.Close(ctx)) },
	}, nil
}

// end ends the servers that rollouts are sampled from.
func (c profileStages) end(ctx context.Context) error {
	if c.close == nil {
		return nil
	}
	return c.close(ctx)
}

// generateSettings returns the settings of the generate stage.
func generateSettings(cfg *config.Config, servers *serving.Servers, tasks []TaskFile) (generate.Settings, error) {
	s := generate.Settings{
		Seed: cfg.Experiment.Seed, Rollouts: cfg.Corpus.RolloutsPerTask,
		Config: cfg.Asked("experiment.seed", "corpus.rollouts_per_task", "serving.version"),
		Clock:  clock.Wall{}, OnLoss: vllm.OnLoss(cfg.Serving.OnLoss),
	}
	costs, err := publishedCosts()
	if err != nil {
		return s, err
	}
	models := make(map[string]serving.Model)
	for _, m := range cfg.Models {
		served := ServedModel(cfg, m)
		served.Requires.Continues = Continues(cfg)
		models[m.ID] = served
		s.Models = append(s.Models, generate.Model{
			ID: m.ID, Sampling: Sampling(cfg, m), Config: ModelText(m),
			Expect: func(benchmark string, requests int) []dag.Quantity {
				return costs.expect(benchmark, m.ID, requests, cfg.Sampling.MaxTokens)
			},
		})
	}
	s.Servers = func(ctx context.Context, model string, drain <-chan struct{}) (generate.Servers, error) {
		served := models[model]
		served.Drain = drain
		return servers.Acquire(ctx, served)
	}
	for _, b := range tasks {
		s.Benchmarks = append(s.Benchmarks, generate.Benchmark{ID: b.ID, Tasks: b.Tasks, Source: b.Prompts()})
	}
	return s, nil
}

// TaskFile is the tasks of a benchmark and where they come from.
type TaskFile struct {
	ID    string // of the benchmark
	Path  string // or the name of the file that is built in
	Tasks []benchmark.Task
}

// ReadTasks reads the task file of a benchmark, or the one that is built in
// where the benchmark names none and there is none. The error is fs.ErrNotExist
// where there is neither.
func ReadTasks(cfg *config.Config, b config.Benchmark) (TaskFile, error) {
	prompts, err := Prompts(cfg)
	if err != nil {
		return TaskFile{}, err
	}
	return readTaskFile(b, taskPath(cfg, b), prompts)
}

// readTasks reads the task file of every benchmark of the experiment. The error
// names all that cannot be used.
func readTasks(cfg *config.Config) ([]TaskFile, error) {
	all, absent, err := findTasks(cfg)
	if len(absent) > 0 {
		err = errors.Join(err, fmt.Errorf("no task files %s: put them there, or name their folder in corpus.tasks, or each in tasks of its [[benchmark]]", strings.Join(absent, ", ")))
	}
	return all, err
}

// presentTasks reads the task files that are there.
func presentTasks(cfg *config.Config) ([]TaskFile, error) {
	all, _, err := findTasks(cfg)
	return all, err
}

// findTasks reads the task files that exist, and lists the absent ones.
func findTasks(cfg *config.Config) (all []TaskFile, absent []string, err error) {
	prompts, err := Prompts(cfg)
	if err != nil {
		return nil, nil, err
	}
	var faults []error
	for _, b := range cfg.Benchmarks {
		path := taskPath(cfg, b)
		read, err := readTaskFile(b, path, prompts)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			absent = append(absent, path)
		case err != nil:
			faults = append(faults, err)
		default:
			all = append(all, read)
		}
	}
	return all, absent, errors.Join(faults...)
}

// taskPath is where the task file of a benchmark is looked for.
func taskPath(cfg *config.Config, b config.Benchmark) string {
	return cmp.Or(b.Tasks, filepath.Join(cfg.Corpus.Tasks, b.ID+".jsonl"))
}

// readTaskFile is ReadTasks with the path and the prompts.
func readTaskFile(b config.Benchmark, path string, prompts *benchmark.Prompts) (TaskFile, error) {
	reader := benchmark.Reader{Prompts: prompts, Benchmark: b.ID}
	tasks, err := reader.Read(path)
	if builtIn, name, ok := data.BuiltIn(b.ID); ok && b.Tasks == "" && errors.Is(err, fs.ErrNotExist) {
		path = name
		tasks, err = reader.Parse(builtIn, path)
	}
	if err == nil {
		err = usable(b.ID, path, tasks)
	}
	if err != nil {
		return TaskFile{}, fmt.Errorf("benchmark %s: %w", b.ID, err)
	}
	return TaskFile{b.ID, path, tasks}, nil
}

// usable is an error if the tasks of a file do not make the benchmark.
func usable(id, path string, tasks []benchmark.Task) error {
	if found := tasks[0].Benchmark; found != id {
		return fmt.Errorf("%s holds tasks of %s", path, found)
	}
	if len(tasks) < 2 {
		return fmt.Errorf("%s has 1 task, allocation needs at least 2", path)
	}
	return nil
}

// Prompts is the file as an input, as far as rollouts depend on it.
func (f TaskFile) Prompts() dag.Source {
	return dag.Source{Name: f.Path + " (prompts)", SHA256: benchmark.PromptDigest(f.Tasks)}
}

// Prompts are the templates that problems are asked by: ours, and the user's
// before them. Those may be for a benchmark of the experiment, or for a source of
// the paper's.
func Prompts(cfg *config.Config) (*benchmark.Prompts, error) {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil || cfg.Corpus.Prompts == "" {
		return prompts, err
	}
	var names []string
	for _, b := range cfg.Benchmarks {
		names = append(names, b.ID)
	}
	for _, g := range upstream.Groups() {
		if !slices.Contains(names, g.Source.ID) {
			names = append(names, g.Source.ID)
		}
	}
	prompts, err = prompts.With(files.InputFolder(cfg.Corpus.Prompts, files.Prompt), names...)
	if err != nil {
		return nil, fmt.Errorf("corpus.prompts: %s: %w", cfg.Corpus.Prompts, err)
	}
	return prompts, nil
}

// AskedTwice finds tasks with the user turn of an earlier one, each behind that. The
// same task again, from another file, does not count.
func AskedTwice(tasks []benchmark.Task) (pairs [][2]benchmark.Task) {
	first := make(map[string]benchmark.Task, len(tasks))
	for _, t := range tasks {
		earlier, again := first[t.UserPrompt]
		switch {
		case !again:
			first[t.UserPrompt] = t
		case earlier.Benchmark != t.Benchmark || earlier.ID != t.ID:
			pairs = append(pairs, [2]benchmark.Task{earlier, t})
		}
	}
	return pairs
}
