package archtest

import (
	"fmt"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// importRule says which packages of this module some packages may import. In patterns, * is one
// word, and … stands for a folder and those below it.
type importRule struct {
	packages string
	may      []string
}

// importRules are the layers of the repository: the first rule that matches a package counts.
var importRules = []importRule{
	{"pipeline", []string{"pipeline/…", "stages/…", "data", "method/…", "internal/…"}},
	{"pipeline/view", []string{"pipeline/evaluate", "pipeline/status", "pipeline/dag", "method/…", "internal/…"}},
	{"pipeline/evaluate", []string{"pipeline/experiment", "pipeline/exchange", "pipeline/config", "pipeline/dag", "stages/score", "data", "method/…", "internal/…"}},
	{"pipeline/experiment", []string{"pipeline/config", "pipeline/slurm", "pipeline/dag", "pipeline/pair", "stages/…", "data", "method/…", "internal/…"}},
	{"pipeline/slurm", []string{"pipeline/config", "pipeline/dag", "pipeline/runlog", "internal/…"}},
	{"pipeline/…", []string{"pipeline/dag", "pipeline/runlog", "internal/…"}},
	{"stages/report/…", []string{"stages/report/…", "pipeline/dag", "pipeline/lineage", "pipeline/pair", "internal/…"}},
	{"stages/*", []string{"pipeline/dag", "pipeline/pair", "method/…", "internal/…"}},       // never one another: they meet in files
	{"drills/…", []string{"drills/…", "pipeline/config", "data", "method/…", "internal/…"}}, // they try the built program
	{"release", []string{"internal/version"}},
	{"data", nil},
	{"data/…", []string{"data", "method/…", "internal/…"}}, // commands for the maintainers
	{"method/…", []string{"method/…", "internal/pilot", "internal/seed"}},
	{"internal/store/…", []string{"internal/store/…"}},
	{"internal/scoring/maths/algebra", nil},
	{"internal/scoring/…", []string{"internal/scoring/…", "internal/servers/vllm", "internal/store/files", "internal/display", "internal/ending", "internal/seed"}},
	{"internal/…", []string{"method/…", "internal/…"}},
}

func matches(pattern, pkg string) bool {
	if base, deep := strings.CutSuffix(pattern, "/…"); deep {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	ok, _ := path.Match(pattern, pkg)
	return ok
}

func importFaults(f folder) (faults []string) {
	at := slices.IndexFunc(importRules, func(r importRule) bool { return matches(r.packages, f.path) })
	if at < 0 {
		return []string{fmt.Sprintf("package %s has no import rule: name the package in the layout of docs/architecture.md", f.path)}
	}
	for _, file := range f.files {
		for _, spec := range file.ast.Imports {
			target, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			if ours && !slices.ContainsFunc(importRules[at].may, func(pattern string) bool { return matches(pattern, target) }) {
				faults = append(faults, fmt.Sprintf("%s: %s may not import %s", file.at(spec), f.path, target))
			}
		}
	}
	return faults
}

func TestImportsGoOneWay(t *testing.T) { hold(t, importFaults) }

// TestLayersAreHeld has source that breaks each layer, and some that does not.
func TestLayersAreHeld(t *testing.T) {
	for _, test := range []struct {
		pkg, imports string
		may          bool
	}{
		{"stages/score", "stages/generate", false}, {"stages/report", "stages/replay", false}, {"stages/report/page", "stages/report", true},
		{"internal/display", "pipeline/config", false}, {"internal/ledger", "method/neyman", true}, {"method/neyman", "internal/display", false},
		{"pipeline/dag", "stages/score", false}, {"internal/store/journal", "internal/display", false}, {"drills/drill", "pipeline/dag", false},
		{"data", "internal/seed", false}, {"another", "internal/seed", false},
	} {
		source := parseFile(token.NewFileSet(), "f.go", "package p\n\nimport _ "+strconv.Quote(module+"/"+test.imports))
		if faults := importFaults(folder{test.pkg, []file{source}}); (len(faults) == 0) != test.may {
			t.Errorf("%s imports %s: %v", test.pkg, test.imports, faults)
		}
	}
}
