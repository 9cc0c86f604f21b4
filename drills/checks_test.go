package drills_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/internal/golden"
)

// checked are the files of drills, by folder.
var checked = []string{
	"drills/docs_test.go", "drills/decisions/*.go", "drills/drill/*.go", "drills/evaluations/*.go", "drills/inspect/*.[ps]*",
	"drills/pins/*.go", "drills/pipeline/*.go", "drills/runs/*.go", "drills/servers/*.go", "internal/scoring/sandbox/drill_test.go", "internal/scoring/sandbox/load_test.go", "internal/scoring/sandbox/testdata/hostile/*.py",
	"internal/scoring/maths/drill_test.go", "internal/scoring/maths/pairs_test.go", "internal/scoring/maths/report_test.go",
	"internal/scoring/maths/mathverify_test.go", "method/estimate/*drill_test.go", "python/tests/test_inspect.py",
}

// TestNoCheckVanishes compares the checks in the drills' source with testdata/checks.txt:
// statements, names of faults and parts, and messages with which a drill fails. After a
// change on purpose: go test ./drills -run TestNoCheckVanishes -update
func TestNoCheckVanishes(t *testing.T) {
	var list strings.Builder
	for _, pattern := range checked {
		var checks []string
		paths, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			checks = append(checks, checksOf(t, path)...)
		}
		if len(checks) == 0 {
			t.Errorf("%s has no checks", pattern)
		}
		slices.Sort(checks)
		fmt.Fprintf(&list, "%s: %d\n", pattern, len(checks))
		for _, check := range checks {
			fmt.Fprintf(&list, "  %s\n", strings.ReplaceAll(check, "\n", " "))
		}
	}
	golden.Check(t, "checks.txt", []byte(list.String()))
}

// checkedLine is a line of Python or shell that checks or begins a part, or the line of
// an attack on the sandbox that says how it must end.
var checkedLine = regexp.MustCompile(`(?m)^\s*(def test_\w+|assert .*|self\.assert.*|faults\.append.*|say '.*'|# ends: .*|# prints: .*)`)

// checksOf are the checks of a file.
func checksOf(t *testing.T, path string) (checks []string) {
	if filepath.Ext(path) == ".go" {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		checks = checksIn(file)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range checkedLine.FindAllStringSubmatch(string(text), -1) {
		checks = append(checks, filepath.Base(path)+": "+match[1])
	}
	return checks
}

// identifiers are all names in a node, the last of a selector last.
func identifiers(node ast.Node) (names []string) {
	ast.Inspect(node, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// reports are the functions whose first text says what was checked.
var reports = []string{"Errorf", "Error", "Fatalf", "Fatal", "New", "Sub", "each"}

// checksIn are the texts of errors in a node, and the names in its tables: fields named
// name or what, and texts that come first in a value with other fields.
func checksIn(node ast.Node) (checks []string) {
	add := func(e ast.Expr) {
		if text := literal(e); text != "" && !strings.Contains(text, ": %w") { // that is context of another error
			checks = append(checks, text)
		}
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			names := identifiers(n.Fun)
			if len(names) > 0 && slices.Contains(reports, names[len(names)-1]) {
				if i := slices.IndexFunc(n.Args, func(e ast.Expr) bool { return literal(e) != "" }); i >= 0 {
					add(n.Args[i])
				}
			}
		case *ast.CompositeLit:
			if _, list := n.Type.(*ast.ArrayType); list {
				return true
			}
			for i, element := range n.Elts {
				if field, ok := element.(*ast.KeyValueExpr); ok {
					if key, ok := field.Key.(*ast.Ident); ok && (strings.EqualFold(key.Name, "name") || strings.EqualFold(key.Name, "what")) {
						add(field.Value)
					}
				} else if i == 0 && slices.ContainsFunc(n.Elts, func(e ast.Expr) bool { return literal(e) == "" }) {
					add(element)
				}
			}
		}
		return true
	})
	return checks
}

// literal is a constant text, or the format of a formatted one; "" for anything else.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	case *ast.CallExpr:
		if names := identifiers(e.Fun); names[len(names)-1] == "Sprintf" {
			return literal(e.Args[0])
		}
	}
	return ""
}
