package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// asProcess is a variable by which the tests are the program.
const asProcess = "SPECEVAL_TEST_AS_PROCESS"

// TestAsProcess is the program, where a test starts it so.
func TestAsProcess(t *testing.T) {
	if os.Getenv(asProcess) == "" {
		t.Skip("for the test below")
	}
	os.Args = []string{"speceval", "check-scorer", "math", "-"}
	main()
}

// A signal ends the program while it reads what never comes, at once and with the exit
// code of interruptions.
func TestSignalsEndReading(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		program := exec.Command(os.Args[0], "-test.run=^TestAsProcess$")
		program.Env = append(os.Environ(), asProcess+"=1")
		stdin, err := program.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer stdin.Close()
		var stderr bytes.Buffer
		program.Stderr = &stderr
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(20*time.Second, func() { program.Process.Kill() })
		time.Sleep(time.Second) // until it reads
		if err := program.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		err = program.Wait()
		kill.Stop()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted || !bytes.Contains(stderr.Bytes(), []byte("ended at once")) {
			t.Errorf("%v: %v, %q", signal, err, stderr.String())
		}
	}
}
