package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "speceval"
	root   = "../.."
)

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
func parseFile(set *token.FileSet, name, source string) file {
	parsed := must(parser.ParseFile(set, name, source, parser.ParseComments))
	return file{name: name, lines: strings.Count(source, "\n"), pos: set, ast: parsed}
}

// selectors visits what the file uses of the packages that it imports.
func (f file) selectors(visit func(sel *ast.SelectorExpr, pkg, name string)) {
	imported := f.importNames()
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && imported[x.Name] != "" {
				visit(sel, imported[x.Name], sel.Sel.Name)
			}
		}
		return true
	})
}

// importNames maps the local names of a file's imports to their paths.
func (f file) importNames() map[string]string {
	names := map[string]string{}
	for _, spec := range f.ast.Imports {
		target := must(strconv.Unquote(spec.Path.Value))
		local := path.Base(strings.TrimSuffix(target, "/v2"))
		if spec.Name != nil {
			local = spec.Name.Name
		}
		names[local] = target
	}
	return names
}

// walk visits the Go files of the module, but for testdata, outputs and hidden folders.
func walk(visit func(name, source string)) {
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(p, root), string(filepath.Separator)))
		switch base := d.Name(); {
		case err != nil:
			return err
		case d.IsDir():
			if p != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin" || strings.HasPrefix(base, "out")) {
				return filepath.SkipDir
			}
		case strings.HasSuffix(name, ".go"):
			visit(name, read(name))
		}
		return nil
	})
	must(0, err)
}

// repository is every package folder of the module.
var repository = sync.OnceValue(func() (all []folder) {
	set := token.NewFileSet()
	walk(func(name, source string) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		at := slices.IndexFunc(all, func(f folder) bool { return f.path == path.Dir(name) })
		if at < 0 {
			all, at = append(all, folder{path: path.Dir(name)}), len(all)
		}
		all[at].files = append(all[at].files, parseFile(set, name, source))
	})
	if len(all) < 5 {
		panic(fmt.Sprintf("found %d packages: is the test still looking in the right place?", len(all)))
	}
	return all
})

// hold fails the test with every fault that a rule finds.
func hold(t *testing.T, rule func(f folder) []string) {
	t.Helper()
	for _, f := range repository() {
		for _, fault := range rule(f) {
			t.Error(fault)
		}
	}
}

// read is the text of a file of the repository, and glob are the files of a pattern.
func read(name string) string { return string(must(os.ReadFile(filepath.Join(root, name)))) }

func glob(pattern string) (names []string) {
	for _, p := range must(filepath.Glob(filepath.Join(root, pattern))) {
		names = append(names, filepath.ToSlash(must(filepath.Rel(root, p))))
	}
	return names
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}
