package drill

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a program that runs next to the drill, its output in a file. It is killed
// when the test ends.
type Process struct {
	l       *Lab
	command *exec.Cmd
	output  string
	ended   chan struct{}
}

// StartProgram starts a program in the folder of the repository, whose output goes to a new file.
func (l *Lab) StartProgram(output string, program string, args ...string) *Process {
	l.Helper()
	l.OK(os.MkdirAll(filepath.Dir(output), 0o777))
	file, err := os.Create(output)
	l.OK(err)
	defer file.Close() // the process has it, too
	p := &Process{l: l, command: exec.Command(program, args...), output: output, ended: make(chan struct{})}
	p.command.Dir, p.command.Env = Root(), l.Environment
	p.command.Stdout, p.command.Stderr = file, file
	l.OK(p.command.Start())
	go func() {
		p.command.Wait() // its outcome is in ProcessState
		close(p.ended)
	}()
	l.Cleanup(p.Kill)
	return p
}

// Start starts a command of the program that is tried. Its output goes to a file in
// the folder logs.
func (l *Lab) Start(words ...string) *Process {
	l.Helper()
	*l.started++
	return l.StartProgram(l.Path("logs", fmt.Sprintf("%03d-%s.txt", *l.started, words[0])), l.Program, words...)
}

// Do runs a command of the program to its end, which must have this exit code.
func (l *Lab) Do(code int, words ...string) *Process {
	l.Helper()
	p := l.Start(words...)
	p.Wait()
	p.Says(code)
	return p
}

// Says ends the drill unless the process has ended with an exit code, and has printed
// some words.
func (p *Process) Says(code int, all ...string) {
	p.l.Helper()
	if p.Code() != code {
		p.l.Fatalf("%s: exit code %d, want %d:\n%s", strings.Join(p.command.Args, " "), p.Code(), code, p.Last())
	}
	for _, words := range all {
		if !strings.Contains(p.Text(), words) {
			p.l.Fatalf("%s does not say %q:\n%s", strings.Join(p.command.Args, " "), words, p.Last())
		}
	}
}

// Ended is closed when the process has ended and was waited for.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Gone reports whether the process has ended.
func (p *Process) Gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Wait waits for the end.
func (p *Process) Wait() {
	p.l.Helper()
	select {
	case <-p.ended:
	case <-p.l.Ctx.Done():
		p.l.OK(context.Cause(p.l.Ctx))
	}
}

// Until waits for something to happen while the process runs, and ends the drill if that
// ends first.
func (p *Process) Until(happens func() bool) {
	p.l.Helper()
	p.l.Until(strings.Join(p.command.Args, " "), func() bool {
		ended := p.Gone() // before the poll: what happened last is not missed
		if happens() {
			return true
		}
		if ended {
			p.l.Fatalf("%s ended too soon, exit code %d:\n%s", strings.Join(p.command.Args, " "), p.Code(), p.Last())
		}
		return false
	})
}

// Kill sends SIGKILL and waits for the end. It may be called again.
func (p *Process) Kill() {
	p.command.Process.Kill()
	<-p.ended
}

// KillAfter sends SIGKILL after a while, and reports whether the process was still
// running then.
func (p *Process) KillAfter(wait time.Duration) (hit bool) {
	p.l.Helper()
	select {
	case <-p.ended:
		return false
	case <-p.l.Ctx.Done():
		p.l.OK(context.Cause(p.l.Ctx))
	case <-time.After(wait):
	}
	p.Kill()
	return p.Code() == -1
}

// Signal sends a signal and does not wait.
func (p *Process) Signal(s os.Signal) error { return p.command.Process.Signal(s) }

// Code is the exit code of a process that has ended, -1 if a signal ended it.
func (p *Process) Code() int { return p.command.ProcessState.ExitCode() }

// CPU is the user and system time of a process that has ended, with its children that
// it has waited for.
func (p *Process) CPU() time.Duration {
	return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime()
}

// Memory is the largest resident set of a process that has ended, in bytes; 0 where
// the system does not report it.
func (p *Process) Memory() int64 {
	usage, ok := p.command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss
	}
	return usage.Maxrss << 10 // kilobytes
}

// Text is the whole output so far.
func (p *Process) Text() string {
	text, err := os.ReadFile(p.output)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Last is the end of the output, for messages.
func (p *Process) Last() string {
	const enough = 12 // lines
	lines := strings.Split(strings.TrimSpace(p.Text()), "\n")
	return strings.Join(lines[max(0, len(lines)-enough):], "\n")
}

// Serve starts the fleet of an experiment by the program that is tried, with more
// flags, and waits until every server answers.
func (l *Lab) Serve(log, config string, urls []string, flags ...string) *Process {
	l.Helper()
	fleet := l.StartProgram(l.Path(log), l.Program, append([]string{"fleet", "--config", config}, flags...)...)
	for _, url := range urls {
		fleet.Until(func() bool { return Health(l.Ctx, url) != 0 })
	}
	return fleet
}

// Health is the status with which a server answers /health, 0 without an answer.
func Health(ctx context.Context, url string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// FreeURLs are addresses of this machine that nothing listens on.
func (l *Lab) FreeURLs(n int) (urls []string) {
	l.Helper()
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		l.OK(err)
		defer listener.Close() // when all are found, so that they differ
		urls = append(urls, "http://"+listener.Addr().String())
	}
	return urls
}

// Processes lists the processes of this machine whose command line has a text, with zeros
// between its words.
func Processes(text string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	for _, path := range paths {
		words, err := os.ReadFile(path)
		if err == nil && len(words) > 0 && strings.Contains(string(words), text) { // otherwise it has ended
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}
