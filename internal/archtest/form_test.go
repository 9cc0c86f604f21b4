package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

const (
	maxFileLines    = 450  // lines of a file that is no test
	maxFuncLines    = 120  // lines of a function
	maxMainLines    = 15   // lines of func main
	maxPackageFiles = 30   // files of a package that are no tests
	maxPackageLines = 3600 // their lines
)

// commands are the packages with a main of their own.
var commands = []string{"pipeline", "data/importer", "data/fleet/fit", "release"}

// vagueNames are package names that say nothing.
var vagueNames = []string{"util", "utils", "common", "misc", "helpers", "base", "lib", "shared", "types"}

// formFaults finds packages, files and functions that are too long, packages whose name says
// nothing, functions that run by themselves, imports for their side effects, and ends of the
// process outside of main.
func formFaults(f folder) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	lines, exits := 0, 0
	for _, file := range f.files {
		if lines += file.lines; file.lines > maxFileLines {
			fault("%s has %d lines, at most %d: does it hold two ideas?", file.name, file.lines, maxFileLines)
		}
		if name := file.ast.Name.Name; slices.Contains(vagueNames, name) {
			fault("package %s (%s): name it by its one idea", name, f.path)
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
			if n := file.pos.Position(d.End()).Line - file.pos.Position(d.Pos()).Line + 1; n > most {
				fault("%s: %s has %d lines, at most %d", file.at(d), d.Name.Name, n, most)
			}
			if d.Recv == nil && d.Name.Name == "init" {
				fault("%s: func init: say it where it is used", file.at(d))
			}
		}
		for _, spec := range file.ast.Imports {
			if spec.Name != nil && spec.Name.Name == "_" && spec.Path.Value != `"embed"` {
				fault("%s: import of %s for its side effects", file.at(spec), spec.Path.Value)
			}
		}
		file.selectors(func(_ *ast.SelectorExpr, pkg, name string) {
			if pkg == "os" && name == "Exit" {
				exits++
			}
		})
	}
	if n := len(f.files); n > maxPackageFiles || lines > maxPackageLines {
		fault("package %s has %d files and %d lines, at most %d and %d: does it hold two ideas?", f.path, n, lines, maxPackageFiles, maxPackageLines)
	}
	if exits > 1 || exits == 1 && !slices.Contains(commands, f.path) {
		fault("package %s calls os.Exit %d times: main does, once", f.path, exits)
	}
	return faults
}

func TestForm(t *testing.T) { hold(t, formFaults) }
