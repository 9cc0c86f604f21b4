// Package sandbox runs untrusted Python programs behind bubblewrap:
// without network, without the host's files and processes, within limits of
// time, memory, processes, files and output.
//
// A program gets namespaces of its own and sees the interpreter, its libraries
// and an empty scratch folder. Process 1 in there is a driver of ours that forks
// a process for every test; a program that takes control of it can only print
// answers, as any program may. The right answers are never passed into the sandbox.
//
// Nothing in there is shared memory, which would belong to no process, so what is
// made of it does not run: Pool, Queue, Lock and the like of the multiprocessing
// module, process pools, and maps without a file. Processes, pipes and threads do.
// Programs have no handlers for the ends of their children, whose time would be
// lost, and no locks on files, which may be the machine's: sqlite3 has databases in memory only. The stack is memory like any other: it may grow to 1 GiB, or half of the
// limit of memory if that is less, and programs may ask for more.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"golang.org/x/sync/semaphore"
)

// Limits that are the same for all programs. Those of time and memory are in
// [Settings].
const (
	MaxOutput    = 32 << 20 // bytes that a test may print, and of any other file
	MaxScratch   = 64 << 20 // bytes of the scratch folder, in addition to input and output
	MaxFiles     = 4096     // files in the scratch folder
	MaxProcesses = 64       // processes and threads at a time
	maxOpen      = 256      // open files of a process
)

// Settings are the limits of one test.
type Settings struct {
	Python string        // the interpreter, of version 3.9 or later: a name or a path
	CPU    time.Duration // of all processes of a test together; at least a millisecond
	Memory int64         // bytes, of each process and of all together; at least 64 MiB
	// Programs that run at a time, at least 1; the others wait.
	AtATime int
}

// wall bounds a test whose processes neither run nor sleep, but wait for a
// machine that has more to do. The driver knows the same bound.
func (s Settings) wall() time.Duration { return 10*s.CPU + 10*time.Second }

// Sandbox is a way to run programs. It may be used concurrently.
type Sandbox struct {
	settings Settings
	wrapper  string // path of bwrap
	python   interpreter
	programs *semaphore.Weighted // a place for each that has been started
	tests    *semaphore.Weighted // a place for each that runs
}

// holding calls do while it holds some of the places for tests: who holds all of them runs alone.
// Others wait in the order in which they came.
func (s *Sandbox) holding(ctx context.Context, places int, do func() error) error {
	if err := s.tests.Acquire(ctx, int64(places)); err != nil {
		return err
	}
	defer s.tests.Release(int64(places))
	return do()
}

// Program is Python source, and what it is run on.
type Program struct {
	Source string
	// Name of the function to call, "" for a program that is run as it is. A
	// function may have another name: it is a method of Solution or a function of
	// this name, or else the only public method of Solution or the last one that
	// takes as many arguments as there are, or else the last function that does.
	// Where none does, it is the last function of the program.
	Function string
	// Standard input of every test, or the arguments of the call, a JSON value a
	// line.
	Inputs []string
}

// End says how a test ended.
type End string

// The ways in which a test ends.
const (
	Finished    End = "exit"   // by itself, whatever its exit code
	Failed      End = "error"  // by an exception, which is the message
	TimeLimit   End = "time"   // it computed too long, or slept as long as it might have computed
	MemoryLimit End = "memory" // of one process or of all
	OutputLimit End = "output" // it printed more than MaxOutput
	FilesLimit  End = "files"  // it filled the scratch folder
	Crashed     End = "signal" // by a signal, whose number is the message
	Killed      End = "killed" // by SIGKILL, which the driver has not sent
	Broke       End = "broke"  // together with the sandbox, which the program has ended
	slept       End = "sleep"  // a time limit as well
	starved     End = "wall"   // another one
	returned    End = "result" // with the result of a function: finished
)

// Result is the result of a test.
type Result struct {
	End     End
	Message string        // see End
	Output  string        // what a finished program printed, or the result of a function as JSON
	CPU     time.Duration // of all its processes
}

// New prepares a sandbox, and tries it with a program of its own. The error says
// what is missing and how to get it.
func New(ctx context.Context, settings Settings) (*Sandbox, error) {
	if settings.CPU < time.Millisecond || settings.Memory < 64<<20 || settings.AtATime < 1 {
		return nil, fmt.Errorf("sandbox: %v of CPU, %d bytes and %d programs at a time are no limits to run in", settings.CPU, settings.Memory, settings.AtATime)
	}
	wrapper, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("sandbox: programs run behind bubblewrap or not at all: install it (Debian, Ubuntu and Fedora call the package bubblewrap): %w", err)
	}
	python, err := probe(ctx, settings.Python)
	if err != nil {
		return nil, err
	}
	places := int64(settings.AtATime)
	s := &Sandbox{settings, wrapper, python, semaphore.NewWeighted(places), semaphore.NewWeighted(places)}
	if err := s.try(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// trial needs what programs need: a thread, a file, standard input and output.
const trial = `
import threading
def main():
    with open("file", "w") as file:
        file.write(input())
    print(open("file").read(), input())
threading.Thread(target=main).start()
`

// try runs a program.
func (s *Sandbox) try(ctx context.Context) error {
	session, err := s.Start(ctx, Program{Source: trial, Inputs: []string{"it\nworks"}})
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Run(ctx, 0)
	if err == nil && (result.End != Finished || result.Output != "it works\n") {
		err = errors.New("sandbox: a program that must work does not: " + fmt.Sprintf("%s %s %q", result.End, result.Message, result.Output))
	}
	return err
}
