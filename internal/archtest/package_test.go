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

// readers are packages by which a file can be read.
var readers = []string{"os", "path/filepath", "encoding/csv"}

// storedTable is the name of a stored table, or a part of it.
var storedTable = regexp.MustCompile(`^tables/|^\*?\.csv$`)

// readBackFaults finds files of the report that can read files and name stored tables: what a
// table holds is computed from stored results, never read from its own CSV or LaTeX.
func readBackFaults(f folder) (faults []string) {
	if !strings.HasPrefix(f.path, "stages/report") {
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

func TestTablesAreNotReadBack(t *testing.T) { hold(t, readBackFaults) }
