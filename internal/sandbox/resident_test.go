package sandbox_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/sandbox"
)

// resident is a program in a folder of the test, which sees what it is let see.
func resident(t *testing.T, folder string, visible []string, arguments ...string) *sandbox.Resident {
	t.Helper()
	prepared(t, 1)
	r, err := sandbox.NewResident(t.Context(), sandbox.Resident{Arguments: arguments, Folder: folder, Visible: visible, Memory: 512 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func output(t *testing.T, r *sandbox.Resident) string {
	t.Helper()
	command, started, err := r.Command()
	if err != nil {
		t.Fatal(err)
	}
	defer started()
	out, err := command.CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

func TestResidentSeesWhatItIsLetSee(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"grade.py": script, "seen.txt": "seen", "secret.txt": "secret"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Addr().String())
	r := resident(t, folder, []string{filepath.Join(folder, "grade.py"), filepath.Join(folder, "seen.txt")}, python, "grade.py", port)
	t.Setenv("SPECEVAL_API_KEY", "hush")
	if got, want := output(t, r), "seen|no secret|no writing|no network|65534|True|no key|no memory\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

const script = `
import os, socket, sys
def tried(what, do):
    try:
        do()
        return what
    except OSError:
        return "no " + what
    except MemoryError:
        return "no " + what
print(open("seen.txt").read(),
    tried("secret", lambda: open("secret.txt").read()),
    tried("writing", lambda: open("seen.txt", "w")),
    tried("network", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)),
    os.getuid(), open("/tmp/scratch", "w").write("x") == 1,
    os.environ.get("SPECEVAL_API_KEY", "no key"),
    tried("memory", lambda: bytearray(1 << 30)), sep="|")
`

func TestResidentProgramsOfOtherKinds(t *testing.T) {
	folder := t.TempDir()
	own := filepath.Join(folder, "own")
	if err := os.WriteFile(own, []byte("#!/bin/sh\npwd; echo \"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := output(t, resident(t, folder, nil, own, "a b")); got != folder+"\na b\n" {
		t.Errorf("%q", got)
	}
	if got := output(t, resident(t, folder, nil, "cat", "/etc/passwd")); !strings.Contains(got, "No such file") {
		t.Errorf("%q", got)
	}
}

func TestResidentsThatCannotBe(t *testing.T) {
	prepared(t, 1)
	_, err := sandbox.NewResident(t.Context(), sandbox.Resident{Arguments: []string{"no-such-program"}, Folder: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), `there is no program "no-such-program"`) {
		t.Error(err)
	}
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	_, err = sandbox.NewResident(t.Context(), sandbox.Resident{Arguments: []string{path}, Folder: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "install it") {
		t.Error(err)
	}
}
