package launcher

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// keeping waits until nobody holds the other end of its input, and then ends the
// process group $1: politely, and by force after $2 seconds.
const keeping = `read -r nothing
kill -s TERM -- "-$1" 2>/dev/null
for second in $(seq "$2"); do
  kill -s 0 -- "-$1" 2>/dev/null || exit 0
  sleep 1
done
kill -s KILL -- "-$1" 2>/dev/null`

// keeper is a shell beside a server that ends the whole group of it should we
// be killed. The kernel tells the server alone, and not its engine.
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
