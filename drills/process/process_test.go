package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/drills/process"
)

// The test binary is also the program that runs.
func TestMain(m *testing.M) {
	switch os.Getenv("PROGRAM") {
	case "ends":
		for i := range 20 {
			fmt.Println("line", i)
		}
		os.Exit(3)
	case "stays":
		select {}
	}
	os.Exit(m.Run())
}

func start(t *testing.T, program string) *process.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(filepath.Join(t.TempDir(), "output"), append(os.Environ(), "PROGRAM="+program), self)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAProgramThatEnds(t *testing.T) {
	p := start(t, "ends")
	<-p.Ended()
	if last := p.Last(); !p.Gone() || p.Code() != 3 || !strings.HasPrefix(last, "line 8\n") || !strings.HasSuffix(last, "line 19") {
		t.Errorf("exit code %d, output %q", p.Code(), last)
	}
	p.Kill() // does nothing more
}

func TestAProgramThatIsKilled(t *testing.T) {
	p := start(t, "stays")
	if p.Gone() {
		t.Error("it has ended")
	}
	p.Kill()
	p.Kill()
	if !p.Gone() || p.Code() != -1 {
		t.Errorf("exit code %d", p.Code())
	}
	if _, err := process.Start(filepath.Join(t.TempDir(), "output"), nil, "/no/such/program"); err == nil {
		t.Error("a program that is not there has started")
	}
}
