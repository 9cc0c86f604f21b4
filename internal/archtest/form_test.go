package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

const (
	maxFileLines = 450 // lines of a file that is no test
	maxFuncLines = 120 // lines of a function
	maxMainLines = 15  // lines of func main
)

// lengthFaults finds files and functions that are too long.
func lengthFaults(f folder) []string {
	var faults []string
	for _, file := range f.files {
		if file.lines > maxFileLines {
			faults = append(faults, fmt.Sprintf("%s has %d lines, at most %d: does it hold two ideas?", file.name, file.lines, maxFileLines))
		}
		for _, decl := range file.ast.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			most := maxFuncLines
			if d.Recv == nil && d.Name.Name == "main" && file.ast.Name.Name == "main" {
				most = maxMainLines
			}
			lines := file.pos.Position(d.End()).Line - file.pos.Position(d.Pos()).Line + 1
			if lines > most {
				faults = append(faults, fmt.Sprintf("%s: %s has %d lines, at most %d", file.at(d), d.Name.Name, lines, most))
			}
		}
	}
	return faults
}

// initFaults finds functions that run by themselves, and imports for their
// side effects.
func initFaults(f folder) []string {
	var faults []string
	for _, file := range f.files {
		for _, decl := range file.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == "init" {
				faults = append(faults, fmt.Sprintf("%s: func init: say it where it is used", file.at(d)))
			}
		}
		for _, spec := range file.ast.Imports {
			if spec.Name != nil && spec.Name.Name == "_" && spec.Path.Value != `"embed"` {
				faults = append(faults, fmt.Sprintf("%s: import of %s for its side effects", file.at(spec), spec.Path.Value))
			}
		}
	}
	return faults
}

// commands are the packages with a main of their own.
var commands = []string{"pipeline", "data/importer", "data/fleet/fit", "release"}

// exits counts the calls of os.Exit.
func exits(f folder) int {
	n := 0
	for _, file := range f.files {
		ast.Inspect(file.ast, func(node ast.Node) bool {
			sel, ok := node.(*ast.SelectorExpr)
			if ok && sel.Sel.Name == "Exit" {
				if x, ok := sel.X.(*ast.Ident); ok && importNames(file)[x.Name] == "os" {
					n++
				}
			}
			return true
		})
	}
	return n
}

// nameFaults finds packages whose name says nothing.
func nameFaults(f folder) []string {
	for _, file := range f.files {
		switch name := file.ast.Name.Name; name {
		case "util", "utils", "common", "misc", "helpers", "base", "lib", "shared", "types":
			return []string{fmt.Sprintf("package %s (%s): name it by its one idea", name, f.path)}
		}
	}
	return nil
}

func TestForm(t *testing.T) {
	for _, f := range repository(t) {
		report(t, lengthFaults(f))
		report(t, initFaults(f))
		report(t, nameFaults(f))
		if n := exits(f); n > 1 || n == 1 && !slices.Contains(commands, f.path) {
			t.Errorf("package %s calls os.Exit %d times: main does, once", f.path, n)
		}
	}
}
