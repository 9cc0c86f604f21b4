//go:build drill

package runs_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"speceval/drills/drill"
)

var (
	part     = flag.String("part", "table1", "slurm: table1, faults, gpus or search")
	config   = flag.String("config", "experiments.toml", "slurm: the experiment of table1 and search")
	local    = flag.String("local", "", "slurm: output folder of a local `speceval run replay report` of the same program, for table1; empty: it is made")
	localCPU = flag.Duration("local-cpu", 0, "slurm: CPU time that -local took; 0: unknown, and not compared")
	cpus     = flag.Int("cpus", 0, "slurm: of the cluster; 0: as many as the machine has")
)

// TestSlurm tries runs through Slurm on a cluster of its own, which it starts on this
// machine. The part table1 runs replay and report of the shipped experiment through
// Slurm and locally, and compares bytes and CPU. The part faults makes the faults of a
// cluster, and compares what is left with an undisturbed local run. The part gpus runs
// units that start servers on a node with GPUs. The part search runs a slice of the
// exhaustive TS-Neyman search, and prints what it took with the estimate.
func TestSlurm(t *testing.T) {
	l := drill.New(t, 2*time.Hour)
	for _, p := range []struct {
		name string
		more []string // options of the cluster
		do   func(s *site)
	}{
		{"table1", nil, (*site).table1},
		{"faults", []string{"--nodes", "2", "--memory", "6000"}, (*site).faults},
		{"gpus", []string{"--gpus", strconv.Itoa(gpusOfNode)}, (*site).gpus},
		{"search", nil, (*site).search},
	} {
		if p.name != *part {
			continue
		}
		l.OK(drill.ClusterInstalled())
		if *cpus > 0 {
			p.more = append(p.more, "--cpus", strconv.Itoa(*cpus))
		}
		s := &site{Lab: l, cluster: l.StartCluster(l.Path("c"), p.more...)}
		l.Environment = append(os.Environ(), s.cluster.Env()...)
		p.do(s)
		return
	}
	l.Fatalf("the drill has no part %q", *part)
}

// slurm runs one of Slurm's commands and returns its output.
func (s *site) slurm(program string, words ...string) (string, error) {
	c := exec.CommandContext(s.Ctx, program, words...)
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
	own := []string{"executor.kind=slurm", "executor.poll_seconds=1", "executor.settle_seconds=2", "executor.generate.cpus=1"}
	return sets(append(own, keys...)...)
}

// faults makes the faults of the cluster.
func (s *site) faults() {
	s.prepare()
	s.watch = s.startWatch()
	defer s.watch.stop()
	s.each(ofCluster)
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
func (s *site) table1() {
	var keys []string
	if s.Small {
		keys = fewDraws
	}
	run := []string{"run", "replay", "report", "--config", drill.FromRoot(*config), "--out"}
	want, wantCPU := *local, *localCPU
	if want == "" {
		want = s.Path("local")
		start := time.Now()
		p := s.Do(0, slices.Concat(run, []string{want, "-j", "2"}, sets(keys...))...)
		wantCPU = p.CPU()
		s.Logf("local: %v, CPU %v", time.Since(start).Round(time.Second), wantCPU.Round(100*time.Millisecond))
	}
	out, start := s.Path("slurm"), time.Now()
	keys = append([]string{"executor.element_minutes=2"}, keys...)
	p := s.Do(0, slices.Concat(run, []string{out}, throughSlurm(keys...))...)
	w := s.worked(out)
	jobs := time.Duration(w.cpu * float64(time.Second))
	s.Logf("Slurm: %v, CPU: %v of the jobs' processes, %v of the coordinator with Slurm's commands", time.Since(start).Round(time.Second),
		jobs.Round(100*time.Millisecond), p.CPU().Round(100*time.Millisecond))
	s.Logf("%d units in %d elements of %d arrays; CPU of the units' threads alone: %.1f s", w.units, w.elements, w.arrays, w.unitCPU)
	if w.ends != w.elements {
		s.Errorf("%d of %d elements ended by themselves: something was retried, and the CPU time is not whole", w.ends, w.elements)
	}
	if wantCPU > 0 {
		ratio := (jobs + p.CPU()).Seconds() / wantCPU.Seconds()
		s.Logf("CPU through Slurm: %.3f times as much as locally", ratio)
		if ratio > mostCPU && !s.Small { // with few draws a run consists of starts of processes, and Slurm has more
			s.Errorf("want %.2f at most", mostCPU)
		}
	}
	found := s.Compare(want, out)
	for _, d := range found {
		s.Logf("%v", d)
	}
	s.Logf("%d files compared; report.html, manifests' times and the logs of jobs, which record when and where units ran, are not", len(s.Results(want)))
	if len(found) > 0 {
		s.Errorf("%d files differ", len(found))
	}
}

// slice is a part of the exhaustive search of TS-Neyman: the shipped precision for one
// model on benchmarks of three sizes, at two of the prior strengths.
func slice(draws int) drill.Settings {
	return drill.Settings{
		"model":     []drill.Settings{{"id": "qwen3_5_4b"}},
		"benchmark": []drill.Settings{{"id": "gpqa_diamond__domain_biology"}, {"id": "aime24"}, {"id": "math_100"}},
		"replay": drill.Settings{
			"draws": 128, "replicates": 2, "resamples": 4, "resample_draws": 4, "ibn_alphas": []float64{0.1},
			"ts_neyman":  drill.Settings{"search": "exhaustive", "alphas": []float64{0.05, 0.20}, "draws": draws},
			"case_study": drill.Settings{"repetitions": 2000},
		},
	}
}

// search plans the whole exhaustive search, runs a slice of it as an array, and prints
// what it took with the estimate.
func (s *site) search() {
	all := s.plan(drill.FromRoot(*config), "replay.ts_neyman.search=exhaustive")
	s.Logf("the whole search and the rest of replay: %.1f core-hours are planned", all/3600)
	draws, file, out := s.Often(256, 8192), s.Path("slice.toml"), s.Path("slice")
	s.WriteConfig(file, slice(draws))
	planned := s.plan(file)
	run := append([]string{"run", "replay", "--config", file, "--out", out}, throughSlurm("executor.element_minutes=1")...)
	s.Do(0, run...)
	w, n := s.worked(out), 0
	for _, m := range s.Units(out, "replay") {
		if strings.HasPrefix(m.Parts.Unit, "ts_neyman/exhaustive/") {
			n++
		}
	}
	s.Logf("a slice, %d units of the search with %d trajectories and %d others, in %d elements of %d arrays: planned %.0f core-seconds, "+
		"measured %.0f in the units and %.0f in the jobs' processes", n, draws, w.units-n, w.elements, w.arrays, planned, w.unitCPU, w.cpu)
	if n == 0 {
		s.Error("no unit of the exhaustive search has run")
	}
}

// amount is a number with its unit of time, as the program writes it.
var amount = regexp.MustCompile(`([\d.]+) (h|min|s)\b`)

// plan prints what a run would do, and returns its estimate in core-seconds.
func (s *site) plan(config string, keys ...string) (seconds float64) {
	p := s.Do(0, append([]string{"plan", "replay", "-j", "1", "--config", config, "--out", s.Path("none")}, sets(keys...)...)...)
	text := strings.TrimSpace(p.Text())
	s.Logf("$ speceval plan replay -j 1 %s\n%s", strings.Join(sets(keys...), " "), text)
	lines := strings.Split(text, "\n")
	last, _, _ := strings.Cut(lines[len(lines)-1], " by ")
	found := amount.FindAllStringSubmatch(last, -1)
	if len(found) == 0 {
		s.Fatalf("the plan does not say how long it takes: %s", last)
	}
	for _, part := range found {
		n, err := strconv.ParseFloat(part[1], 64)
		s.OK(err)
		seconds += n * map[string]float64{"h": 3600, "min": 60, "s": 1}[part[2]]
	}
	return seconds
}
