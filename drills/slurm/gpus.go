package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	undisturbed "speceval/drills/lab"
	"speceval/internal/rollout"
)

// gpusOfNode are those of a node, in name only.
const gpusOfNode = 8

// rack is a lab whose nodes have GPUs, with an experiment that launches servers.
type rack struct {
	*lab
	config string
	out    string
}

// gpus runs the stages that start servers on nodes with GPUs, has an element
// requeued in its midst, and checks what was started, asked and left.
func gpus(ctx context.Context, o options, dir string, stdout io.Writer) (err error) {
	l, err := newLab(ctx, o, dir, stdout, "--gpus", fmt.Sprint(gpusOfNode))
	if err != nil {
		return err
	}
	defer func() { err = l.end(err) }()
	experiment, err := undisturbed.NewExperiment(l.dir, undisturbed.Small)
	if err != nil {
		return err
	}
	judge, err := (&undisturbed.Lab{Dir: l.dir, Program: l.binary}).Serve(ctx, "fleet.txt", experiment.Configuration(), experiment.URLs, "--speed", fmt.Sprint(l.speed))
	if err != nil {
		return err
	}
	defer judge.Kill()
	r := &rack{l, l.path("launched.toml"), l.path("out")}
	if err := r.configure(experiment); err != nil {
		return err
	}
	c, err := r.start(slices.Concat([]string{"run", "--until", "systems", "--config", r.config, "--out", r.out},
		throughSlurm("executor.systems.cpus=1", "executor.element_minutes=0.05"))...)
	if err != nil {
		return err
	}
	defer c.Kill()
	before, err := r.requeue(ctx, c)
	if err != nil {
		return err
	}
	if err := c.Succeed(ctx); err != nil {
		return err
	}
	return errors.Join(r.checkRequests(before), r.checkServers(), r.checkEnd())
}

// configure writes the experiment with a worker that launches servers: imitations,
// which note where they were started and what they are asked.
func (r *rack) configure(e *undisturbed.Experiment) error {
	text, err := os.ReadFile(e.Configuration())
	if err != nil {
		return err
	}
	port, err := freePorts(gpusOfNode)
	if err != nil {
		return err
	}
	head, rest, _ := strings.Cut(string(text), "[[worker]]")
	_, judge, ok := strings.Cut(rest, "[judge]")
	if !ok {
		return errors.New("the experiment has no worker before its judge")
	}
	head = strings.Replace(head, "[systems]\nreplicas = 4\n", fmt.Sprintf("[systems]\nengine = \"vllm\"\nreplicas = %d\n", gpusOfNode), 1)
	head = strings.ReplaceAll(head, "\nid = \"qwen", "\npath = \"weights\"\nid = \"qwen")
	worker := fmt.Sprintf("[[worker]]\nname = \"node\"\nlaunch = \"%s {model}\"\nport = %d\n\n[judge]", r.server(), port)
	if err := os.WriteFile(r.config, []byte(head+worker+judge), 0o666); err != nil {
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
`, r.dir, r.binary, e.Configuration(), max(1, r.speed/30))
	return os.WriteFile(r.server(), []byte(script), 0o777)
}

// server is the program that is launched as a server.
func (r *rack) server() string { return r.path("vllm-imitation") }

// freePorts is the first of so many ports in a row at which nobody listens.
func freePorts(n int) (int, error) {
next:
	for port := 21000; port < 30000; port += n {
		for i := range n {
			listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+i))
			if err != nil {
				continue next
			}
			listener.Close()
		}
		return port, nil
	}
	return 0, fmt.Errorf("no %d free ports in a row", n)
}

// asked is what servers had been asked, and what was stored, at a moment.
type asked struct {
	lines  map[string]int // of each log
	stored map[int64]bool // seeds
}

// requeue waits until a part of the rollouts is stored, has the element requeued
// that samples them, and returns what was there before it starts again.
func (r *rack) requeue(ctx context.Context, c *command) (*asked, error) {
	const enough = 100 // rollouts
	if err := c.Until(ctx, func() (bool, error) {
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
	a, err := r.quiet(ctx)
	if err != nil {
		return nil, err
	}
	r.printf("%v requeued with %d rollouts stored: gres/gpu:%d, a node of its own", running, len(a.stored), gpusOfNode)
	return a, nil
}

// quiet waits until no server is left, and tells what there was.
func (r *rack) quiet(ctx context.Context) (*asked, error) {
	for {
		pids, err := r.servers()
		if err != nil {
			return nil, err
		}
		if len(pids) == 0 {
			break
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	a := &asked{stored: make(map[int64]bool)}
	stored, err := rollout.Stored(r.out)
	for _, p := range stored {
		a.stored[p.Seed] = true
	}
	if err != nil {
		return nil, err
	}
	a.lines, err = r.lines()
	return a, err
}

// servers are the processes of launched servers.
func (r *rack) servers() ([]int, error) {
	return found(func(words []byte) bool { return bytes.Contains(words, []byte(r.dir+"/requests-")) })
}

// lines counts the requests in each log.
func (r *rack) lines() (map[string]int, error) {
	files, err := filepath.Glob(r.path("requests-*.jsonl"))
	if err != nil {
		return nil, err
	}
	n := make(map[string]int)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		n[file] = bytes.Count(text, []byte("\n"))
	}
	return n, nil
}

// checkRequests counts the rollouts that were asked for again though they had been
// stored.
func (r *rack) checkRequests(before *asked) error {
	now, err := r.lines()
	if err != nil {
		return err
	}
	total, again := 0, 0
	for file, n := range now {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		total += n
		for _, line := range bytes.Split(text, []byte("\n"))[before.lines[file]:n] {
			var request struct {
				Seed *int64 `json:"seed"`
			}
			if err := json.Unmarshal(line, &request); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if request.Seed != nil && before.stored[*request.Seed] {
				again++
			}
		}
	}
	r.printf("%d requests in all; %d for rollouts that had been stored before the requeue", total, again)
	if again > 0 {
		return fmt.Errorf("%d stored rollouts were asked for again", again)
	}
	return nil
}

// checkServers sees to it that every start of a worker had each GPU of a node once.
func (r *rack) checkServers() error {
	text, err := os.ReadFile(r.path("servers.txt"))
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
	r.printf("%d servers started by %d elements, one on each of %d GPUs of a node", starts, len(elements), gpusOfNode)
	return nil
}

// checkEnd sees to it that nothing is left of jobs and servers.
func (r *rack) checkEnd() error {
	servers, err := r.servers()
	if err != nil {
		return err
	}
	elements, err := processes(r.out)
	if err != nil {
		return err
	}
	r.printf("%d servers and %d elements left", len(servers), len(elements))
	if len(servers)+len(elements) > 0 {
		return fmt.Errorf("left over: processes %v %v", servers, elements)
	}
	return nil
}
