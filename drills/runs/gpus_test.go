//go:build drill

package runs_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"speceval/drills/drill"
	"speceval/internal/rollout"
)

// gpusOfNode is the number of GPUs of a node, in name only.
const gpusOfNode = 8

// rack is a site whose nodes have GPUs, with an experiment that launches servers.
type rack struct {
	*site
	config string
	out    string
	logs   []arrivals // of the servers
}

// gpus runs the stages that start servers on nodes with GPUs, requeues an element while
// it samples rollouts, and checks the servers, the requests and what is left.
func (s *site) gpus() {
	e := newExperiment(s.Lab, short)
	s.Serve("fleet.txt", e.config, e.urls, "--speed", fleetSpeed(300)) // the judge
	r := &rack{site: s, config: s.Path("launched.toml"), out: s.Path("out")}
	r.configure(e)
	p := r.Start(append([]string{"run", "--until", "systems", "--config", r.config, "--out", r.out},
		throughSlurm("executor.systems.cpus=1", "executor.element_minutes=0.05")...)...)
	before := r.requeueGenerate(p)
	p.Wait()
	p.Says(0)
	r.checkRequests(before)
	r.checkServers()
	if servers, elements := r.servers(), elementProcesses(r.out); len(servers)+len(elements) > 0 {
		r.Errorf("left over: processes %v %v", servers, elements)
	}
}

// configure writes the experiment with a worker that launches servers: imitations that
// log where they were started and their requests.
func (r *rack) configure(e *experiment) {
	port := r.FreePorts(gpusOfNode)
	for i := range gpusOfNode {
		r.logs = append(r.logs, arrivals{log: tail{path: r.Path(fmt.Sprintf("requests-%d.jsonl", port+i))}})
	}
	server := r.Path("vllm-imitation")
	settings := e.settings(short)
	for _, model := range settings["model"].([]drill.Settings) {
		model["path"] = "weights"
	}
	settings["systems"].(drill.Settings)["engine"] = "vllm"
	settings["systems"].(drill.Settings)["replicas"] = gpusOfNode
	settings["worker"] = []drill.Settings{{"name": "node", "launch": server + " {model}", "port": port}}
	r.WriteConfig(r.config, settings)
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
`, r.Dir, r.Program, e.config)
	r.OK(os.WriteFile(server, []byte(script), 0o777))
}

// requeueGenerate waits until a part of the rollouts is stored, requeues the element
// that samples them, and returns what was there before it starts again.
func (r *rack) requeueGenerate(p *drill.Process) map[int64]bool {
	const enough = 100 // rollouts
	p.Until(func() bool { return len(r.stored(r.out)) >= enough })
	running := r.running()
	if len(running) == 0 {
		r.Fatal("rollouts come in and no element runs")
	}
	job, err := r.slurm("scontrol", "show", "job", running[0])
	r.OK(err)
	for _, want := range []string{fmt.Sprintf("gres:gpu:%d", gpusOfNode), "OverSubscribe=NO"} {
		if !strings.Contains(job, want) {
			r.Fatalf("the job of generate does not have %s:\n%s", want, job)
		}
	}
	_, err = r.slurm("scontrol", append([]string{"requeue"}, running...)...)
	r.OK(err)
	for len(r.servers()) > 0 {
		r.Wait(20 * time.Millisecond)
	}
	stored := r.stored(r.out)
	r.Logf("%v requeued with %d rollouts stored: gres/gpu:%d, a node of its own", running, len(stored), gpusOfNode)
	for i := range r.logs {
		r.logs[i].read(r.Lab)
		r.logs[i].seeds = nil // the requests so far
	}
	return seedsOf(stored)
}

// stored are the rollouts that an output folder has.
func (s *site) stored(out string) []rollout.Place {
	places, err := rollout.Stored(out)
	s.OK(err)
	return places
}

// servers are the processes of launched servers.
func (r *rack) servers() []int { return processesWith(r.Dir + "/requests-") }

// checkRequests counts the rollouts that were requested again though they had been
// stored.
func (r *rack) checkRequests(stored map[int64]bool) {
	total, again := 0, 0
	for i := range r.logs {
		r.logs[i].read(r.Lab)
		total += len(r.logs[i].seeds)
		for _, seed := range r.logs[i].seeds {
			if stored[seed] {
				again++
			}
		}
	}
	r.Logf("%d requests since the requeue; %d for rollouts that had been stored before", total, again)
	if again > 0 || total == 0 {
		r.Errorf("of %d requests, %d are for stored rollouts", total, again)
	}
}

// checkServers checks that every start of a worker had each GPU of a node once.
func (r *rack) checkServers() {
	uses := make(map[string]int) // of a GPU by an element
	elements := make(map[string]bool)
	starts := 0
	for line := range strings.Lines(string(r.Read(r.Path("servers.txt")))) {
		words := strings.Fields(line)
		if len(words) != 4 || strings.Contains(words[2], ",") {
			r.Fatalf("a server was started with the GPUs %q", line)
		}
		starts++
		elements[words[0]] = true
		uses[words[0]+" "+words[2]]++
	}
	for element := range elements {
		for gpu := range gpusOfNode {
			if uses[fmt.Sprintf("%s %d", element, gpu)] == 0 {
				r.Fatalf("element %s started no server on GPU %d", element, gpu)
			}
		}
	}
	r.Logf("%d servers started by %d elements, one on each of %d GPUs of a node", starts, len(elements), gpusOfNode)
}
