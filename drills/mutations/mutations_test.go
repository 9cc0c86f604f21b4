//go:build drill

// Package mutations changes one line of the program at a time and counts how many of
// the changes a test notices.
package mutations

import (
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

	"speceval/drills/drill"
)

var (
	number   = flag.Int("n", 150, "changes that compile")
	within   = flag.String("in", "", "only packages below this folder, such as internal/evaluation")
	patience = flag.Duration("timeout", 4*time.Minute, "of the tests of one change; the change counts as noticed after it")
)

// floor is the share of the changes that was noticed when the count was first made, of
// floorOf changes: commit 37baf0d, seed 1.
const (
	floor   = 112.0 / floorOf
	floorOf = 150
)

// TestMutations draws changes over all packages but the drills. For each it runs the
// tests of its package, and then of the packages that import it. The share that is
// noticed may fall below the floor by chance alone: by two standard errors.
func TestMutations(t *testing.T) {
	l := drill.New(t, 24*time.Hour)
	var sites []site
	users := map[string][]string{}
	list := exec.Command("go", "list", "-f",
		`{{.ImportPath}} {{join .GoFiles ","}} {{join .Imports ","}},{{join .TestImports ","}},{{join .XTestImports ","}}`, "./...")
	packages, err := list.Output()
	l.OK(err)
	for line := range strings.Lines(string(packages)) {
		words := strings.Split(strings.TrimSpace(line), " ")
		folder := strings.TrimPrefix(words[0], "speceval/")
		for _, used := range strings.Split(words[2], ",") {
			if used != words[0] && !slices.Contains(users[used], words[0]) {
				users[used] = append(users[used], words[0])
			}
		}
		if strings.HasPrefix(folder, "drills") || !strings.HasPrefix(folder+"/", *within) || words[1] == "" {
			continue
		}
		for _, file := range strings.Split(words[1], ",") {
			sites = append(sites, sitesOf(l, words[0], filepath.Join(folder, file))...)
		}
	}
	l.Logf("%d places", len(sites))
	stream := rand.New(rand.NewPCG(drill.Seed(), 0))
	stream.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })

	tried, noticed := 0, 0
	for _, s := range sites {
		if tried == *number {
			break
		}
		verdict := try(l, s, users[s.pkg])
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
		l.Errorf("below %.1f%%: the tests notice less than they did", 100*least)
	}
}

// failed finds the first test that failed in the output of go test.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// try runs the tests with a change, which stands in a file of its own: the tree is
// not touched. The verdict is empty if the change does not compile.
func try(l *drill.Lab, s site, users []string) (verdict string) {
	text, path := l.Read(s.file), drill.FromRoot(s.file)
	changed, overlay := l.Path("changed.go"), l.Path("overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	l.OK(err)
	l.Write(changed, slices.Concat(text[:s.from], []byte(s.text), text[s.to:]))
	l.Write(overlay, replace)
	run := func(args ...string) (string, error) {
		c := exec.CommandContext(l.Ctx, "go", args...)
		c.Env = append(os.Environ(), "GOFLAGS=-overlay="+overlay)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if _, err := run("build", "-o", os.DevNull, s.pkg); err != nil {
		return ""
	}
	for _, packages := range [][]string{{s.pkg}, users} {
		if len(packages) == 0 {
			continue
		}
		test := []string{"test", "-failfast", "-vet=off", fmt.Sprintf("-timeout=%v", *patience)}
		out, err := run(append(test, packages...)...)
		switch m := failed.FindStringSubmatch(out); {
		case err == nil:
		case strings.Contains(out, "panic: test timed out"):
			return "noticed: the tests do not end"
		case m != nil:
			return "noticed by " + m[1]
		default:
			return "noticed: " + strings.SplitN(strings.TrimSpace(out), "\n", 2)[0]
		}
	}
	return "not noticed"
}
