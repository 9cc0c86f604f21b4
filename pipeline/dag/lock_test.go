package dag

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain lets this test program play other processes: see TestLockOfAnother
// and TestKilled.
func TestMain(m *testing.M) {
	switch dir := os.Getenv("SPECEVAL_TEST_DIR"); os.Getenv("SPECEVAL_TEST_ROLE") {
	case "lock holder":
		holdLock(dir)
	case "victim":
		runAndDie(dir, os.Getenv("SPECEVAL_TEST_VICTIM"))
	default:
		os.Exit(m.Run())
	}
}

// holdLock takes the lock, says so, and keeps it until its input ends.
func holdLock(dir string) {
	must(Acquire(dir, "pid 1234 on alpha: speceval run replay"))
	os.Stdout.WriteString("locked\n")
	bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

// other is this test program in another role.
func other(t *testing.T, role, dir string, more ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "SPECEVAL_TEST_ROLE="+role, "SPECEVAL_TEST_DIR="+dir)
	cmd.Env = append(cmd.Env, more...)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestLockOfAnotherProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	cmd := other(t, "lock holder", dir)
	must(cmd.StdinPipe()) // never written to: it holds until it is killed
	stdout := must(cmd.StdoutPipe())
	ok(t, cmd.Start())
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}

	_, err := Acquire(dir, "me")
	says(t, err, "pid 1234 on alpha: speceval run replay", "--out")

	// However the holder ends, the lock goes with it.
	same(t, "the holder", Holder(dir), "pid 1234 on alpha: speceval run replay")
	cmd.Process.Kill()
	cmd.Wait()
	same(t, "the holder, dead", Holder(dir), "")
	lock, err := Acquire(dir, "me")
	if err != nil {
		t.Fatalf("the lock outlived its process: %v", err)
	}
	ok(t, lock.Release())
}
