package launcher

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A keeper that loses us ends a group that does not want to.
func TestKeeperEndsADeafGroup(t *testing.T) {
	deaf := exec.Command("/bin/sh", "-c", `trap "" TERM; echo deaf; while :; do sleep 0.1; done`)
	deaf.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := deaf.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := deaf.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	k, err := keep(deaf.Process.Pid, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	k.alive.Close()
	var ended *exec.ExitError
	if err := deaf.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended by %v", err)
	}
	if err := k.shell.Wait(); err != nil {
		t.Errorf("the keeper: %v", err)
	}
}

// The keeper of a server that has ended does not stay.
func TestDismissedKeeper(t *testing.T) {
	server := exec.Command("sleep", "60")
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	k, err := keep(server.Process.Pid, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	k.dismiss()
	if err := server.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("it has ended the server")
	}
	_ = server.Process.Kill()
	_ = server.Wait() // killed
}
