package launcher

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Recipe says how the servers of one worker are started, whatever they serve.
// In its texts {model}, {port} and {replica} stand for the model's path, the
// replica's port and its number, from 0; other braces are left alone.
type Recipe struct {
	Command     string   // such as "vllm serve {model}"; quotes keep blanks together
	Arguments   []string // words after those of the setting; they win
	Environment []string // KEY=VALUE; they win, too
	Host        string   // that servers listen on; "" is 127.0.0.1
	Port        int      // of replica 0; replica i has Port+i
	Replicas    int      // one per GPU
	GPUs        []string // that this process may use, as CUDA calls them, one for each replica; nil: all, by number
	MemoryGiB   float64  // main memory that a replica needs; 0: not checked
}

// Model is what all replicas serve.
type Model struct {
	Path            string   // folder or name of the checkpoint
	Served          string   // name in requests
	MaxSequences    int      // the engine's limit of running sequences
	ContextTokens   int      // longest prompt and answer together
	ReasoningParser string   // "" none
	ThinkingBudget  bool     // requests will carry one
	Flags           []string // further ones, by which servers load it
}

// memoryUtilization is the share of a GPU's memory that the engine may use
// (paper, Rollout generation and scoring).
const memoryUtilization = "0.9"

// keepAlive is how many seconds a server keeps an idle connection: longer than
// clients do, so that none sends on a connection that is being closed.
const keepAlive = "120"

// keyVariable is where vLLM takes the key that clients must send.
const keyVariable = "VLLM_API_KEY"

// Words is the command of a replica: the recipe's command, the flags of the
// paper's setting, the recipe's arguments.
func (r Recipe) Words(m Model, replica int) ([]string, error) {
	if err := r.check(m); err != nil {
		return nil, err
	}
	words, err := split(r.Command)
	if err != nil {
		return nil, fmt.Errorf("launch command: %w", err)
	}
	if len(words) == 0 {
		return nil, errors.New("the launch command is empty; a usual one is: vllm serve {model}")
	}
	fill := r.filler(m, replica)
	for i := range words {
		words[i] = fill.Replace(words[i])
	}
	words = append(words, r.setting(m, replica)...)
	for _, argument := range r.Arguments {
		words = append(words, fill.Replace(argument))
	}
	return words, nil
}

// setting lists the flags that make a server the paper's.
func (r Recipe) setting(m Model, replica int) []string {
	flags := []string{
		"--host", r.host(),
		"--port", strconv.Itoa(r.Port + replica),
		"--served-model-name", m.Served,
		"--tensor-parallel-size", "1",
		"--dtype", "bfloat16",
		"--max-model-len", strconv.Itoa(m.ContextTokens),
		"--gpu-memory-utilization", memoryUtilization,
		"--max-num-seqs", strconv.Itoa(m.MaxSequences),
		"--no-enable-prefix-caching",
		"--generation-config", "vllm",
	}
	if m.ReasoningParser != "" {
		flags = append(flags, "--reasoning-parser", m.ReasoningParser)
	}
	flags = append(flags, m.Flags...)
	// Requests carry seeds of their own; the server's differ so that none that
	// does not can draw what another replica draws.
	return append(flags, "--seed", strconv.Itoa(replica), "--disable-uvicorn-access-log")
}

// Variables lists what a replica's environment has beside its parent's, as
// KEY=VALUE: the setting's, less those that the recipe sets, then the recipe's.
// The key that clients must send is among them unless it is "".
func (r Recipe) Variables(m Model, replica int, key string) []string {
	ours := []string{
		"CUDA_VISIBLE_DEVICES=" + r.gpu(replica),
		"HF_HUB_OFFLINE=1",
		"TRANSFORMERS_OFFLINE=1",
		"VLLM_HTTP_TIMEOUT_KEEP_ALIVE=" + keepAlive,
		"VLLM_NO_USAGE_STATS=1",
	}
	if m.ThinkingBudget {
		// In 0.23 the second model runner refuses budgets of thinking.
		ours = append(ours, "VLLM_USE_V2_MODEL_RUNNER=0")
	}
	if key != "" {
		ours = append(ours, keyVariable+"="+key)
	}
	fill := r.filler(m, replica)
	var theirs []string
	for _, variable := range r.Environment {
		theirs = append(theirs, fill.Replace(variable))
	}
	ours = slices.DeleteFunc(ours, func(variable string) bool {
		return slices.ContainsFunc(theirs, func(v string) bool { return name(v) == name(variable) })
	})
	return append(ours, theirs...)
}

// gpu is the one of a replica.
func (r Recipe) gpu(replica int) string {
	if replica < len(r.GPUs) {
		return r.GPUs[replica]
	}
	return strconv.Itoa(replica)
}

// URL is where a replica listens.
func (r Recipe) URL(replica int) string {
	return "http://" + r.address(replica)
}

func (r Recipe) address(replica int) string {
	return net.JoinHostPort(r.host(), strconv.Itoa(r.Port+replica))
}

func (r Recipe) host() string {
	if r.Host == "" {
		return "127.0.0.1"
	}
	return r.Host
}

func (r Recipe) filler(m Model, replica int) *strings.Replacer {
	return strings.NewReplacer("{model}", m.Path, "{port}", strconv.Itoa(r.Port+replica), "{replica}", strconv.Itoa(replica))
}

// check finds everything that is wrong with a recipe and a model.
func (r Recipe) check(m Model) error {
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(r.Replicas < 1, "replicas to launch: %d, at least 1", r.Replicas)
	fault(len(r.GPUs) > 0 && len(r.GPUs) < r.Replicas, "CUDA_VISIBLE_DEVICES leaves %d GPUs for %d replicas: ask for more, or start fewer (systems.replicas)", len(r.GPUs), r.Replicas)
	fault(r.Port < 1 || r.Port+r.Replicas-1 > 65535, "ports from %d for %d replicas: ports go from 1 to 65535", r.Port, r.Replicas)
	fault(m.Path == "", "a model without a path cannot be launched")
	fault(m.Served == "", "model %s has no served name", m.Path)
	fault(m.MaxSequences < 1, "model %s: at most %d sequences, at least 1", m.Path, m.MaxSequences)
	fault(m.ContextTokens < 1, "model %s: context of %d tokens, at least 1", m.Path, m.ContextTokens)
	for _, variable := range r.Environment {
		fault(name(variable) == "" || !strings.Contains(variable, "="), "environment %q is not KEY=VALUE", variable)
	}
	return errors.Join(faults...)
}

func name(variable string) string {
	key, _, _ := strings.Cut(variable, "=")
	return key
}
