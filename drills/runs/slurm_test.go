//go:build drill

package runs_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"speceval/drills/drill"
)

var (
	part   = flag.String("part", "table1", "slurm: table1, faults, jobs or gpus")
	config = flag.String("config", "experiments.toml", "slurm: the experiment of table1")
)

// TestSlurm tries runs through Slurm on a cluster of its own, which it starts on this
// machine. The part table1 runs replay and report of the shipped experiment through
// Slurm and locally, and compares bytes and CPU. The part faults makes the faults of a
// cluster, and compares what is left with an undisturbed local run. The part jobs has jobs
// that Slurm does not take, that never start or that fail, and interrupts. The part gpus
// runs units that start servers on a node with GPUs.
func TestSlurm(t *testing.T) {
	l := drill.New(t, 2*time.Hour)
	for _, p := range []struct {
		name string
		more []string // options of the cluster
		do   func(s *site)
	}{
		{"table1", nil, (*site).table1},
		{"faults", []string{"--nodes", "2", "--memory", "6000"}, (*site).faults},
		{"jobs", []string{"--memory", "9000", "--hide", "n1=" + l.Path("hidden")}, (*site).jobs},
		{"gpus", []string{"--gpus", strconv.Itoa(gpusOfNode)}, (*site).gpus},
	} {
		if p.name != *part {
			continue
		}
		l.OK(drill.ClusterInstalled())
		l.OK(os.Mkdir(l.Path("hidden"), 0o777))
		s := &site{Lab: l, cluster: l.StartCluster(l.Path("c"), p.more...)}
		s.Environment = append(os.Environ(), s.cluster.Env()...)
		p.do(s)
		return
	}
	l.Fatalf("the drill has no part %q", *part)
}

// slurm runs one of Slurm's commands and returns its output.
func (s *site) slurm(program string, words ...string) string {
	s.Helper()
	text, err := s.trySlurm(program, words...)
	return drill.Must(s.Lab, text, err)
}

// trySlurm is slurm for a command that may fail.
func (s *site) trySlurm(program string, words ...string) (string, error) {
	c := exec.CommandContext(s.Ctx, program, words...)
	var stderr strings.Builder
	c.Env, c.Stderr = s.Environment, &stderr
	text, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s %v: %w: %s", program, words, err, stderr.String())
	}
	return string(text), err
}

// throughSlurm adds to a command the settings of a run on the cluster, which answers at
// once and has few cores.
func throughSlurm(words []string, keys ...string) []string {
	words = with(words, "executor.kind=slurm", "executor.poll_seconds=1", "executor.settle_seconds=2", "executor.generate.cpus=1")
	return with(words, keys...)
}

// faults makes the faults of the cluster.
func (s *site) faults() {
	s.prepare()
	s.watch = s.startWatch()
	defer s.watch.stop()
	s.each(ofCluster)
}

// fewDraws are settings for a run of all units in a quarter of a minute.
var fewDraws = []string{
	"experiment.budgets=[8, 16]", "replay.case_study.budget=16",
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
	run := func(out string) []string {
		return with([]string{"run", "replay", "report", "--config", drill.FromRoot(*config), "--out", out}, keys...)
	}
	want := s.Path("local")
	wantCPU := s.Do(0, append(run(want), "-j", "2")...).CPU().Seconds()
	s.Logf("local: CPU %.1f s", wantCPU)
	out, start := s.Path("slurm"), time.Now()
	p := s.Do(0, throughSlurm(run(out), "executor.element_minutes=2")...)
	w := s.worked(out)
	s.Logf("Slurm: %.0f s, CPU %.1f s of the processes of %d jobs, %.1f s of the coordinator with Slurm's commands",
		time.Since(start).Seconds(), w.cpu, w.elements, p.CPU().Seconds())
	if w.ends != w.elements {
		s.Errorf("%d of %d elements ended by themselves: something was retried, and the CPU time is not whole", w.ends, w.elements)
	}
	const most = 1.10
	ratio := (w.cpu + p.CPU().Seconds()) / wantCPU
	s.Logf("CPU through Slurm: %.3f times that of the local run", ratio)
	if ratio > most && !s.Small { // with few draws a run consists of starts of processes, and Slurm has more
		s.Errorf("want %.2f at most", most)
	}
	// report.html, manifests' times and the logs of jobs record when and where units ran.
	found := s.Compare(want, out)
	for _, d := range found {
		s.Logf("%v", d)
	}
	s.Logf("%d files compared", len(s.Results(want)))
	if len(found) > 0 {
		s.Errorf("%d files differ", len(found))
	}
}

// gpusOfNode is the number of GPUs of a node, in name only.
const gpusOfNode = 8

// gpus runs the stages that start servers on nodes with GPUs, requeues an element while
// it samples rollouts, and checks the servers, the requests and what is left.
func (s *site) gpus() {
	s.experiment(true) // its fleet judges
	port, out := s.FreePorts(gpusOfNode), s.Path("out")
	s.writeLaunched(port)
	p := s.Start(throughSlurm([]string{"run", "--until", "systems", "--config", s.Path("launched.toml"), "--out", out},
		"executor.systems.cpus=1", "executor.element_minutes=0.05")...)

	const enough = 100 // rollouts
	p.Until(func() bool { return len(s.Stored(out)) >= enough })
	running := s.running()
	if len(running) == 0 {
		s.Fatal("rollouts come in and no element runs")
	}
	job := s.slurm("scontrol", "show", "job", running[0])
	for _, want := range []string{fmt.Sprintf("gres:gpu:%d", gpusOfNode), "OverSubscribe=NO"} {
		if !strings.Contains(job, want) {
			s.Fatalf("the job of generate does not have %s:\n%s", want, job)
		}
	}
	s.slurm("scontrol", append([]string{"requeue"}, running...)...)
	launched := func() []int { return drill.Processes(s.Dir + "/requests-") }
	s.Until("the end of the servers", func() bool { return len(launched()) == 0 })
	before, logs := s.Stored(out), tails{}
	requests := func() (all []int64) { // since the last call
		for i := range gpusOfNode {
			all = append(all, logs.requests(s.Lab, s.Path(fmt.Sprintf("requests-%d.jsonl", port+i)))...)
		}
		return all
	}
	requests()
	s.Logf("%v requeued with %d rollouts stored: gres/gpu:%d, a node of its own", running, len(before), gpusOfNode)
	p.Wait()
	p.Says(0)
	asked := requests()
	if again := sentAgain(asked, before); len(again) > 0 || len(asked) == 0 {
		s.Errorf("of %d requests, %d are for stored rollouts", len(asked), len(again))
	}
	s.Logf("%d requests since the requeue", len(asked))
	s.checkServers()
	if servers, elements := launched(), elementProcesses(out); len(servers)+len(elements) > 0 {
		s.Errorf("left over: processes %v %v", servers, elements)
	}
}

// writeLaunched writes the experiment with a worker that launches servers: imitations that
// log where they were started and their requests.
func (s *site) writeLaunched(port int) {
	server := s.Path("vllm-imitation")
	settings := s.settings(true)
	for _, model := range settings["model"].([]drill.Settings) {
		model["path"] = "weights"
	}
	settings["systems"].(drill.Settings)["engine"] = "vllm"
	settings["systems"].(drill.Settings)["replicas"] = gpusOfNode
	settings["worker"] = []drill.Settings{{"name": "node", "launch": server + " {model}", "port": port}}
	s.WriteConfig(s.Path("launched.toml"), settings)
	// GPU of CUDA, job and port of a server go into a line of their own file.
	script := fmt.Sprintf(`#!/bin/sh
while [ $# -gt 0 ]; do
	case $1 in
	--port) port=$2 ;;
	--served-model-name) model=$2 ;;
	esac
	shift
done
echo "$SLURM_ARRAY_JOB_ID"_"$SLURM_ARRAY_TASK_ID $(hostname) $CUDA_VISIBLE_DEVICES $port" >>'%[1]s/servers.txt'
exec '%[2]s' fleet --config '%[3]s' --replicas 1 --port "$port" --model "$model" --speed 10 --log "%[1]s/requests-$port.jsonl"
`, s.Dir, s.Program, s.config)
	s.OK(os.WriteFile(server, []byte(script), 0o777))
}

// checkServers checks that every start of a worker had each GPU of a node once.
func (s *site) checkServers() {
	elements, started := make(map[string]bool), make(map[string]bool)
	for line := range strings.Lines(string(s.Read(s.Path("servers.txt")))) {
		words := strings.Fields(line)
		if len(words) != 4 || strings.Contains(words[2], ",") {
			s.Fatalf("a server was started with the GPUs %q", line)
		}
		elements[words[0]], started[words[0]+" "+words[2]] = true, true
	}
	for element := range elements {
		for gpu := range gpusOfNode {
			if !started[fmt.Sprintf("%s %d", element, gpu)] {
				s.Errorf("element %s started no server on GPU %d", element, gpu)
			}
		}
	}
	s.Logf("%d elements started servers, one on each of %d GPUs of a node", len(elements), gpusOfNode)
}
