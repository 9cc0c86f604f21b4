//go:build drill

// Package mutations changes one line of the program at a time and counts how many of
// the changes a test notices.
package mutations

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	number   = flag.Int("n", 150, "changes that compile")
	draw     = flag.Uint64("seed", 1, "of the draw")
	within   = flag.String("in", "", "only packages below this folder, such as internal/evaluation")
	patience = flag.Duration("timeout", 4*time.Minute, "of the tests of one change; the change counts as noticed after it")
)

// floor is the share of the changes that was noticed when the count was first made, of
// floorOf changes: commit 37baf0d, seed 1.
const (
	floor   = 112.0 / floorOf
	floorOf = 150
)

// module is what `go list` says of a package.
type module struct {
	Dir, ImportPath                             string
	GoFiles, Imports, TestImports, XTestImports []string
}

// TestMutations draws changes over all packages but the drills. For each it runs the
// tests of its package, and then of the packages that import it. The share that is
// noticed may fall below the floor by chance alone: by two standard errors.
func TestMutations(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	packages := list(t, root)
	var sites []site
	users := map[string][]string{}
	for _, p := range packages {
		folder, err := filepath.Rel(root, p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, used := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(p.Imports, p.TestImports, p.XTestImports)))) {
			if used != p.ImportPath {
				users[used] = append(users[used], p.ImportPath)
			}
		}
		if strings.HasPrefix(folder, "drills") || !strings.HasPrefix(folder+"/", *within) {
			continue
		}
		for _, file := range p.GoFiles {
			more, err := sitesOf(root, p.ImportPath, filepath.Join(folder, file))
			if err != nil {
				t.Fatal(err)
			}
			sites = append(sites, more...)
		}
	}
	t.Logf("%d places in %d packages", len(sites), len(packages))
	stream := rand.New(rand.NewPCG(*draw, 0))
	stream.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })

	tried, noticed := 0, 0
	for _, s := range sites {
		if tried == *number {
			break
		}
		verdict := try(t, root, s, users[s.pkg])
		if verdict == "" {
			continue // it does not compile
		}
		tried++
		if verdict != "not noticed" {
			noticed++
		}
		fmt.Printf("%3d  %s:%d  %s  %s\n", tried, s.file, s.line, s.what, verdict)
	}
	share := float64(noticed) / float64(tried)
	fmt.Printf("%d of %d noticed (%.1f%%)\n", noticed, tried, 100*share)
	if *within != "" || tried < *number {
		return
	}
	variance := func(p float64, n int) float64 { return p * (1 - p) / float64(n) }
	if least := floor - 2*math.Sqrt(variance(share, tried)+variance(floor, floorOf)); share < least {
		t.Errorf("below %.1f%%: the tests notice less than they did", 100*least)
	}
}

func list(t *testing.T, root string) (all []module) {
	c := exec.Command("go", "list", "-json=Dir,ImportPath,GoFiles,Imports,TestImports,XTestImports", "./...")
	c.Dir = root
	text, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(text)); decoder.More(); {
		var m module
		if err := decoder.Decode(&m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// failed finds the first test that failed in the output of go test.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// try runs the tests with a change, which stands in a file of its own: the tree is
// not touched. The verdict is empty if the change does not compile.
func try(t *testing.T, root string, s site, users []string) (verdict string) {
	path := filepath.Join(root, s.file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}}) // cannot fail
	for name, content := range map[string][]byte{changed: slices.Concat(text[:s.from], []byte(s.text), text[s.to:]), overlay: replace} {
		if err := os.WriteFile(name, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, error) {
		c := exec.Command("go", args...)
		c.Dir, c.Env = root, append(os.Environ(), "GOFLAGS=-overlay="+overlay)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if _, err := run("build", "-o", os.DevNull, s.pkg); err != nil {
		return ""
	}
	limit := fmt.Sprintf("-timeout=%v", *patience)
	for _, packages := range [][]string{{s.pkg}, users} {
		if len(packages) == 0 {
			continue
		}
		if out, err := run(append([]string{"test", "-failfast", "-vet=off", limit}, packages...)...); err != nil {
			if strings.Contains(out, "panic: test timed out") {
				return "noticed: the tests do not end"
			}
			if m := failed.FindStringSubmatch(out); m != nil {
				return "noticed by " + m[1]
			}
			return "noticed: " + strings.SplitN(strings.TrimSpace(out), "\n", 2)[0]
		}
	}
	return "not noticed"
}
