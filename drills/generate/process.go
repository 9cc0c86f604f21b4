package main

import (
	"bytes"
	"os"
	"os/exec"
)

// process is a program that runs beside the drill, its output in a file.
type process struct {
	command *exec.Cmd
	output  string
	ended   chan struct{} // closed when it has ended and was waited for
}

func start(output, program string, args ...string) (*process, error) {
	file, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{command: exec.Command(program, args...), output: output, ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = file, file
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.command.Wait() // its outcome is in ProcessState
		close(p.ended)
	}()
	return p, nil
}

// kill sends SIGKILL and waits for the end. It may be called again.
func (p *process) kill() {
	p.command.Process.Kill()
	<-p.ended
}

// gone tells whether the process has ended.
func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// code is the exit code of a process that has ended, -1 if a signal ended it.
func (p *process) code() int { return p.command.ProcessState.ExitCode() }

// last is the end of the output, for messages.
func (p *process) last() string {
	text, err := os.ReadFile(p.output)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-10):], []byte("\n")))
}
