package launcher

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// Recipe says how the servers of one worker are started, whatever they serve. In its texts
// {model}, {port} and {replica} stand for the model's path, the replica's port and number.
type Recipe struct {
	Command     string   // such as "vllm serve {model}"; quotes keep blanks together
	Arguments   []string // words after the setting's; they win
	Environment []string // KEY=VALUE; they win, too
	Port        int      // of replica 0; replica i has Port+i
	Replicas    int      // one per GPU
	GPUs        []string // that this process may use, as CUDA calls them, one for each replica; nil: all, by number
}

// Model is the model that all replicas serve.
type Model struct {
	Path            string   // folder or name of the checkpoint
	Served          string   // name in requests
	MaxSequences    int      // the engine's limit of running sequences
	ContextTokens   int      // longest prompt and answer together
	ReasoningParser string   // "" none
	ThinkingBudget  bool     // requests will carry one
	Flags           []string // further ones, by which servers load it
}

const (
	host        = "127.0.0.1"    // that servers listen on
	keyVariable = "VLLM_API_KEY" // where vLLM takes the key that clients must send
)

// words is the command of a replica: the recipe's command, the flags of the
// paper's setting, the recipe's arguments.
func (r Recipe) words(m Model, replica int) ([]string, error) {
	words, err := split(r.Command)
	if err != nil {
		return nil, fmt.Errorf("launch command: %w", err)
	}
	words = append(r.fill(m, replica, words),
		"--host", host,
		"--port", strconv.Itoa(r.Port+replica),
		"--served-model-name", m.Served,
		"--tensor-parallel-size", "1",
		"--dtype", "bfloat16",
		"--max-model-len", strconv.Itoa(m.ContextTokens),
		"--gpu-memory-utilization", "0.9", // the paper's share
		"--max-num-seqs", strconv.Itoa(m.MaxSequences),
		"--no-enable-prefix-caching",
		"--generation-config", "vllm",
	)
	if m.ReasoningParser != "" {
		words = append(words, "--reasoning-parser", m.ReasoningParser)
	}
	words = append(words, m.Flags...)
	// Requests carry seeds of their own; the server's differ so that none that
	// does not can draw what another replica draws.
	words = append(words, "--seed", strconv.Itoa(replica), "--disable-uvicorn-access-log")
	return append(words, r.fill(m, replica, r.Arguments)...), nil
}

// variables lists what a replica's environment has in addition to its parent's, as
// KEY=VALUE; of a name that is there twice, the last counts. The key that clients
// must send is among them unless it is "".
func (r Recipe) variables(m Model, replica int, key string) []string {
	gpu := strconv.Itoa(replica)
	if r.GPUs != nil {
		gpu = r.GPUs[replica]
	}
	all := []string{
		"CUDA_VISIBLE_DEVICES=" + gpu,
		"HF_HUB_OFFLINE=1",
		"TRANSFORMERS_OFFLINE=1",
		"VLLM_HTTP_TIMEOUT_KEEP_ALIVE=120", // seconds: longer than clients keep an idle connection
		"VLLM_NO_USAGE_STATS=1",
	}
	if m.ThinkingBudget { // which in 0.23 the second model runner refuses
		all = append(all, "VLLM_USE_V2_MODEL_RUNNER=0")
	}
	if key != "" {
		all = append(all, keyVariable+"="+key)
	}
	return append(all, r.fill(m, replica, r.Environment)...)
}

// url is where a replica listens.
func (r Recipe) url(replica int) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(r.Port+replica))
}

// fill puts the values of a replica in the place of their names in texts.
func (r Recipe) fill(m Model, replica int, texts []string) (filled []string) {
	values := strings.NewReplacer("{model}", m.Path, "{port}", strconv.Itoa(r.Port+replica), "{replica}", strconv.Itoa(replica))
	for _, text := range texts {
		filled = append(filled, values.Replace(text))
	}
	return filled
}

var (
	wordPattern   = regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+`)
	quotedPattern = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)
)

// split takes a command line apart at blanks. Single and double quotes keep
// blanks in a word; nothing else of a shell is known.
func split(line string) ([]string, error) {
	words := wordPattern.FindAllString(line, -1)
	if strings.TrimSpace(wordPattern.ReplaceAllString(line, "")) != "" {
		return nil, fmt.Errorf("a quote is not closed in %q", line)
	}
	if len(words) == 0 {
		return nil, errors.New("it is empty; a usual one is: vllm serve {model}")
	}
	for i, word := range words {
		words[i] = quotedPattern.ReplaceAllString(word, "$1$2")
	}
	return words, nil
}
