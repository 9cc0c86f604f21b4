package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the path of the module, as go.mod has it.
var module = modulePath(filepath.Join("..", "..", "go.mod"))

func modulePath(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimPrefix(first, "module ")
}

// folder is one package folder of the repository: its files that are no tests.
type folder struct {
	path  string // relative to the module, slash-separated
	files []file
}

type file struct {
	name  string // relative to the module
	lines int
	pos   *token.FileSet
	ast   *ast.File
}

// at says where a node is, for people.
func (f file) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.name, f.pos.Position(n.Pos()).Line)
}

// parseFile reads one file for the rules.
func parseFile(set *token.FileSet, name, source string) (file, error) {
	parsed, err := parser.ParseFile(set, name, source, parser.ParseComments)
	return file{name: name, lines: strings.Count(source, "\n"), pos: set, ast: parsed}, err
}

// repository reads every package folder of the module. Tests, testdata and
// hidden folders are not part of it.
func repository(t *testing.T) []folder {
	t.Helper()
	root := filepath.Join("..", "..")
	set := token.NewFileSet()
	found := make(map[string][]file)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(p, root), string(filepath.Separator)))
		if d.IsDir() {
			if base := d.Name(); p != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin" || strings.HasPrefix(base, "out")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parseFile(set, name, string(source))
		found[path.Dir(name)] = append(found[path.Dir(name)], f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var folders []folder
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		folders = append(folders, folder{dir, found[dir]})
	}
	if len(folders) < 5 {
		t.Fatalf("found %d packages: is the test still looking in the right place?", len(folders))
	}
	return folders
}

// report fails the test with every fault.
func report(t *testing.T, faults []string) {
	t.Helper()
	for _, f := range faults {
		t.Error(f)
	}
}
