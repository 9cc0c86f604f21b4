package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

// inputReaders are the packages that read files which a user or a configuration names. They
// open them by internal/files, since a pipe blocks and a device has no end.
var inputReaders = []string{
	"pipeline/config", "pipeline/importing", "internal/benchmark", "internal/checkpoint", "internal/harness", "internal/hub", "internal/launcher",
	"internal/measurement", "internal/parquetfile", "internal/profile", "internal/rowfile", "internal/scorer/command", "internal/upstream", "internal/upstream/rows",
}

// openers are the functions of package os that open whatever is at a path.
var openers = []string{"Open", "OpenFile", "ReadFile", "DirFS"}

// logs are of what the readers write themselves.
var logs = map[string]bool{"internal/launcher/process.go": true, "internal/hub/download.go": true}

func openFaults(f folder) []string {
	if !slices.Contains(inputReaders, f.path) {
		return nil
	}
	var faults []string
	for _, file := range f.files {
		if logs[file.name] {
			continue
		}
		imported := importNames(file)
		ast.Inspect(file.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && imported[x.Name] == "os" && slices.Contains(openers, sel.Sel.Name) {
				faults = append(faults, fmt.Sprintf("%s: %s uses os.%s: open what users name by internal/files", file.at(sel), f.path, sel.Sel.Name))
			}
			return true
		})
	}
	return faults
}

func TestInputsAreOpenedAsFiles(t *testing.T) {
	for _, f := range repository(t) {
		report(t, openFaults(f))
	}
}

func TestInputRuleCatches(t *testing.T) {
	for _, test := range []struct{ pkg, use, want string }{
		{"internal/profile", "os.ReadFile", "uses os.ReadFile"},
		{"internal/harness", "os.Open", "uses os.Open"},
		{"internal/profile", "os.Stat", ""},
		{"internal/golden", "os.ReadFile", ""},
	} {
		source := fmt.Sprintf("package p\nimport \"os\"\nvar _ = %s\n", test.use)
		catches(t, openFaults(made(t, test.pkg, source)), test.want)
	}
}
