package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/store/profile"
	"speceval/pipeline/config"
)

// Fleet is the settings of the simulated fleet that are not in the configuration.
type Fleet struct {
	// Each has the settings of all replicas by the command line; MaxModelLen 0 is the experiment's.
	Each     imitation.Settings
	Seed     *uint64  // of faults and unseeded answers; nil: the experiment's
	Count    int      // of replicas; 0: as many as the workers' URLs on this machine
	Port     int      // of the first of Count, the others at the next ones; 0 takes free ones
	Model    string   // the only one to serve; "": all, in turn
	Slow     float64  // times as long are wrong answers as right ones
	Tasks    []string // task files to answer as well
	Profiles string   // a file that says how often answers are right; "": spread by a hash

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
func (f *Fleet) Replicas(cfg *config.Config) (all []Replica, err error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	workers, judges := f.places(cfg)
	if len(workers) == 0 {
		return nil, errors.New("the configuration has no [[worker]] with a URL on this machine, such as http://127.0.0.1:8000; say how many to serve: --replicas N")
	}
	tasks, err := f.tasks(cfg)
	if err != nil {
		return nil, err
	}
	passes := map[string]map[fleet.TaskKey]float64{} // by model
	if f.Profiles != "" {
		profiles, err := profile.Read(f.Profiles)
		if err != nil {
			return nil, err
		}
		for _, p := range profiles {
			for i, id := range p.TaskIDs {
				if passes[p.Model] == nil {
					passes[p.Model] = map[fleet.TaskKey]float64{}
				}
				passes[p.Model][fleet.TaskKey{Benchmark: p.Benchmark, ID: id}] = p.P(i)
			}
		}
	}
	var models []Replica
	for _, m := range cfg.Models {
		if f.Model != "" && f.Model != m.ID {
			continue
		}
		if f.Profiles != "" && passes[m.ID] == nil {
			f.Warn("%s has no profile of model %s, which answers right by a hash", f.Profiles, m.ID)
		}
		models = append(models, f.imitate(cfg, m, tasks, passes[m.ID]))
	}
	if len(models) == 0 {
		return nil, fmt.Errorf("--model %s: the configuration has no such model", f.Model)
	}
	judge := f.imitate(cfg, config.Model{ID: cfg.Judge.Model, Served: cfg.Judge.Model, MaxSequences: 256}, tasks, nil)
	for i, place := range workers {
		models[i%len(models)].Place = place
		all = append(all, models[i%len(models)])
	}
	for _, judge.Place = range judges {
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
	case !(f.Each.Speed >= 0):
		return fmt.Errorf("--speed %v: want a factor of time, or 0 never to wait", f.Each.Speed)
	case f.Each.StreamInterval < 1:
		return fmt.Errorf("--stream-interval %d: want a token at least", f.Each.StreamInterval)
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
func onThisMachine(urls []string) (places []string) {
	for _, text := range urls {
		u, err := url.Parse(text)
		if err == nil && u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()) {
			places = append(places, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")))
		}
	}
	return places
}

// imitate is a replica of one model, which answers tasks right with the probabilities passes.
func (f *Fleet) imitate(cfg *config.Config, m config.Model, tasks []benchmark.Task, passes map[fleet.TaskKey]float64) Replica {
	s, pace := f.Each, "a toy model on two cores"
	s.Timing = fleet.Small
	if model, fitted := calibration().Model(m.ID); fitted {
		s.Timing, pace = model.Timing, m.Title+" on an H20"
	}
	s.Model, s.MaxModelLen, s.MaxSequences = m.Served, cmp.Or(s.MaxModelLen, cfg.Sampling.ContextTokens), m.MaxSequences
	s.Thinking, s.ReasoningParser = m.Thinking || m.ReasoningParser != "", m.ReasoningParser
	s.Seed = cfg.Experiment.Seed
	if f.Seed != nil {
		s.Seed = *f.Seed
	}
	speed, kind := fmt.Sprintf("at %g times its speed", s.Speed), "vLLM "+imitation.Version
	if s.Speed == 0 {
		speed = "without waiting"
	}
	if s.Plain {
		kind = "a server that is not vLLM"
	}
	about := fmt.Sprintf("%s, %d tokens, %d sequences, as %s, %s", kind, s.MaxModelLen, m.MaxSequences, pace, speed)
	s.Author = fleet.MustAuthor(fleet.AuthorSettings{Model: m.ID, Tasks: tasks, Passes: passes, SlowWrong: f.Slow})
	return Replica{Settings: s, About: about}
}

// tasks returns the tasks that are known by their answers: of the configured benchmarks
// that have a task file, and of more files.
func (f *Fleet) tasks(cfg *config.Config) ([]benchmark.Task, error) {
	known, _, err := readTasks(cfg)
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
		for _, t := range file.Tasks {
			tasks = append(tasks, withTests(file.Path, t))
		}
	}
	if len(tasks) == 0 {
		f.Say("note: no benchmark has a task file in %s, and there is no --tasks: every answer is noise", cfg.Corpus.Tasks)
	}
	return tasks, nil
}

// withTests gives a task its tests where they are in a small file.
func withTests(path string, t benchmark.Task) benchmark.Task {
	const largestTests = 64 << 10 // bytes of a tests_file that the fleet can answer by
	info, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(t.TestsFile)))
	if t.TestsFile != "" && err == nil && info.Size() <= largestTests {
		if tests, err := benchmark.ReadTests(path, t, ""); err == nil { // otherwise score will say what is wrong
			t.Tests = tests
		}
	}
	return t
}
