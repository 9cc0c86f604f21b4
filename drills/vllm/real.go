package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	process "speceval/drills/lab"
	"speceval/internal/clock"
	"speceval/internal/conformance"
	"speceval/internal/launcher"
)

// Two servers at a time, one on each of two cores.
const (
	firstPort     = 8100
	contextTokens = 4096
	sequences     = 32
	key           = "drill"
	keepAlive     = 3 * time.Second
	startLimit    = 15 * time.Minute
)

// kinds are the two models, in the order of their cores.
var kinds = []string{"dense", "thinking"}

// recipe starts a server of a kind on a core of its own. Seeded sampling on a
// CPU cannot go on after a prompt that was split, so none is.
func recipe(o options, kind string, core int) launcher.Recipe {
	r := launcher.Recipe{
		Command: "'" + filepath.Join(o.dir, "env/bin/python") + "' -m vllm.entrypoints.openai.api_server --model {model}",
		Arguments: []string{
			"--load-format", "dummy", "--enforce-eager", "--kv-cache-memory-bytes", "134217728",
			"--no-enable-chunked-prefill", "--max-num-batched-tokens", "8192", "--distributed-executor-backend", "uni",
		},
		Environment: []string{
			"VLLM_CPU_OMP_THREADS_BIND=" + strconv.Itoa(core), "VLLM_CPU_NUM_OF_RESERVED_CPU=0",
			"VLLM_ENABLE_V1_MULTIPROCESSING=0", "OMP_NUM_THREADS=1", // the model runs in the engine's process
			fmt.Sprintf("VLLM_HTTP_TIMEOUT_KEEP_ALIVE=%d", int(keepAlive.Seconds())),
		},
		Port: firstPort + core, Replicas: 1,
	}
	if kind == "thinking" {
		r.Arguments = append(r.Arguments, "--language-model-only")
	}
	return r
}

func model(o options, kind string) launcher.Model {
	m := launcher.Model{Path: filepath.Join(o.dir, "models/dense"), Served: "dense", MaxSequences: sequences, ContextTokens: contextTokens}
	if kind == "thinking" {
		m.Path, m.Served = filepath.Join(o.dir, "models/hybrid"), "thinking"
		m.ReasoningParser, m.ThinkingBudget = "qwen3", true
	}
	return m
}

// target is what is checked, real or not.
func target(url, kind string) *conformance.Target {
	return &conformance.Target{
		URL: url, Model: kind, Context: contextTokens, Sequences: sequences, Thinking: kind == "thinking",
		Key: key, KeepAlive: keepAlive, Clock: clock.Wall{},
	}
}

// realResults makes all checks of two real servers.
func realResults(ctx context.Context, o options, dir string, stdout io.Writer) (map[string][]conformance.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(stdout, format+"\n", args...)
	}
	results := make(map[string][]conformance.Result)
	faults := make([]error, len(kinds))
	var group sync.WaitGroup
	for core, kind := range kinds {
		group.Go(func() {
			r, err := realResult(ctx, o, dir, kind, core, say)
			if err != nil {
				faults[core] = fmt.Errorf("%s: %w", kind, err)
				cancel()
				return
			}
			mu.Lock()
			results[kind] = r
			mu.Unlock()
		})
	}
	group.Wait()
	return results, errors.Join(faults...)
}

func realResult(ctx context.Context, o options, dir, kind string, core int, say func(string, ...any)) ([]conformance.Result, error) {
	begin := time.Now()
	servers, err := launcher.Start(ctx, recipe(o, kind, core), model(o, kind), launcher.Options{
		Logs: filepath.Join(dir, kind), Start: startLimit, Clock: clock.Wall{}, Environment: o.environment, Key: key,
		Report: func(line string) { say("%s: %s", kind, line) },
	})
	if err != nil {
		return nil, err
	}
	defer servers.Stop(context.WithoutCancel(ctx))
	say("%s: up after %.0f s", kind, time.Since(begin).Seconds())
	t := target(servers.URLs()[0], kind)
	t.Kill = func() error { return process.KillEngine(servers.Process(0)) }
	begin = time.Now()
	results := conformance.RunAll(ctx, t)
	say("%s: %d checks in %.0f s", kind, len(results), time.Since(begin).Seconds())
	return results, ctx.Err()
}
