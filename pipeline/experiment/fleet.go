package experiment

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/profile"
	"speceval/internal/scoring/family"
	"speceval/internal/seed"
	"speceval/internal/servers/checkpoint"
	"speceval/internal/servers/launcher"
	"speceval/internal/servers/serving"
	"speceval/method/controller"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/systems"
)

// Fleet is the settings of the simulated fleet that are not in the configuration.
type Fleet struct {
	Count        int              // of replicas; 0: as many as the workers' URLs on this machine
	Port         int              // of the first of Count, the others at the next ones; 0 takes free ones
	Model        string           // the only one to serve; "": all, in turn
	Speed        float64          // times faster than the model; 0 never waits
	Slow         float64          // times as long are wrong answers as right ones
	Unrepeatable bool             // seeds of requests are ignored
	Plain        bool             // the servers are none of vLLM
	Interval     int              // tokens of an event of a stream, at least
	Tasks        []string         // task files to answer as well
	Profiles     string           // a file that says how often answers are right; "": spread by a hash
	Faults       imitation.Faults // at these rates
	Seed         *uint64          // of faults and unseeded answers; nil: the experiment's
	Context      int              // tokens of prompt and answer; 0: the experiment's
	Restart      time.Duration    // of a crashed or hung replica, after so long; 0: never
	Key          string           // that replicas want; "" for none

	Say, Warn func(format string, args ...any) // what the user should know
}

// Replica is a simulated replica, still without an index and a log.
type Replica struct {
	imitation.Settings
	Place string // address to listen at
	About string // what it imitates, for people
}

// Replicas are those to serve. An error is a fault of the fleet, of the
// configuration, or of a file that one of them names.
func (f *Fleet) Replicas(cfg *config.Config) ([]Replica, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	workers, judges := f.places(cfg)
	if len(workers) == 0 {
		return nil, errors.New("the configuration has no [[worker]] with a URL on this machine, such as http://127.0.0.1:8000; say how many to serve: --replicas N")
	}
	models, judge, err := f.models(cfg)
	if err != nil {
		return nil, err
	}
	var all []Replica
	for i, place := range workers {
		one := models[i%len(models)]
		one.Place = place
		all = append(all, one)
	}
	for _, place := range judges {
		judge.Place = place
		all = append(all, judge)
	}
	return all, nil
}

// largestSlow is the largest factor of --slow-wrong: longer answers end at max_tokens.
const largestSlow = 1000

// check refuses values that no fleet can have.
func (f *Fleet) check() error {
	switch {
	case f.Count < 0 || f.Port < 0 || f.Port+f.Count > 65536:
		return fmt.Errorf("--replicas %d --port %d: want a number of replicas, with ports up to 65535", f.Count, f.Port)
	case !(f.Speed >= 0):
		return fmt.Errorf("--speed %v: want a factor of time, or 0 never to wait", f.Speed)
	case f.Interval < 1:
		return fmt.Errorf("--stream-interval %d: want a token at least", f.Interval)
	case !(f.Slow > 0 && f.Slow <= largestSlow):
		return fmt.Errorf("--slow-wrong %v: want a factor of length, above 0 and up to %d", f.Slow, largestSlow)
	}
	return nil
}

// places are the addresses to serve at: as many as asked for, or those of the
// configured workers that are on this machine, and of the judge there.
func (f *Fleet) places(cfg *config.Config) (workers, judge []string) {
	for i := range f.Count {
		port := f.Port
		if port > 0 {
			port += i
		}
		workers = append(workers, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	if f.Count > 0 {
		return workers, nil
	}
	for _, w := range cfg.Workers {
		workers = append(workers, onThisMachine(w.URLs)...)
	}
	if f.Model == "" {
		judge = onThisMachine(cfg.Judge.URLs)
	}
	return workers, judge
}

// onThisMachine are the addresses of those URLs that only this machine can mean.
func onThisMachine(urls []string) []string {
	var places []string
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" || !onLoopback(u.Hostname()) {
			continue
		}
		port := u.Port()
		if port == "" {
			port = "80"
		}
		places = append(places, net.JoinHostPort(u.Hostname(), port))
	}
	return places
}

// onLoopback reports whether a host name means this machine's loopback.
func onLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// models are a replica of each model to serve, and one of the judge.
func (f *Fleet) models(cfg *config.Config) (all []Replica, judge Replica, err error) {
	tasks, err := f.tasks(cfg)
	if err != nil {
		return nil, judge, err
	}
	var profiles []profile.Profile
	if f.Profiles != "" {
		if profiles, err = profile.Read(f.Profiles); err != nil {
			return nil, judge, err
		}
	}
	calibrated, err := calibration()
	if err != nil {
		return nil, judge, err
	}
	for _, m := range cfg.Models {
		if f.Model == "" || f.Model == m.ID {
			one, err := f.imitate(cfg, m, calibrated, tasks, profiles)
			if err != nil {
				return nil, judge, err
			}
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil, judge, fmt.Errorf("--model %s: the configuration has no such model", f.Model)
	}
	model := config.Model{ID: cfg.Judge.Model, Served: cfg.Judge.Model, Path: cfg.Judge.Model, MaxSequences: 256}
	judge, err = f.imitate(cfg, model, calibrated, tasks, nil)
	return all, judge, err
}

// imitate is a replica of one model.
func (f *Fleet) imitate(cfg *config.Config, m config.Model, calibrated *fleet.Workload, tasks []benchmark.Task, profiles []profile.Profile) (Replica, error) {
	timing, pace := fleet.Small, "a toy model on two cores"
	if model, fitted := calibrated.Model(m.ID); fitted {
		timing, pace = model.Timing, m.Title+" on an H20"
	}
	known := passes(m.ID, profiles)
	author, err := fleet.NewAuthor(fleet.AuthorSettings{Model: m.ID, Tasks: tasks, Passes: known, SlowWrong: f.Slow})
	if err != nil {
		return Replica{}, err
	}
	if profiles != nil && len(known) == 0 {
		f.Warn("%s has no profile of model %s, which answers right by a hash", f.Profiles, m.ID)
	}
	settings := imitation.Settings{
		Model: m.Served, Root: m.Path, MaxModelLen: cfg.Sampling.ContextTokens, MaxSequences: m.MaxSequences,
		Thinking: m.Thinking || m.ReasoningParser != "", ReasoningParser: m.ReasoningParser, Key: f.Key,
		Timing: timing, Speed: f.Speed, Author: author,
		Unrepeatable: f.Unrepeatable, Plain: f.Plain, StreamInterval: f.Interval, Faults: f.Faults, Restart: f.Restart, Seed: cfg.Experiment.Seed,
	}
	if f.Context > 0 {
		settings.MaxModelLen = f.Context
	}
	if f.Seed != nil {
		settings.Seed = *f.Seed
	}
	speed := fmt.Sprintf("at %g times its speed", f.Speed)
	if f.Speed == 0 {
		speed = "without waiting"
	}
	kind := "vLLM " + imitation.Version
	if f.Plain {
		kind = "a server that is not vLLM"
	}
	about := fmt.Sprintf("%s, %d tokens, %d sequences, as %s, %s", kind, settings.MaxModelLen, m.MaxSequences, pace, speed)
	return Replica{Settings: settings, About: about}, nil
}

// passes are the probabilities of a model's profiles.
func passes(model string, profiles []profile.Profile) map[fleet.TaskKey]float64 {
	known := map[fleet.TaskKey]float64{}
	for _, p := range profiles {
		if p.Model != model {
			continue
		}
		for i, id := range p.TaskIDs {
			known[fleet.TaskKey{Benchmark: p.Benchmark, ID: id}] = p.P(i)
		}
	}
	return known
}

// tasks are those that are known by their answers: of the configured benchmarks
// that have a task file, and of more files. Two that are asked the same are
// refused: the fleet sees no more of a task than what is asked.
func (f *Fleet) tasks(cfg *config.Config) ([]benchmark.Task, error) {
	known, _, err := findTasks(cfg)
	if err != nil {
		return nil, err
	}
	prompts, err := Prompts(cfg)
	if err != nil {
		return nil, err
	}
	for _, path := range f.Tasks {
		read, err := benchmark.Reader{Prompts: prompts}.Read(path)
		if err != nil {
			return nil, fmt.Errorf("--tasks: %w", err)
		}
		known = append(known, TaskFile{Path: path, Tasks: read})
	}
	var tasks []benchmark.Task
	for _, file := range known {
		tasks = append(tasks, withTests(file.Path, file.Tasks)...)
	}
	if len(tasks) == 0 {
		f.Say("note: no benchmark has a task file in %s, and there is no --tasks: every answer is noise", cfg.Corpus.Tasks)
	}
	if same := AskedTwice(tasks); len(same) > 0 {
		a, b := same[0][0], same[0][1]
		return nil, fmt.Errorf("task %s of %s and task %s of %s have the same user turn, by which alone the simulated fleet knows a task: leave one out", a.ID, a.Benchmark, b.ID, b.Benchmark)
	}
	if slices.ContainsFunc(tasks, func(t benchmark.Task) bool { return t.TestsFile != "" && t.Tests == nil }) {
		f.Say("note: tasks with large tests are never answered right")
	}
	f.sayUnsimulated(tasks)
	return tasks, nil
}

// sayUnsimulated tells of tasks that are never answered right for another reason.
func (f *Fleet) sayUnsimulated(tasks []benchmark.Task) {
	var first, why string
	n := 0
	for _, t := range tasks {
		by, err := family.Named(t.Scorer)
		if err != nil || by.Unsimulated == nil {
			continue
		}
		if reason := by.Unsimulated(t); reason != "" {
			if n++; n == 1 {
				first, why = t.Benchmark+"/"+t.ID, reason
			}
		}
	}
	if n > 0 {
		f.Say("note: %d of %d tasks are never answered right, %s the first: %s", n, len(tasks), first, why)
	}
}

// largestTests is the size of a tests_file, in bytes, that the fleet can answer by.
const largestTests = 64 << 10

// withTests gives tasks the tests that are in small files of their own.
func withTests(path string, tasks []benchmark.Task) []benchmark.Task {
	tasks = slices.Clone(tasks)
	for i, t := range tasks {
		if t.TestsFile == "" {
			continue
		}
		info, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(t.TestsFile)))
		if err != nil || info.Size() > largestTests {
			continue
		}
		if tests, err := benchmark.ReadTests(path, t, ""); err == nil { // otherwise score will say what is wrong
			tasks[i].Tests = tests
		}
	}
	return tasks
}

// calibration is the model that was fitted to the published runs.
func calibration() (*fleet.Workload, error) {
	return fleet.ParseWorkload(data.FleetModels(), data.FleetLengths())
}

// modelsDir is the folder of model folders without weights, in the output folder.
const modelsDir = "models"

// weightless makes what a launched server loads for a model without its weights:
// the folder that its path names, or one in the shape of its checkpoint.
func weightless(out string) func(serving.Model) (launcher.Model, error) {
	return func(m serving.Model) (launcher.Model, error) {
		load := m.Launch
		if !checkpoint.IsFolder(load.Path) {
			shape, err := shapeOf(m.ID)
			if err != nil {
				return load, err
			}
			load.Path = filepath.Join(out, modelsDir, m.ID)
			if err := checkpoint.Write(load.Path, shape); err != nil {
				return load, err
			}
		}
		var err error
		load.Flags, err = checkpoint.Flags(load.Path)
		return load, err
	}
}

func shapeOf(model string) (checkpoint.Shape, error) {
	shape, known := checkpoint.Find(model)
	if !known {
		return shape, fmt.Errorf(`model %s cannot be served with weights = "dummy": its shape is not known, as are those of %s; let its path name a folder with its config.json and tokenizer`,
			model, strings.Join(checkpoint.Known(), ", "))
	}
	return shape, nil
}

// checkShapes refuses models that launched servers would need the shapes of, where
// these are unknown.
func checkShapes(cfg *config.Config) error {
	if !slices.ContainsFunc(cfg.Workers, func(w config.Worker) bool { return w.Weights == config.WeightsDummy }) {
		return nil
	}
	var faults []error
	for _, m := range cfg.Models {
		if _, err := shapeOf(m.ID); err != nil && !checkpoint.IsFolder(m.Path) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// drawnLengths are the lengths of prompts and answers in timed runs, nil if the
// configuration leaves them to the models.
func drawnLengths(cfg *config.Config, pairs []pair.Pair) (*systems.Drawn, error) {
	if cfg.Systems.Lengths != config.LengthsDrawn {
		return nil, nil
	}
	w, err := calibration()
	if err != nil {
		return nil, err
	}
	var unknown []string
	for _, p := range pairs {
		if !w.Knows(p.Benchmark, p.Model) {
			unknown = append(unknown, p.Name())
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf(`systems.lengths = "drawn": the length model knows the published profiles alone, not %s; leave them out, or set lengths = "natural"`, strings.Join(unknown, ", "))
	}
	thinking := make(map[string]checkpoint.Thinking)
	for _, m := range cfg.Models {
		thinking[m.ID] = thinkingOf(m)
	}
	return &systems.Drawn{
		Source: dag.Source{Name: data.FleetName, SHA256: digest(data.FleetModels(), data.FleetLengths())},
		Prompt: func(model string, task, tokens int) string { return checkpoint.Filler(tokens, task, thinking[model]) },
		Lengths: func(p profile.Profile, branch seed.Seed) (systems.Lengths, error) {
			_, law, err := w.Law(p)
			if err != nil {
				return nil, err
			}
			draw := law.Sampler(branch)
			return func(id controller.ID) (prompt, tokens int) {
				prompt, tokens = draw(id)
				return prompt, min(tokens, cfg.Sampling.MaxTokens)
			}, nil
		},
	}, nil
}

// madePrompts says how many benchmarks have no tasks to ask; nothing if all have.
func madePrompts(cfg *config.Config, m *systems.Measured) []string {
	without := len(cfg.Benchmarks) - len(m.Tasks)
	if without == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d benchmarks have no task file in %s: their prompts are made, of the length model's tokens", without, len(cfg.Benchmarks), cfg.Corpus.Tasks)}
}

// thinkingOf is the argument about thinking of the template of a model's chats, as
// templateArguments has it.
func thinkingOf(m config.Model) checkpoint.Thinking {
	switch {
	case m.Thinking:
		return checkpoint.On
	case m.ReasoningParser != "":
		return checkpoint.Off
	}
	return checkpoint.None
}
