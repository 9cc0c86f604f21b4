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
var importRules = slices.Concat([]importRule{
	{"pipeline", []string{"pipeline/…", "stages/…", "data", "method/…", "internal/…"}},
	{"pipeline/view", []string{"pipeline/evaluate", "pipeline/status", "pipeline/dag", "method/…", "internal/…"}},
	{"pipeline/evaluate", []string{"pipeline/experiment", "pipeline/exchange", "pipeline/config", "pipeline/dag", "stages/score", "data", "method/…", "internal/…"}},
	{"pipeline/experiment", []string{"pipeline/config", "pipeline/slurm", "pipeline/dag", "pipeline/pair", "stages/…", "data", "method/…", "internal/…"}},
	{"pipeline/slurm", []string{"pipeline/config", "pipeline/dag", "pipeline/runlog", "internal/…"}},
	{"pipeline/…", []string{"pipeline/dag", "pipeline/runlog", "internal/…"}},
	{"stages/report/…", []string{"stages/report/…", "pipeline/dag", "pipeline/pair", "internal/…"}},
	{"stages/*", []string{"pipeline/dag", "pipeline/pair", "method/…", "internal/…"}},       // never one another: they meet in files
	{"drills/…", []string{"drills/…", "pipeline/config", "data", "method/…", "internal/…"}}, // they try the built program
	{"release", []string{"internal/machine/version"}},
	{"data", nil},
	{".", nil}, // the shipped experiment
	{"data/…", []string{"data", "method/…", "internal/…"}}, // commands for the maintainers
	{"method/…", []string{"method/…", "internal/policy/pilot", "internal/policy/seed"}},
	{"internal/scoring/maths/algebra", nil},
	{"internal/golden", nil},
	{"internal/archtest", nil},
}, roomRules())

// rooms are the folders of internal with what they hold below them, from the top down.
var rooms = []string{"evaluation", "results", "fleet", "benchmark", "scoring", "servers", "policy", "terminal", "store", "machine"}

// roomRules let a room import itself, the rooms below it, and the mathematics where it is above
// files and screens.
func roomRules() (rules []importRule) {
	for k, room := range rooms {
		var may []string
		for _, below := range rooms[k:] {
			may = append(may, "internal/"+below+"/…")
		}
		if k <= slices.Index(rooms, "policy") {
			may = append(may, "method/…")
		}
		rules = append(rules, importRule{"internal/" + room + "/…", may})
	}
	return rules
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
		{"internal/terminal/display", "pipeline/config", false}, {"internal/evaluation/ledger", "method/neyman", true}, {"method/neyman", "internal/terminal/display", false},
		{"internal/policy", "internal/results/variance", false}, {"internal/store/profile", "method/neyman", false}, {"internal/another", "internal/store/files", false},
		{"pipeline/dag", "stages/score", false}, {"internal/store/journal", "internal/terminal/display", false}, {"drills/drill", "pipeline/dag", false},
		{"data", "internal/policy/seed", false}, {"another", "internal/policy/seed", false},
	} {
		source := parseFile(token.NewFileSet(), "f.go", "package p\n\nimport _ "+strconv.Quote(module+"/"+test.imports))
		if faults := importFaults(folder{test.pkg, []file{source}}); (len(faults) == 0) != test.may {
			t.Errorf("%s imports %s: %v", test.pkg, test.imports, faults)
		}
	}
}
