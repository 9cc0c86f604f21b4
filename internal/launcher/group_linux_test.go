package launcher

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func TestServersEndWithUs(t *testing.T) {
	l, tell := listener(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "SERVER=parent", tell, "PORT="+strconv.Itoa(ports(t, 1)), "LOGS="+t.TempDir())
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	ends(t, server)
}

// The kernel tells the server alone; its engine ends all the same.
func TestEnginesEndWithUs(t *testing.T) {
	l, tell := listener(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "SERVER=parent", "OF=family", tell, "PORT="+strconv.Itoa(ports(t, 1)), "LOGS="+t.TempDir())
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	engine, err := l.Accept() // the engine tells, its server does not
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	ends(t, engine)
}
