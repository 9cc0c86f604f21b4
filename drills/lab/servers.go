package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"speceval/internal/clock"
	"speceval/internal/launcher"
	"speceval/pipeline/config"
)

// commands lists the words of the command of every process on this machine.
func commands() map[int][]string {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	all := make(map[int][]string)
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if text, err := os.ReadFile(path); err == nil { // otherwise it has ended
			all[pid] = strings.Split(string(text), "\x00")
		}
	}
	return all
}

// ProcessesWith lists the processes whose command line has this text. Its words are
// separated by zeros.
func ProcessesWith(text string) []int {
	var pids []int
	for pid, words := range commands() {
		if strings.Contains(strings.Join(words, "\x00"), text) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// GroupOn is the process group of the server that was started with a port, 0
// if there is none.
func GroupOn(port int) int {
	for pid, words := range commands() {
		for i, word := range words[:len(words)-1] {
			if word == "--port" && words[i+1] == strconv.Itoa(port) {
				if group, err := syscall.Getpgid(pid); err == nil {
					return group
				}
			}
		}
	}
	return 0
}

// GroupMembers lists the processes of a group that still run.
func GroupMembers(group int) []int {
	var all []int
	for pid, words := range commands() {
		if of, err := syscall.Getpgid(pid); err == nil && of == group && words[0] != "" { // one that has ended has no words
			all = append(all, pid)
		}
	}
	return all
}

// KillEngine kills the engine of a vLLM server, which is a process of its own in
// the server's group.
func KillEngine(group int) error {
	all := commands()
	var engines []int
	for _, pid := range GroupMembers(group) {
		if words := all[pid]; len(words) > 0 && strings.HasPrefix(words[0], "VLLM::EngineCore") {
			engines = append(engines, pid)
		}
	}
	if len(engines) != 1 {
		return fmt.Errorf("%d engines in the process group %d", len(engines), group)
	}
	return syscall.Kill(engines[0], syscall.SIGKILL)
}

// waitEvery is how often PortFreed and GroupGone poll.
const waitEvery = 100 * time.Millisecond

// PortFreed waits until nothing listens on a port of this machine.
func PortFreed(ctx context.Context, port int) error {
	for {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return listener.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("port %d: %w", port, errors.Join(err, ctx.Err()))
		case <-time.After(waitEvery):
		}
	}
}

// GroupGone waits until no process of a group runs.
func GroupGone(ctx context.Context, group int) error {
	for {
		left := GroupMembers(group)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("processes %v of the group %d still run: %w", left, group, ctx.Err())
		case <-time.After(waitEvery):
		}
	}
}

// health is the status with which a server answers /health, 0 without an answer.
func health(ctx context.Context, url string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
	return response.StatusCode
}

// Serve starts the fleet of an experiment by the program that is tried, with more
// flags, and waits until every server answers; one that imitates no vLLM has no /health.
// Its output goes to a log file in the lab's folder.
func (l *Lab) Serve(ctx context.Context, log, config string, urls []string, flags ...string) (*Process, error) {
	fleet, err := StartProgram(l.Path(log), nil, l.Program, append([]string{"fleet", "--config", config}, flags...)...)
	if err != nil {
		return nil, err
	}
	for _, url := range urls {
		if err := fleet.Until(ctx, func() (bool, error) { return health(ctx, url) != 0, nil }); err != nil {
			fleet.Kill()
			return nil, fmt.Errorf("the fleet, of which %s is to answer: %w", url, err)
		}
	}
	return fleet, nil
}

// FreeURLs finds ports of this machine that nothing listens on.
func FreeURLs(n int) ([]string, error) {
	var urls []string
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() // when all are found, so that they differ
		urls = append(urls, "http://"+listener.Addr().String())
	}
	return urls, nil
}

// FreePorts is the first of so many ports in a row that nothing listens on.
func FreePorts(n int) (int, error) {
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

// StartWorker starts the servers of an experiment's first worker with its first model,
// from a port on. Their output goes to a folder.
func StartWorker(ctx context.Context, e *config.Config, port int, logs string) (*launcher.Servers, error) {
	w, m := e.Workers[0], e.Models[0]
	return launcher.Start(ctx, launcher.Recipe{
		Command: w.Launch, Arguments: w.Arguments, Environment: w.Environment, Port: port, Replicas: e.Systems.Replicas,
	}, launcher.Model{Path: m.Path, Served: m.ID, MaxSequences: m.MaxSequences, ContextTokens: e.Sampling.ContextTokens}, launcher.Options{
		Logs: logs, Start: 15 * time.Minute, Clock: clock.Wall{}, Environment: os.Environ(),
	})
}
