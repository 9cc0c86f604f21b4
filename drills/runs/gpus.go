package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"speceval/drills/lab"
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
func (s *site) gpus(ctx context.Context, o slurmOptions) error {
	experiment, err := lab.NewExperiment(s.Dir, lab.Small)
	if err != nil {
		return err
	}
	judge, err := s.Serve(ctx, "fleet.txt", experiment.Config, experiment.URLs, "--speed", fmt.Sprint(o.speed))
	if err != nil {
		return err
	}
	defer judge.Kill()
	r := &rack{site: s, config: s.Path("launched.toml"), out: s.Path("out")}
	if err := r.configure(experiment, o.speed); err != nil {
		return err
	}
	p, err := r.Start(append([]string{"run", "--until", "systems", "--config", r.config, "--out", r.out},
		throughSlurm("executor.systems.cpus=1", "executor.element_minutes=0.05")...)...)
	if err != nil {
		return err
	}
	defer p.Kill()
	before, err := r.requeueGenerate(ctx, p)
	if err != nil {
		return err
	}
	if err := p.Succeed(ctx); err != nil {
		return err
	}
	return errors.Join(r.checkRequests(before), r.checkServers(), r.checkEnd())
}

// configure writes the experiment with a worker that launches servers: imitations that
// log where they were started and their requests.
func (r *rack) configure(e *lab.Experiment, speed float64) error {
	port, err := lab.FreePorts(gpusOfNode)
	if err != nil {
		return err
	}
	for i := range gpusOfNode {
		r.logs = append(r.logs, arrivals{log: tail{path: r.Path(fmt.Sprintf("requests-%d.jsonl", port+i))}})
	}
	server := r.Path("vllm-imitation")
	settings := e.Settings(lab.Small)
	for _, model := range settings["model"].([]lab.Settings) {
		model["path"] = "weights"
	}
	settings["systems"].(lab.Settings)["engine"] = "vllm"
	settings["systems"].(lab.Settings)["replicas"] = gpusOfNode
	settings["worker"] = []lab.Settings{{"name": "node", "launch": server + " {model}", "port": port}}
	if err := lab.WriteConfig(r.config, settings); err != nil {
		return err
	}
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
exec '%[2]s' fleet --config '%[3]s' --replicas 1 --port "$port" --model "$model" --speed %[4]g --log "%[1]s/requests-$port.jsonl"
`, r.Dir, r.Program, e.Config, max(1, speed/30))
	return os.WriteFile(server, []byte(script), 0o777)
}

// requeueGenerate waits until a part of the rollouts is stored, requeues the element
// that samples them, and returns what was there before it starts again.
func (r *rack) requeueGenerate(ctx context.Context, p *lab.Process) (map[int64]bool, error) {
	const enough = 100 // rollouts
	if err := p.Until(ctx, func() (bool, error) {
		stored, err := rollout.Stored(r.out)
		return len(stored) >= enough, err
	}); err != nil {
		return nil, fmt.Errorf("wait for rollouts: %w", err)
	}
	running, err := r.running(ctx)
	if err != nil || len(running) == 0 {
		return nil, errors.Join(err, errors.New("rollouts come in and no element runs"))
	}
	job, err := r.slurm(ctx, "scontrol", "show", "job", running[0])
	if err != nil {
		return nil, err
	}
	for _, want := range []string{fmt.Sprintf("gres:gpu:%d", gpusOfNode), "OverSubscribe=NO"} {
		if !strings.Contains(job, want) {
			return nil, fmt.Errorf("the job of generate does not have %s:\n%s", want, job)
		}
	}
	if _, err := r.slurm(ctx, "scontrol", append([]string{"requeue"}, running...)...); err != nil {
		return nil, err
	}
	for { // until no server is left
		pids, err := r.servers()
		if err != nil {
			return nil, err
		}
		if len(pids) == 0 {
			break
		}
		if err := lab.Wait(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	stored, err := rollout.Stored(r.out)
	if err != nil {
		return nil, err
	}
	r.Printf("%v requeued with %d rollouts stored: gres/gpu:%d, a node of its own", running, len(stored), gpusOfNode)
	for i := range r.logs {
		if err := r.logs[i].read(); err != nil {
			return nil, err
		}
		r.logs[i].seeds = nil // the requests so far
	}
	return seedsOf(stored), nil
}

// servers are the processes of launched servers.
func (r *rack) servers() ([]int, error) {
	return processesWith(r.Dir + "/requests-")
}

// checkRequests counts the rollouts that were requested again though they had been
// stored.
func (r *rack) checkRequests(stored map[int64]bool) error {
	total, again := 0, 0
	for i := range r.logs {
		if err := r.logs[i].read(); err != nil {
			return err
		}
		total += len(r.logs[i].seeds)
		for _, seed := range r.logs[i].seeds {
			if stored[seed] {
				again++
			}
		}
	}
	r.Printf("%d requests since the requeue; %d for rollouts that had been stored before", total, again)
	if again > 0 || total == 0 {
		return fmt.Errorf("of %d requests, %d are for stored rollouts", total, again)
	}
	return nil
}

// checkServers checks that every start of a worker had each GPU of a node once.
func (r *rack) checkServers() error {
	text, err := os.ReadFile(r.Path("servers.txt"))
	if err != nil {
		return err
	}
	uses := make(map[string]int) // of a GPU by an element
	elements := make(map[string]bool)
	starts := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 4 || strings.Contains(words[2], ",") {
			return fmt.Errorf("a server was started with the GPUs %q", line)
		}
		starts++
		elements[words[0]] = true
		uses[words[0]+" "+words[2]]++
	}
	for element := range elements {
		for gpu := range gpusOfNode {
			if uses[fmt.Sprintf("%s %d", element, gpu)] == 0 {
				return fmt.Errorf("element %s started no server on GPU %d", element, gpu)
			}
		}
	}
	r.Printf("%d servers started by %d elements, one on each of %d GPUs of a node", starts, len(elements), gpusOfNode)
	return nil
}

// checkEnd checks that no job and no server is left.
func (r *rack) checkEnd() error {
	servers, err := r.servers()
	if err != nil {
		return err
	}
	elements, err := elementProcesses(r.out)
	if err != nil {
		return err
	}
	r.Printf("%d servers and %d elements left", len(servers), len(elements))
	if len(servers)+len(elements) > 0 {
		return fmt.Errorf("left over: processes %v %v", servers, elements)
	}
	return nil
}
