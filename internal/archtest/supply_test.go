package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unpinned are installations without hashes, each for a reason: what we have built
// ourselves, and the newest Inspect, which the long drill tries for being the newest.
var unpinned = []string{"--no-index", `"$folder/bin/pip" install --quiet "$@"`}

// TestPythonPackagesArePinned checks that what is installed from the network is
// what was looked at, to the byte.
func TestPythonPackagesArePinned(t *testing.T) {
	scripts := []string{"../../Makefile", "../../.ci/run"}
	for _, pattern := range []string{"../../*/*.sh", "../../*/*/*.sh"} {
		found := must(filepath.Glob(pattern))
		scripts = append(scripts, found...)
	}
	installations := 0
	for _, script := range scripts {
		text := must(os.ReadFile(script))
		for number, line := range strings.Split(string(text), "\n") {
			if command := strings.TrimSpace(line); strings.HasPrefix(command, "#") || !strings.Contains(line, "pip") || !strings.Contains(line, " install ") || strings.Contains(line, "apt-get") {
				continue
			}
			installations++
			excused := false
			for _, words := range unpinned {
				excused = excused || strings.Contains(line, words)
			}
			if !excused && !strings.Contains(line, "--require-hashes") {
				t.Errorf("%s:%d: packages are installed without --require-hashes", script, number+1)
			}
		}
	}
	if installations < 8 {
		t.Errorf("%d installations were found", installations)
	}
}

// TestPinsHaveHashes looks at the lists of packages, each of which is the whole of what
// is installed by it.
func TestPinsHaveHashes(t *testing.T) {
	sources := must(filepath.Glob("../../*/*/requirements.in"))
	var lists []string
	for _, source := range append(sources, "../../vllm-cpu/requirements.in", "../../internal/scoring/maths/testdata/mathverify/requirements.in") {
		lists = append(lists, strings.TrimSuffix(source, "in")+"txt")
	}
	if len(lists) < 6 {
		t.Errorf("%d lists were found: %s", len(lists), lists)
	}
	for _, list := range lists {
		text := must(os.ReadFile(list))
		wanted := must(os.ReadFile(strings.TrimSuffix(list, "txt") + "in"))
		pins := " " + strings.ReplaceAll(strings.ToLower(string(text)), "_", "-")
		for line := range strings.Lines(string(wanted)) {
			name, version, pinned := strings.Cut(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(line)), "_", "-"), "==")
			if strings.HasPrefix(line, "#") || name == "" {
				continue
			}
			if !pinned || !strings.Contains(pins, "\n"+name+"=="+version+" ") {
				t.Errorf("%s lacks %s: make pins", list, strings.TrimSpace(line))
			}
		}
		for entry := range strings.SplitSeq(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
			if entry != "" && !strings.HasPrefix(entry, "#") && !strings.Contains(entry, "--hash=sha256:") {
				t.Errorf("%s: %.60q has no hash", list, entry)
			}
		}
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
