package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile("`((?:Test|Benchmark)[A-Z][A-Za-z0-9_]*)")
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)[A-Z][A-Za-z0-9_]*)\(`)
)

// TestPagesNameTestsThatExist holds docs/, whose tables name the test of each promise, and
// BENCHMARKS.md to the tests and benchmarks of the repository.
func TestPagesNameTestsThatExist(t *testing.T) {
	root := filepath.Join("..", "..")
	exists := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllStringSubmatch(string(source), -1) {
			exists[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages := must(filepath.Glob(filepath.Join(root, "docs", "*.md")))
	named := 0
	for _, page := range append(pages, filepath.Join(root, "BENCHMARKS.md")) {
		text := must(os.ReadFile(page))
		for _, m := range namedTest.FindAllStringSubmatch(string(text), -1) {
			named++
			if !exists[m[1]] {
				t.Errorf("%s names %s, which is no test", filepath.Base(page), m[1])
			}
		}
	}
	if named < 20 {
		t.Errorf("the pages name %d tests", named)
	}
}
