package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/fleet/imitation"
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
	r := imitation.New(imitation.Settings{Model: value("--served-model-name"), MaxModelLen: contextTokens, Speed: 8})
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
		t.Skip("processes are looked for in /proc")
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
	for name, text := range map[string]string{"config.json": "{}", "chat_template.jinja": "x"} {
		if err := os.WriteFile(filepath.Join(model, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"launched", "running"} {
		var out, errs bytes.Buffer
		code := run([]string{
			"-speceval", binary, "-config", "../../experiments-live.toml", "-serve", self, "-model", model, "-part", part, "-rollouts", "100", "-port", "18140", "-dir", filepath.Join(t.TempDir(), "lab"),
		}, append(os.Environ(), "DRILL_SERVER=1"), &out, &errs)
		if code != 0 || !strings.HasSuffix(out.String(), "\ndrill-live: passed\n") {
			t.Errorf("%s: exit code %d\n%s%s", part, code, out.String(), errs.String())
		}
		t.Log(out.String())
	}
}
