package runs

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"speceval/drills/lab"
)

// Slurm tries runs through Slurm on a cluster of its own, which it starts on this
// machine. The part table1 runs replay and report of the shipped experiment through
// Slurm and locally, and compares bytes and CPU. The part faults makes the faults of a
// cluster, and compares what is left with an undisturbed local run. The part gpus runs
// units that start servers on a node with GPUs. The part search runs a slice of the
// exhaustive TS-Neyman search, and prints what it took with the estimate.
var Slurm = lab.Drill{
	Name: "drill-slurm", About: "runs through a Slurm cluster of its own: bytes, CPU, faults, GPUs, a long search",
	Limit: 2 * time.Hour, Shared: []string{"speceval", "dir", "small", "seed"},
	Flags: slurmFlags,
}

// slurmOptions are the flags of the drill.
type slurmOptions struct {
	root     string // of the repository
	config   string
	local    string        // output folder of a local run; "" to make one
	localCPU time.Duration // of that run
	only     string        // faults to make, with commas; "" for all
	cpus     int           // of the cluster
	speed    float64
}

// parts are those of the drill; more are options of the cluster.
var parts = []struct {
	name string
	more []string
	do   func(s *site, ctx context.Context, o slurmOptions) error
}{
	{"table1", nil, (*site).table1},
	{"faults", []string{"--nodes", "2", "--memory", "6000"}, (*site).faults},
	{"gpus", []string{"--gpus", strconv.Itoa(gpusOfNode)}, (*site).gpus},
	{"search", nil, (*site).search},
}

func slurmFlags(flags *flag.FlagSet) func(context.Context, *lab.Lab) error {
	var o slurmOptions
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	part := parts[0]
	flags.Func("part", strings.Join(names, ", ")+" (default "+part.name+")", func(name string) error {
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("want %s", strings.Join(names, ", "))
		}
		part = parts[i]
		return nil
	})
	flags.StringVar(&o.root, "root", ".", "folder of the repository")
	flags.StringVar(&o.config, "config", "experiments.toml", "the experiment of table1 and search")
	flags.StringVar(&o.local, "local", "", "output folder of a local `speceval run replay report` of the same program, for table1; empty: it is made")
	flags.DurationVar(&o.localCPU, "local-cpu", 0, "CPU time that -local took; 0: unknown, and not compared")
	flags.StringVar(&o.only, "only", "", "of the part faults: those named, with commas; empty: all")
	flags.IntVar(&o.cpus, "cpus", 0, "of the cluster; 0: as many as the machine has")
	flags.Float64Var(&o.speed, "speed", 300, "of the simulated fleet")
	return func(ctx context.Context, l *lab.Lab) (err error) {
		if o.config, err = filepath.Abs(o.config); err != nil {
			return err
		}
		s, err := startSite(ctx, l, o, part.more...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.cluster.Stop()) }()
		return part.do(s, ctx, o)
	}
}

// startSite starts a cluster.
func startSite(ctx context.Context, l *lab.Lab, o slurmOptions, more ...string) (*site, error) {
	if err := lab.ClusterInstalled(o.root); err != nil {
		return nil, err
	}
	if o.cpus > 0 {
		more = append(more, "--cpus", strconv.Itoa(o.cpus))
	}
	c, err := lab.StartCluster(ctx, o.root, l.Path("c"), more...)
	if err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	l.Environment = append(os.Environ(), c.Env()...)
	return &site{Lab: l, cluster: c}, nil
}

// slurm runs one of Slurm's commands and returns its output.
func (s *site) slurm(ctx context.Context, program string, words ...string) (string, error) {
	c := exec.CommandContext(ctx, program, words...)
	var stderr bytes.Buffer
	c.Env, c.Stderr = s.Environment, &stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %v: %w: %s", program, words, err, strings.TrimSpace(stderr.String()))
	}
	return string(text), nil
}

// throughSlurm are the settings of a run on the cluster, which answers at once and has
// few cores.
func throughSlurm(keys ...string) []string {
	return sets(slices.Concat([]string{"executor.kind=slurm", "executor.poll_seconds=1", "executor.settle_seconds=2", "executor.generate.cpus=1"}, keys)...)
}

// faults makes the faults of the cluster.
func (s *site) faults(ctx context.Context, o slurmOptions) error {
	s.Strict = false // not every kernel limits the memory of jobs
	fleet, err := s.prepare(ctx, o.speed)
	if err != nil {
		return err
	}
	defer fleet.Kill()
	s.watch = s.startWatch(ctx)
	defer s.watch.stop()
	return s.each(ctx, s.wanted(cluster, o.only))
}

// mostCPU is how much CPU time a run through Slurm may take, relative to a local run.
const mostCPU = 1.10

// fewDraws are settings for a minute's run of all units.
var fewDraws = []string{
	"replay.draws=128", "replay.replicates=2", "replay.resamples=4", "replay.resample_draws=4",
	"replay.case_study.repetitions=2000", "replay.ibn_alphas=[0.1, 0.2]", "replay.quadrature_order=8",
	"replay.ts_neyman.alphas=[0.1, 0.2]", "replay.ts_neyman.race_draws=2", "replay.ts_neyman.final_draws=4", "report.pdf=never",
}

// table1 runs replay and report locally and through Slurm, and compares.
func (s *site) table1(ctx context.Context, o slurmOptions) error {
	var keys []string
	if s.Small {
		keys = fewDraws
	}
	run := []string{"run", "replay", "report", "--config", o.config, "--out"}
	local, localCPU := o.local, o.localCPU
	if local == "" {
		local = s.Path("local")
		start := time.Now()
		p, err := s.Do(ctx, 0, slices.Concat(run, []string{local, "-j", "2"}, sets(keys...))...)
		if err != nil {
			return err
		}
		localCPU = p.CPU()
		s.Printf("local: %v, CPU %v", time.Since(start).Round(time.Second), localCPU.Round(100*time.Millisecond))
	}
	out, start := s.Path("slurm"), time.Now()
	keys = append([]string{"executor.element_minutes=2"}, keys...)
	p, err := s.Do(ctx, 0, slices.Concat(run, []string{out}, throughSlurm(keys...))...)
	if err != nil {
		return err
	}
	w, err := worked(out)
	if err != nil {
		return err
	}
	jobs := time.Duration(w.cpu * float64(time.Second))
	s.Printf("Slurm: %v, CPU %v: %v of the jobs' processes, %v of the coordinator with Slurm's commands", time.Since(start).Round(time.Second),
		(jobs + p.CPU()).Round(100*time.Millisecond), jobs.Round(100*time.Millisecond), p.CPU().Round(100*time.Millisecond))
	s.Printf("%d units in %d elements of %d arrays; CPU of the units' threads alone: %.1f s", w.units, w.elements, w.arrays, w.unitCPU)
	var faults []error
	if w.ends != w.elements {
		faults = append(faults, fmt.Errorf("%d of %d elements ended by themselves: something was retried, and the CPU time is not whole", w.ends, w.elements))
	}
	if localCPU > 0 {
		ratio := (jobs + p.CPU()).Seconds() / localCPU.Seconds()
		s.Printf("CPU through Slurm: %.3f times that of the local run", ratio)
		if ratio > mostCPU && !s.Small { // with few draws a run consists of starts of processes, and Slurm has more
			faults = append(faults, fmt.Errorf("want %.2f at most", mostCPU))
		}
	}
	return errors.Join(append(faults, s.compareBytes(local, out))...)
}

// compareBytes compares every result through Slurm with the local one.
func (s *site) compareBytes(local, slurm string) error {
	files, err := lab.Results(local)
	if err != nil {
		return err
	}
	found, err := lab.Compare(local, slurm)
	if err != nil {
		return err
	}
	for _, d := range found {
		s.Printf("%v", d)
	}
	s.Printf("%d files compared, %d bytes differ; report.html, manifests' times and the logs of jobs, which record when and where units ran, are not compared",
		len(files), lab.Total(found))
	if len(found) > 0 {
		return fmt.Errorf("%d files differ", len(found))
	}
	return nil
}

// slice is a part of the exhaustive search of TS-Neyman: the shipped precision for one
// model on benchmarks of three sizes, at two of the prior strengths.
func slice(draws int) lab.Settings {
	return lab.Settings{
		"model":     []lab.Settings{{"id": "qwen3_5_4b"}},
		"benchmark": []lab.Settings{{"id": "gpqa_diamond__domain_biology"}, {"id": "aime24"}, {"id": "math_100"}},
		"replay": lab.Settings{
			"draws": 128, "replicates": 2, "resamples": 4, "resample_draws": 4, "ibn_alphas": []float64{0.1},
			"ts_neyman":  lab.Settings{"search": "exhaustive", "alphas": []float64{0.05, 0.20}, "draws": draws},
			"case_study": lab.Settings{"repetitions": 2000},
		},
	}
}

// search plans the whole exhaustive search, runs a slice of it as an array, and prints
// what it took with the estimate.
func (s *site) search(ctx context.Context, o slurmOptions) error {
	all, err := s.plan(ctx, o.config, "replay.ts_neyman.search=exhaustive")
	if err != nil {
		return err
	}
	s.Printf("the whole search and the rest of replay: %.1f core-hours are planned", all/3600)
	draws, file, out := s.Often(256, 8192), s.Path("slice.toml"), s.Path("slice")
	if err := lab.WriteConfig(file, slice(draws)); err != nil {
		return err
	}
	planned, err := s.plan(ctx, file)
	if err != nil {
		return err
	}
	if _, err := s.Do(ctx, 0, append([]string{"run", "replay", "--config", file, "--out", out}, throughSlurm("executor.element_minutes=1")...)...); err != nil {
		return err
	}
	w, err := worked(out)
	if err != nil {
		return err
	}
	replayed, err := lab.Units(out, "replay")
	if err != nil {
		return err
	}
	n := 0
	for _, m := range replayed {
		if strings.HasPrefix(m.Parts.Unit, "ts_neyman/exhaustive/") {
			n++
		}
	}
	s.Printf("a slice, %d units of the search with %d trajectories and %d others, in %d elements of %d arrays: planned %.0f core-seconds, measured %.0f in the units and %.0f in the jobs' processes",
		n, draws, w.units-n, w.elements, w.arrays, planned, w.unitCPU, w.cpu)
	if n == 0 {
		return errors.New("no unit of the exhaustive search has run")
	}
	return nil
}

// plan prints what a run would do, and returns its estimate in core-seconds.
func (s *site) plan(ctx context.Context, config string, keys ...string) (float64, error) {
	p, err := s.Do(ctx, 0, append([]string{"plan", "replay", "-j", "1", "--config", config, "--out", s.Path("none")}, sets(keys...)...)...)
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(p.Text())
	s.Printf("$ speceval plan replay -j 1 %s\n%s", strings.Join(sets(keys...), " "), text)
	return estimate(text)
}

// amount is a number with its unit of time, as the program writes it.
var amount = regexp.MustCompile(`([\d.]+) (h|min|s)\b`)

// estimate reads the time of a plan's last line, in seconds.
func estimate(plan string) (float64, error) {
	lines := strings.Split(strings.TrimSpace(plan), "\n")
	last, _, _ := strings.Cut(lines[len(lines)-1], " by ")
	found := amount.FindAllStringSubmatch(last, -1)
	if len(found) == 0 {
		return 0, fmt.Errorf("the plan does not say how long it takes: %s", last)
	}
	seconds := 0.0
	for _, part := range found {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, err
		}
		seconds += n * map[string]float64{"h": 3600, "min": 60, "s": 1}[part[2]]
	}
	return seconds, nil
}
