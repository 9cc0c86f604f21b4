package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/sandbox"
	"speceval/internal/sandbox/hostile"
)

// TestAttacks has hostile programs attack. After each, another test of the same
// program's session and the machine itself are as they were.
func TestAttacks(t *testing.T) {
	box := prepared(t, 1)
	programs, err := hostile.Programs()
	if err != nil {
		t.Fatal(err)
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			connection, err := server.Accept()
			if err != nil {
				return
			}
			t.Error("a program has reached a server")
			connection.Close()
		}
	}()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(hostile.Secret()), 0o666); err != nil {
		t.Fatal(err)
	}
	input := hostile.Input(server.Addr().(*net.TCPAddr).Port, file)
	for _, p := range programs {
		t.Run(p.Name, func(t *testing.T) {
			inputs := []string{input}
			if p.Output != "" {
				inputs = append(inputs, input)
			}
			for i, result := range outcomes(t, box, sandbox.Program{Source: p.Source, Inputs: inputs}) {
				if fault := p.Fault(result); fault != "" {
					t.Errorf("test %d: %s", i+1, fault)
				}
			}
			if left := children(t, os.Getpid()); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != hostile.Secret() {
		t.Errorf("the host's file is %q, %v", content, err)
	}
}

// children lists the processes that one has started and not waited for.
func children(t *testing.T, process int) []string {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", process))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, list := range lists {
		content, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		all = append(all, strings.Fields(string(content))...)
	}
	return all
}
