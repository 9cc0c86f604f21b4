package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	maxPackageFiles = 30   // files of a package that are no tests
	maxPackageLines = 3600 // their lines
)

// packageFaults finds packages that hold too much.
func packageFaults(f folder) (faults []string) {
	if n := len(f.files); n > maxPackageFiles {
		faults = append(faults, fmt.Sprintf("package %s has %d files, at most %d: does it hold two ideas?", f.path, n, maxPackageFiles))
	}
	lines := 0
	for _, file := range f.files {
		lines += file.lines
	}
	if lines > maxPackageLines {
		faults = append(faults, fmt.Sprintf("package %s has %d lines, at most %d: does it hold two ideas?", f.path, lines, maxPackageLines))
	}
	return faults
}

// reportPackages are the report's packages.
const reportPackages = "stages/report"

// readers are packages by which a file can be read.
var readers = []string{"os", "path/filepath", "encoding/csv"}

// storedTable is the name of a stored table, or a part of it.
var storedTable = regexp.MustCompile(`^tables/|^\*?\.csv$`)

// readBackFaults finds files of the report that can read files and name stored tables: what a
// table holds is computed from stored results, never read from its own CSV or LaTeX.
func readBackFaults(f folder) (faults []string) {
	if !strings.HasPrefix(f.path, reportPackages) {
		return nil
	}
	for _, file := range f.files {
		reads := slices.ContainsFunc(file.ast.Imports, func(spec *ast.ImportSpec) bool {
			return slices.Contains(readers, strings.Trim(spec.Path.Value, `"`))
		})
		ast.Inspect(file.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if ok && reads && lit.Kind == token.STRING && storedTable.MatchString(strings.Trim(lit.Value, "`\"")) {
				faults = append(faults, fmt.Sprintf("%s: %s is a stored table: read results", file.at(lit), lit.Value))
			}
			return true
		})
	}
	return faults
}

func TestPackagesHoldOneIdea(t *testing.T) {
	for _, f := range repository(t) {
		report(t, packageFaults(f))
		report(t, readBackFaults(f))
	}
}
