package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/fleet/workload"
	"speceval/internal/profile"
	"speceval/pipeline/config"
)

// places are the addresses to serve at: as many as asked for, or those of the
// configured workers that are on this machine, and of the judge there.
func (o *fleetOptions) places(cfg *config.Config) (workers, judge []string, err error) {
	if o.replicas < 0 || o.port < 0 || o.port+o.replicas > 65536 {
		return nil, nil, usagef("--replicas %d --port %d: want a number of replicas, with ports up to 65535", o.replicas, o.port)
	}
	for i := range o.replicas {
		port := o.port
		if port > 0 {
			port += i
		}
		workers = append(workers, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	if o.replicas > 0 {
		return workers, nil, nil
	}
	for _, w := range cfg.Workers {
		workers = append(workers, onThisMachine(w.URLs)...)
	}
	if o.model == "" {
		judge = onThisMachine(cfg.Judge.URLs)
	}
	if len(workers) == 0 {
		return nil, nil, usagef("the configuration has no [[worker]] with a URL on this machine, such as http://127.0.0.1:8000; say how many to serve: --replicas N")
	}
	return workers, judge, nil
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

// onLoopback tells whether a host name is this machine's, for itself alone.
func onLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// imitated is what replicas of one model are.
type imitated struct {
	imitation.Settings
	about string // what they imitate, for people
}

// mostSlow is the largest factor of --slow-wrong: longer answers end at max_tokens.
const mostSlow = 1000

// fleetSettings are the replicas of each model to serve, and one of the judge.
func (s *session) fleetSettings(cfg *config.Config) (all []imitated, judge imitated, err error) {
	o := &s.fleet
	if o.speed < 0 {
		return nil, judge, usagef("--speed %v: want a factor of time, or 0 never to wait", o.speed)
	}
	if o.interval < 1 {
		return nil, judge, usagef("--stream-interval %d: want a token at least", o.interval)
	}
	if !(o.slowWrong > 0 && o.slowWrong <= mostSlow) {
		return nil, judge, usagef("--slow-wrong %v: want a factor of length, above 0 and up to %d", o.slowWrong, mostSlow)
	}
	tasks, err := s.fleetTasks(cfg)
	if err != nil {
		return nil, judge, err
	}
	var profiles []profile.Profile
	if o.profiles != "" {
		if profiles, err = profile.Read(o.profiles); err != nil {
			return nil, judge, &usageError{err}
		}
	}
	calibrated, err := calibration()
	if err != nil {
		return nil, judge, err
	}
	for _, m := range cfg.Models {
		if o.model == "" || o.model == m.ID {
			one, err := s.imitate(cfg, m, calibrated, tasks, profiles)
			if err != nil {
				return nil, judge, err
			}
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil, judge, usagef("--model %s: the configuration has no such model", o.model)
	}
	model := config.Model{ID: cfg.Judge.Model, Served: cfg.Judge.Model, Path: cfg.Judge.Model, MaxSequences: 256}
	judge, err = s.imitate(cfg, model, calibrated, tasks, nil)
	return all, judge, err
}

// imitate is a replica of one model.
func (s *session) imitate(cfg *config.Config, m config.Model, calibrated *workload.Workload, tasks []benchmark.Task, profiles []profile.Profile) (imitated, error) {
	o := &s.fleet
	timing, pace := fleet.Small, "a toy model on two cores"
	if model, known := calibrated.Model(m.ID); known {
		timing, pace = model.Timing, m.Title+" on an H20"
	}
	known := passes(m.ID, profiles)
	author, err := fleet.NewAuthor(fleet.AuthorSettings{Model: m.ID, Tasks: tasks, Passes: known, SlowWrong: o.slowWrong})
	if err != nil {
		return imitated{}, err
	}
	if profiles != nil && len(known) == 0 {
		s.warn("%s has no profile of model %s, which answers right by a hash", o.profiles, m.ID)
	}
	settings := imitation.Settings{
		Model: m.Served, Root: m.Path, MaxModelLen: cfg.Sampling.ContextTokens, MaxSequences: m.MaxSequences,
		Thinking: m.Thinking || m.ReasoningParser != "", ReasoningParser: m.ReasoningParser, Key: s.key,
		Timing: timing, Speed: o.speed, Author: author,
		StreamInterval: o.interval, Faults: o.faults, Restart: o.restart, Seed: cfg.Experiment.Seed,
	}
	if o.maxModelLen > 0 {
		settings.MaxModelLen = o.maxModelLen
	}
	if o.seed != nil {
		settings.Seed = *o.seed
	}
	speed := fmt.Sprintf("at %g times its speed", o.speed)
	if o.speed == 0 {
		speed = "without waiting"
	}
	about := fmt.Sprintf("vLLM %s, %d tokens, %d sequences, as %s, %s", imitation.Version, settings.MaxModelLen, m.MaxSequences, pace, speed)
	return imitated{settings, about}, nil
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

// fleetTasks are the tasks that are known by their answers: of the configured
// benchmarks that have a task file, and of more files. Two that are asked the same
// are refused: the fleet sees no more of a task than what is asked.
func (s *session) fleetTasks(cfg *config.Config) ([]benchmark.Task, error) {
	prompts, err := promptsOf(cfg)
	if err != nil {
		return nil, &usageError{err}
	}
	var tasks []benchmark.Task
	for _, b := range cfg.Benchmarks {
		read, err := readTaskFile(b, taskPath(cfg, b), prompts)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &usageError{err}
		}
		tasks = append(tasks, withTests(read.path, read.tasks)...)
	}
	for _, path := range s.fleet.tasks {
		read, err := benchmark.Reader{Prompts: prompts}.Read(path)
		if err != nil {
			return nil, &usageError{fmt.Errorf("--tasks: %w", err)}
		}
		tasks = append(tasks, withTests(path, read)...)
	}
	if len(tasks) == 0 {
		s.say("note: no benchmark has a task file in %s, and there is no --tasks: every answer is noise", cfg.Corpus.Tasks)
	}
	if same := askedTwice(tasks); len(same) > 0 {
		a, b := same[0][0], same[0][1]
		return nil, usagef("task %s of %s and task %s of %s have the same user turn, by which alone the simulated fleet knows a task: leave one out", a.ID, a.Benchmark, b.ID, b.Benchmark)
	}
	if slices.ContainsFunc(tasks, func(t benchmark.Task) bool { return t.TestsFile != "" && t.Tests == nil }) {
		s.say("note: tasks with large tests are never answered right")
	}
	return tasks, nil
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
		if tests, err := benchmark.ReadTests(path, t); err == nil { // otherwise score will say what is wrong
			tasks[i].Tests = tests
		}
	}
	return tasks
}

// calibration is what the simulated fleet knows of the published runs.
func calibration() (*workload.Workload, error) {
	return workload.Parse(data.FleetModels(), data.FleetLengths())
}
