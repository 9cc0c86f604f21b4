package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is a program that runs beside the drill, its output in a file.
type process struct {
	command *exec.Cmd
	output  string
	ended   chan struct{} // closed when it has ended
}

func start(output string, environment []string, program string, args ...string) (*process, error) {
	file, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the process has it, too
	p := &process{command: exec.Command(program, args...), output: output, ended: make(chan struct{})}
	p.command.Env, p.command.Stdout, p.command.Stderr = environment, file, file
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

// code is the exit code of a process that has ended, -1 if a signal ended it.
func (p *process) code() int { return p.command.ProcessState.ExitCode() }

// last is the end of the output, for messages.
func (p *process) last() string {
	text, err := os.ReadFile(p.output)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-12):], []byte("\n")))
}

// commands lists the words of the command of every process on this machine.
func commands() map[int][]string {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	all := make(map[int][]string)
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if text, err := os.ReadFile(path); err == nil { // otherwise it has ended
			all[pid] = strings.Split(string(text), "\x00")
		}
	}
	return all
}

// groupOn is the process group of the server that was started with a port, 0
// if there is none.
func groupOn(port int) int {
	for pid, words := range commands() {
		for i, word := range words[:len(words)-1] {
			if word == "--port" && words[i+1] == strconv.Itoa(port) {
				if group, err := syscall.Getpgid(pid); err == nil {
					return group
				}
			}
		}
	}
	return 0
}
