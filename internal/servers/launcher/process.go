package launcher

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one run of a server's command, in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	keeper io.Closer     // ends the group when it is closed, or when this program is killed
	exited chan struct{} // closed when the server is gone
	log    string
	header string // above the lines of this run in the log
}

// launch starts a command whose output goes to the end of a log file, below a line that
// says when and what, as a shell takes it, but for the key.
func launch(words, parent, variables []string, log string, now time.Time, grace time.Duration) (*process, error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o777); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the process has it, too
	shown := slices.DeleteFunc(slices.Concat(variables, words), func(word string) bool { return strings.HasPrefix(word, keyVariable+"=") })
	header := fmt.Sprintf("== %s env %s\n", now.Format(time.RFC3339Nano), strings.Trim(fmt.Sprintf("%q", shown), "[]"))
	if _, err := file.WriteString(header); err != nil {
		return nil, err
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = slices.Concat(parent, variables) // the last of a name counts
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", words[0], err)
	}
	p := &process{cmd: cmd, exited: make(chan struct{}), log: log, header: header}
	keeper := exec.Command("/bin/sh", "-c", keeping, "keeper", strconv.Itoa(cmd.Process.Pid), strconv.Itoa(int(grace.Seconds())))
	keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's signals do not reach it
	if p.keeper, err = keeper.StdinPipe(); err == nil {
		err = keeper.Start()
	}
	if err != nil {
		p.kill()
		_ = cmd.Wait() // killed
		return nil, fmt.Errorf("start the shell that ends servers should this program be killed: %w", err)
	}
	go func() {
		_ = cmd.Wait() // what it says is in the state
		p.kill()       // an engine that lost its server holds memory
		_ = keeper.Process.Kill()
		_ = keeper.Wait() // killed
		close(p.exited)
	}()
	return p, nil
}

// keeping is a shell's script. It waits until the other end of its input is closed,
// and then ends the process group $1: by SIGTERM, and by SIGKILL after $2 seconds.
const keeping = `trap "" HUP INT TERM
read -r nothing
kill -s TERM -- "-$1"
for second in $(seq "$2"); do
  kill -s 0 -- "-$1" || exit 0
  sleep 1
done
kill -s KILL -- "-$1"`

// kill ends all processes of the group at once; it ignores processes that are gone.
func (p *process) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// running reports whether the server is still there.
func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// stop ends the group politely, and by force after the grace, or at once when ctx
// is done. It returns when the server is gone.
func (p *process) stop(ctx context.Context) {
	_ = p.keeper.Close() // again, if it was stopped before
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.kill()
		<-p.exited
	}
}

// words quotes from what this run wrote why it ended.
func (p *process) words() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	_, text, _ = bytes.Cut(text, []byte(p.header))
	return "    " + strings.Join(cause(string(text)), "\n    ")
}
