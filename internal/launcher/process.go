package launcher

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"speceval/internal/clock"
	"speceval/internal/ownfile"
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
	file, err := ownfile.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
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
	file, err := ownfile.Open(p.log)
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
