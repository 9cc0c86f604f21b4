package archtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layoutLine is a line of the layout of docs/architecture.md: a folder and what it is for.
var layoutLine = regexp.MustCompile(`(?m)^([a-z/]+)/ +\S`)

// TestLayoutListsEveryPackage compares the folders that docs/architecture.md lists with the
// packages. Test helpers (…test below another package), programs that make data and the root need
// no line.
func TestLayoutListsEveryPackage(t *testing.T) {
	unlisted := map[string]bool{}
	for _, f := range repository() {
		unlisted[f.path] = true
	}
	for _, match := range layoutLine.FindAllStringSubmatch(read("docs/architecture.md"), -1) {
		if !unlisted[match[1]] {
			t.Errorf("docs/architecture.md lists %s, which is no package, or twice", match[1])
		}
		delete(unlisted, match[1])
	}
	for p := range unlisted {
		if helper := strings.HasSuffix(p, "test") && strings.Count(p, "/") > 1; !helper && p != "." && !strings.HasPrefix(p, "data/") {
			t.Errorf("docs/architecture.md does not list %s", p)
		}
	}
}

var (
	namedTest = regexp.MustCompile("`((?:Test|Benchmark)[A-Z][A-Za-z0-9_]*)")
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)[A-Z][A-Za-z0-9_]*)\(`)
)

// TestPagesNameTestsThatExist holds docs/, whose tables name the test of each promise, and
// BENCHMARKS.md to the tests and benchmarks of the repository.
func TestPagesNameTestsThatExist(t *testing.T) {
	var exists []string
	walk(func(name, source string) {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(source, -1) {
				exists = append(exists, m[1])
			}
		}
	})
	named := 0
	for _, page := range append(glob("docs/*.md"), "BENCHMARKS.md") {
		for _, m := range namedTest.FindAllStringSubmatch(read(page), -1) {
			if named++; !slices.Contains(exists, m[1]) {
				t.Errorf("%s names %s, which is no test", page, m[1])
			}
		}
	}
	if named < 20 {
		t.Errorf("the pages name %d tests", named)
	}
}
