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

// checked lists every drill with the code that its checks are in: a declaration, and
// all that it uses of the same folder; and files with a check a line.
var checked = []struct {
	name, folder, root string
	lines              []string
}{
	{name: "drill-benchmarks", folder: "drills/pipeline", root: "TestBenchmarks"},
	{name: "drill-decisions", folder: "drills/decisions", root: "TestDecisions"},
	{name: "drill-docs", folder: "drills", root: "TestDocuments", lines: []string{"drills/docs_test.go"}},
	{name: "drill-evaluate", folder: "drills/evaluations", root: "TestEvaluate"},
	{name: "drill-evaluate-live", folder: "drills/evaluations", root: "TestEvaluateLive"},
	{name: "drill-faults", folder: "drills/runs", root: "TestFaults"},
	{name: "drill-generate", folder: "drills/runs", root: "TestGenerate"},
	{name: "drill-inspect", lines: []string{"drills/inspect/*.py", "drills/inspect/run.sh", "python/tests/test_inspect.py"}},
	{name: "drill-live", folder: "drills/servers", root: "TestLive"},
	{name: "drill-math", folder: "internal/scorer/maths", root: "TestDrill"},
	{name: "drill-sandbox", folder: "internal/sandbox/hostile", root: "TestDrill", lines: []string{"internal/sandbox/hostile/*.py"}},
	{name: "drill-slurm", folder: "drills/runs", root: "TestSlurm"},
	{name: "drill-systems", folder: "drills/servers", root: "TestSystems"},
	{name: "drill-vllm", folder: "drills/servers", root: "TestVLLM"},
	{name: "smoke", folder: "drills/pipeline", root: "TestSmoke"},
	{name: "all drills", folder: "drills/drill"},
}

// TestNoCheckVanishes compares the checks in the drills' source with testdata/checks.txt:
// statements, names of faults and parts, and messages with which a drill fails. After a
// change on purpose: go test ./drills -run TestNoCheckVanishes -update
func TestNoCheckVanishes(t *testing.T) {
	var list strings.Builder
	for _, drill := range checked {
		var checks []string
		if drill.folder != "" {
			checks = checksOf(declarations(t, filepath.Join("..", drill.folder), strings.HasPrefix(drill.root, "Test")), drill.root)
		}
		for _, pattern := range drill.lines {
			checks = append(checks, checksOfFiles(t, filepath.Join("..", pattern))...)
		}
		if len(checks) == 0 {
			t.Errorf("%s has no checks", drill.name)
		}
		slices.Sort(checks)
		fmt.Fprintf(&list, "%s: %d\n", drill.name, len(checks))
		for _, check := range checks {
			fmt.Fprintf(&list, "  %s\n", strings.ReplaceAll(check, "\n", " "))
		}
	}
	golden.Check(t, "checks.txt", []byte(list.String()))
}

// checkedLine is a line of Python or shell that checks or begins a part, or the line of
// an attack on the sandbox that says how it must end.
var checkedLine = regexp.MustCompile(`(?m)^\s*(def test_\w+|assert .*|self\.assert.*|faults\.append.*|say '.*'|# ends: .*|# prints: .*)`)

// checksOfFiles are the lines with checks, under the names of their files.
func checksOfFiles(t *testing.T, pattern string) (checks []string) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range checkedLine.FindAllStringSubmatch(string(text), -1) {
			checks = append(checks, filepath.Base(path)+": "+match[1])
		}
	}
	return checks
}

// declaration is a function, method, type, variable or constant of a folder.
type declaration struct {
	names    []string
	receiver string
	node     ast.Node
}

// declarations are all of a folder; those in tests only where a test is the drill.
func declarations(t *testing.T, folder string, tests bool) (all []declaration) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files, %v", folder, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") && !tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				one := declaration{names: []string{d.Name.Name}, node: d}
				if d.Recv != nil {
					one.names[0] = "." + d.Name.Name
					one.receiver = identifiers(d.Recv.List[0].Type)[0]
				}
				all = append(all, one)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						all = append(all, declaration{names: identifiers(spec.Names...), node: spec})
					case *ast.TypeSpec:
						all = append(all, declaration{names: []string{spec.Name.Name}, node: spec})
					}
				}
			}
		}
	}
	return all
}

// identifiers are all names in some nodes, those behind a point with the point.
func identifiers[N ast.Node](nodes ...N) (names []string) {
	for _, node := range nodes {
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				names = append(append(names, identifiers(n.X)...), "."+n.Sel.Name)
				return false
			case *ast.Ident:
				names = append(names, n.Name)
			}
			return true
		})
	}
	return names
}

// checksOf are the checks of a declaration and of all that it mentions, and those of
// everything for the root "". A method counts if its type is mentioned as well.
func checksOf(all []declaration, root string) (checks []string) {
	mentioned := map[string]bool{root: true}
	for {
		before := len(all)
		all = slices.DeleteFunc(all, func(d declaration) bool {
			used := slices.ContainsFunc(d.names, func(name string) bool { return mentioned[name] })
			if root != "" && (!used || d.receiver != "" && !mentioned[d.receiver]) {
				return false
			}
			for _, name := range identifiers(d.node) {
				mentioned[name] = true
			}
			checks = append(checks, checksIn(d.node)...)
			return true
		})
		if len(all) == before {
			return checks
		}
	}
}

// reports are the functions whose first text says what was checked.
var reports = []string{"Errorf", "Error", "Fatalf", "Fatal", "New", "Sub", "skipped", "each", "note", "leaves", "leftBy", "engineDies", "finishes", "refused"}

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
			if len(names) > 0 && slices.Contains(reports, strings.TrimPrefix(names[len(names)-1], ".")) {
				if i := slices.IndexFunc(n.Args, func(e ast.Expr) bool { return literal(e) != "" }); i >= 0 {
					add(n.Args[i])
				}
			}
		case *ast.CompositeLit:
			switch kind := n.Type.(type) {
			case *ast.ArrayType:
				return true
			case *ast.SelectorExpr:
				if kind.Sel.Name == "Drill" {
					return true
				}
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
		if names := identifiers(e.Fun); names[len(names)-1] == ".Sprintf" {
			return literal(e.Args[0])
		}
	}
	return ""
}
