package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"speceval/internal/clock"
)

const (
	// grace is how long a server may take to end after SIGTERM.
	grace = 15 * time.Second
	// lastLines is how many lines of a log an error quotes when they name no
	// cause, and tailBytes where at most they are looked for.
	lastLines = 12
	tailBytes = 128 << 10
)

// process is one run of a server's command.
type process struct {
	cmd    *exec.Cmd
	log    string
	keeper *keeper       // ends it if we cannot; nil if there is none
	begin  int64         // where in the log this run's lines begin
	asked  atomic.Bool   // to end
	exited chan struct{} // closed when the process is gone
	state  string        // how it ended; to be read after exited
}

// launch starts a command whose output goes to the end of a log file, below a
// line that says when and what. The key is in the environment, not in the log.
func launch(words, parent, variables []string, log string, now time.Time) (*process, error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the process has it, too
	if _, err := fmt.Fprintf(file, "== %s %s\n", now.Format(time.RFC3339), line(variables, words)); err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(append([]string{}, parent...), variables...) // the last of a name counts
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", words[0], err)
	}
	p := &process{cmd: cmd, log: log, begin: info.Size(), exited: make(chan struct{})}
	p.keeper, err = keep(cmd.Process.Pid, grace)
	go p.wait()
	if err != nil {
		p.signal(syscall.SIGKILL)
		<-p.exited
		return nil, err
	}
	return p, nil
}

// line is a command as a shell would take it, its key hidden.
func line(variables, words []string) string {
	var parts []string
	for _, variable := range variables {
		if name(variable) == keyVariable {
			variable = keyVariable + "=…"
		}
		parts = append(parts, quoted(variable))
	}
	for _, word := range words {
		parts = append(parts, quoted(word))
	}
	return strings.Join(parts, " ")
}

func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"$`\\{}()*?;&|<>#~") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (p *process) wait() {
	_ = p.cmd.Wait() // what it says is in the state
	p.state = p.cmd.ProcessState.String()
	p.signal(syscall.SIGKILL) // an engine that lost its server holds memory
	if p.keeper != nil {
		p.keeper.dismiss()
	}
	close(p.exited)
}

// signal reaches all processes of the group; those that are gone do not matter.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// running says whether the process is still there.
func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// stop asks the group to end, and ends it after the grace, or at once when ctx
// is done. It returns when the process is gone.
func (p *process) stop(ctx context.Context, c clock.Clock) {
	if !p.running() {
		return
	}
	p.asked.Store(true)
	p.signal(syscall.SIGTERM)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	go func() {
		_ = c.Sleep(ctx, grace) // either way the grace is over
		close(over)
	}()
	select {
	case <-p.exited:
		return
	case <-over:
	}
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// words quotes from what this run wrote why it ended: the error, or the last
// lines if there is none.
func (p *process) words() string {
	file, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	from := p.begin
	if info, err := file.Stat(); err == nil {
		from = max(from, info.Size()-tailBytes)
	}
	text, err := io.ReadAll(io.NewSectionReader(file, from, tailBytes))
	if err != nil {
		return err.Error()
	}
	lines := cause(string(text))
	if lines == nil {
		lines = strings.Split(strings.TrimSpace(string(text)), "\n")
		lines = lines[max(0, len(lines)-lastLines):]
	}
	if lines[0] == "" {
		return "    (it wrote nothing)"
	}
	return "    " + strings.Join(lines, "\n    ")
}

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

// Variables lists what a replica's environment has in addition to its parent's, as
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

// keeping waits until the other end of its input is closed, and then ends the
// process group $1: by SIGTERM, and by SIGKILL after $2 seconds.
const keeping = `read -r nothing
kill -s TERM -- "-$1" 2>/dev/null
for second in $(seq "$2"); do
  kill -s 0 -- "-$1" 2>/dev/null || exit 0
  sleep 1
done
kill -s KILL -- "-$1" 2>/dev/null`

// keeper is a shell that runs next to a server and ends the server's process group
// if this process is killed. The kernel signals the server alone, not its engine.
type keeper struct {
	shell *exec.Cmd
	alive io.Closer // our end of its input
}

// keep starts the keeper of a process group. Signals that a terminal sends to
// our group do not reach it.
func keep(group int, grace time.Duration) (*keeper, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close() // the shell has it, too
	shell := exec.Command("/bin/sh", "-c", keeping, "keeper", strconv.Itoa(group), strconv.Itoa(int(grace.Seconds())))
	shell.Stdin = theirs
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := shell.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("start the shell that ends servers should this program be killed: %w", err)
	}
	return &keeper{shell, ours}, nil
}

// dismiss ends the keeper, whose group has ended.
func (k *keeper) dismiss() {
	_ = k.shell.Process.Kill()
	_ = k.shell.Wait() // killed
	k.alive.Close()
}
