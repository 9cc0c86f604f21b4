package archtest

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"testing"
)

// importRule says which packages of this module a package may import. The
// first rule that matches a package counts. In patterns, * is one word and …
// stands for the folders below as well.
type importRule struct {
	packages string
	may      []string
}

// importRules is the layout of the repository, from top to bottom. Imports go
// down this list only. A package that no rule matches is a fault: add it where
// it belongs, and to the layout of docs/architecture.md.
var importRules = []importRule{
	{"pipeline", []string{"pipeline/progress", "pipeline/config", "pipeline/evaluate", "pipeline/importing", "pipeline/exporting", "pipeline/experiment", "pipeline/status", "pipeline/dag", "pipeline/executor", "pipeline/runlog", "pipeline/runs", "pipeline/pair", "stages/…", "data", "method/…", "internal/…"}},
	{"release", []string{"release/*", "internal/version"}},
	{"release/wheel", []string{"release/bundle"}},
	{"release/*", nil},
	{"pipeline/evaluate", []string{"pipeline/importing", "pipeline/config", "pipeline/experiment", "pipeline/dag", "stages/score", "data", "method/…", "internal/…"}},
	{"pipeline/importing", []string{"internal/harness", "internal/profile", "internal/atomicfile", "internal/table", "internal/phrase", "internal/shown"}},
	{"pipeline/exporting", []string{"internal/evaluation", "internal/rollout", "internal/rowfile", "internal/atomicfile", "internal/evaluation/…"}},
	{"pipeline/experiment", []string{"pipeline/config", "pipeline/executor", "pipeline/dag", "pipeline/pair", "stages/…", "data", "method/…", "internal/…"}},
	{"pipeline/progress", []string{"pipeline/status", "pipeline/dag", "internal/evaluation", "internal/phrase", "internal/shown"}},
	{"pipeline/status", []string{"pipeline/executor", "pipeline/runlog", "pipeline/dag", "internal/phrase"}},
	{"pipeline/executor", []string{"pipeline/dag", "pipeline/runlog", "internal/slurm", "internal/rusage", "internal/atomicfile", "internal/ownfile", "internal/clock"}},
	{"pipeline/runlog", []string{"pipeline/dag", "internal/ownfile", "internal/rusage"}},
	{"pipeline/lineage", []string{"pipeline/dag", "internal/phrase", "internal/table"}},
	{"pipeline/runs", []string{"pipeline/dag", "internal/rowfile"}},
	{"pipeline/pair", []string{"pipeline/dag", "internal/profile"}},
	{"stages/report", []string{"stages/report/latex", "stages/report/figures", "stages/report/files", "stages/report/verify", "stages/report/tables", "stages/report/model", "stages/report/stored", "pipeline/dag", "internal/…"}},
	{"stages/report/html", []string{"stages/report/verify", "stages/report/figures", "stages/report/tables", "stages/report/model", "stages/report/stored", "pipeline/dag", "pipeline/lineage", "internal/…"}},
	{"stages/report/latex", []string{"stages/report/verify", "stages/report/model", "stages/report/stored", "internal/…"}},
	{"stages/report/diff", []string{"stages/report/files", "stages/report/tables", "stages/report/model", "pipeline/dag", "pipeline/lineage", "internal/…"}},
	{"stages/report/explain", []string{"stages/report/files", "stages/report/verify", "stages/report/tables", "stages/report/model", "stages/report/stored", "pipeline/dag", "pipeline/lineage", "internal/…"}},
	{"stages/report/files", []string{"stages/report/model", "stages/report/stored", "pipeline/dag", "internal/table"}},
	{"stages/report/verify", []string{"stages/report/tables", "stages/report/model", "stages/report/stored", "internal/…"}},
	{"stages/report/figures", []string{"stages/report/model", "stages/report/stored", "pipeline/dag", "internal/…"}},
	{"stages/report/tables", []string{"stages/report/tables/measured", "stages/report/tables/given", "stages/report/model", "stages/report/stored", "pipeline/dag", "internal/…"}},
	{"stages/report/tables/measured", []string{"stages/report/model", "stages/report/stored", "pipeline/dag", "internal/…"}},
	{"stages/report/tables/given", []string{"stages/report/model", "stages/report/stored", "internal/…"}},
	{"stages/report/model", []string{"stages/report/stored", "pipeline/dag", "internal/…"}},
	{"stages/report/stored", []string{"pipeline/dag", "pipeline/pair", "internal/…"}},
	{"stages/*", []string{"pipeline/dag", "pipeline/pair", "data", "method/…", "internal/…"}}, // never one another: they meet in files
	{"drills", []string{"drills/…"}},
	{"drills/lab", []string{"pipeline/config", "data", "internal/…"}},
	{"drills/timed", []string{"data", "method/…", "internal/…"}},
	{"drills/evaluated", []string{"drills/lab", "method/…", "internal/…"}},
	{"drills/*", []string{"drills/lab", "drills/timed", "drills/evaluated", "pipeline/config", "data", "method/…", "internal/…"}}, // commands that try the built program
	{"pipeline/config", []string{"internal/inputfile", "internal/profile", "internal/spelling", "internal/benchmark", "internal/shown"}},
	{"pipeline/dag/dagtest", []string{"pipeline/dag"}},
	{"pipeline/dag", []string{"pipeline/dag/indexfile", "internal/atomicfile", "internal/digest", "internal/ownfile", "internal/rusage"}},
	{"pipeline/dag/indexfile", []string{"internal/ownfile"}},
	{"data/importer", []string{"method/…", "internal/…"}},
	{"data/smallbench/make", []string{"data", "method/…", "internal/…"}},
	{"data/fleet/fit", []string{"data", "method/…", "internal/…"}},
	{"data/fleet/predict", []string{"data", "method/…", "internal/…"}},
	{"data", nil},

	// Executing a policy: identities and rewards, the policies themselves, the
	// loop that runs one, and the two kinds of worker that it runs on.
	{"internal/coupled", []string{"method/controller", "internal/profile", "internal/csvfile"}},
	{"internal/worker", []string{"internal/router", "method/controller", "internal/pool", "internal/vllm", "internal/clock"}},
	{"internal/fleet/virtual", []string{"internal/router", "method/controller", "internal/fleet", "internal/flops", "internal/seed"}},
	{"internal/fleet/speed", []string{"internal/fleet"}},
	{"internal/fleet/workload", []string{"internal/fleet", "method/controller", "internal/csvfile", "internal/seed", "internal/profile"}},
	{"internal/router", []string{"method/controller", "internal/flops"}},
	{"method/controller", []string{"method/informed", "method/staged", "method/neyman"}},

	// Serving: from the pool of replicas down to one server's client, and the
	// fleet that stands in for servers.
	{"internal/serving", []string{"internal/pool", "internal/launcher", "internal/vllm", "internal/clock"}},
	{"internal/conformance", []string{"internal/vllm", "internal/clock"}},
	{"internal/checkpoint", []string{"internal/inputfile", "internal/fleet", "internal/flops", "internal/atomicfile"}},
	{"internal/launcher", []string{"internal/inputfile", "internal/vllm", "internal/clock", "internal/ownfile"}},
	{"internal/pool", []string{"internal/vllm", "internal/clock", "internal/shown"}},
	{"internal/fleet/imitation", []string{"internal/fleet", "internal/benchmark", "internal/seed", "internal/clock"}},
	{"internal/fleet/fleettest", []string{"internal/fleet"}},
	{"internal/fleet", []string{"internal/benchmark", "internal/scorer/family", "internal/seed"}},

	// Scoring: tasks, the families of scorers, and what they are made of.
	{"internal/benchmark", []string{"internal/inputfile", "internal/scorer", "internal/scorer/family", "internal/csvfile", "internal/rowfile", "internal/jsonlist"}},
	{"internal/scorer/family", []string{"internal/scorer", "internal/scorer/*", "internal/seed"}},
	{"internal/scorer/maths", []string{"internal/scorer", "internal/latex", "internal/algebra"}},
	{"internal/scorer/judge", []string{"internal/scorer", "internal/vllm"}},
	{"internal/scorer/code", []string{"internal/scorer", "internal/sandbox"}},
	{"internal/scorer/command", []string{"internal/inputfile", "internal/scorer", "internal/sandbox"}},
	{"internal/scorer/regex", []string{"internal/scorer", "internal/scorer/exact"}},
	{"internal/scorer/cases", []string{"internal/scorer", "internal/shown"}},
	{"internal/scorer/*", []string{"internal/scorer"}}, // those that need no more
	{"internal/scorer", nil},
	{"internal/latex", []string{"internal/algebra"}},
	{"internal/algebra", nil},
	{"internal/sandbox/hostile", []string{"internal/sandbox"}},
	{"internal/sandbox", []string{"internal/sandbox/cgroup"}},
	{"internal/sandbox/cgroup", nil},

	// A client of one server, and what is made over it.
	{"internal/vllm", []string{"internal/seed", "internal/clock", "internal/shown"}},
	{"internal/protocol", []string{"internal/evaluation", "internal/journal", "method/…"}},
	{"internal/evaluation/way", []string{"internal/policy", "method/controller"}},
	{"internal/evaluation/manifest", []string{"internal/atomicfile", "internal/digest", "internal/ownfile", "internal/version", "method/estimate"}},
	{"internal/evaluation/differ", nil},
	{"internal/evaluation", []string{
		"internal/inputfile", "internal/evaluation/way", "internal/evaluation/manifest", "internal/evaluation/differ",
		"method/controller", "method/design", "method/drift", "method/estimate", "method/informed", "method/neyman", "method/passk", "method/staged", "internal/policy", "internal/router", "internal/coupled", "internal/sampler", "internal/vllm",
		"internal/partial", "internal/rollout", "internal/rowfile", "internal/journal", "internal/atomicfile", "internal/clock", "internal/seed", "internal/trial", "internal/shown",
		"internal/partial", "internal/rollout", "internal/rowfile", "internal/journal", "internal/atomicfile", "internal/digest", "internal/ownfile", "internal/clock", "internal/seed", "internal/trial",
	}},
	{"internal/partial", []string{"internal/rollout", "internal/vllm", "internal/journal", "internal/clock"}},
	{"internal/sampler", []string{"internal/rollout", "internal/vllm", "internal/benchmark", "internal/seed"}},
	{"internal/rollout", []string{"internal/rowfile", "internal/journal", "internal/atomicfile"}},

	// Statistics, and the rows in which its results are stored.
	{"internal/policy/policytest", []string{"internal/policy", "method/neyman"}},
	{"internal/policy", []string{"internal/trial", "internal/profile", "method/informed", "method/staged", "internal/sweep", "internal/exante", "internal/tsneyman", "internal/seed", "internal/pilot", "method/controller", "method/neyman"}},
	{"internal/sweep", []string{"internal/pilot", "internal/seed", "method/neyman"}},
	{"method/passk", []string{"method/estimate", "method/neyman"}},
	{"method/drift", []string{"method/informed", "internal/seed"}},
	{"method/estimate", []string{"method/design", "method/informed", "method/neyman", "internal/seed"}},
	{"method/design", []string{"internal/trial", "internal/exante", "internal/seed", "method/informed", "method/staged", "method/neyman"}},
	{"internal/exante", []string{"internal/pilot", "internal/seed", "method/neyman"}},
	{"internal/pilot", []string{"internal/seed"}},
	{"internal/tsneyman", []string{"internal/seed"}},
	{"internal/controlvariate", nil},
	{"internal/trial", []string{"method/informed", "method/staged", "internal/exante", "internal/pilot", "internal/seed"}},
	{"method/staged", []string{"method/neyman"}},
	{"method/informed", []string{"method/neyman"}},
	{"method/neyman", nil},
	{"internal/seed", nil},
	{"internal/variance", []string{"internal/agreement", "internal/profile", "internal/policy", "internal/rowfile", "internal/seed"}},
	{"internal/agreement", []string{"internal/table"}},
	{"internal/repeats", []string{"internal/agreement", "internal/measurement", "internal/profile"}},
	{"internal/paper", nil},

	// What people look at.
	{"internal/comparison", []string{"internal/agreement", "internal/profile", "internal/table", "internal/phrase"}},
	{"internal/disagreement", []string{"internal/rollout", "internal/rowfile", "internal/table", "internal/shown"}},
	{"internal/page", []string{"internal/agreement", "internal/table", "internal/figure", "internal/phrase", "internal/shown"}},
	{"internal/figure", []string{"internal/table", "internal/typeface"}},
	{"internal/typeface", nil},
	{"internal/typeset", nil},
	{"internal/table/textest", nil},
	{"internal/table", []string{"internal/shown"}},

	// Facts, as typed values and in files.
	{"internal/measurement", []string{"internal/inputfile", "internal/policy", "internal/flops", "internal/csvfile", "internal/rowfile"}},
	{"internal/flops", []string{"internal/csvfile", "internal/rowfile"}},
	{"internal/profile", []string{"internal/inputfile", "internal/csvfile", "internal/rowfile"}},
	{"internal/csvfile", nil},
	{"internal/jsonlist", nil},
	{"internal/rowfile", []string{"internal/inputfile", "internal/parquetfile"}},
	{"internal/parquetfile", nil},

	// What others publish: benchmarks, and the service that they are fetched from.
	{"internal/upstream/made", []string{"internal/upstream", "internal/mersenne"}},
	{"internal/upstream/rows", []string{"internal/inputfile", "internal/parquetfile", "internal/csvfile"}},
	{"internal/upstream/testcases", []string{"internal/benchmark", "internal/jsonlist"}},
	{"internal/upstream", []string{"internal/inputfile", "internal/upstream/rows", "internal/upstream/testcases", "internal/benchmark", "internal/mersenne", "internal/csvfile", "internal/atomicfile"}},
	{"internal/mersenne", nil},
	{"internal/harness", []string{"internal/inputfile", "internal/harness/pull", "internal/parquetfile"}},
	{"internal/harness/pull", nil},
	{"internal/hub/hubtest", nil},
	{"internal/hub", []string{"internal/inputfile", "internal/atomicfile", "internal/clock", "internal/seed", "internal/ownfile"}},

	// Support, each of one idea.
	{"internal/archtest", nil},
	{"internal/digest", []string{"internal/ownfile"}},
	{"internal/ownfile", []string{"internal/inputfile"}},
	{"internal/atomicfile", nil},
	{"internal/clock", nil},
	{"internal/interrupt", []string{"internal/clock"}},
	{"internal/inputfile", nil},
	{"internal/golden", nil},
	{"internal/manpage", nil},
	{"internal/phrase", nil},
	{"internal/shown", nil},
	{"internal/journal", []string{"internal/atomicfile", "internal/ownfile"}},
	{"internal/slurm", nil},
	{"internal/spelling", nil},
	{"internal/rusage", nil},
	{"internal/version", nil},
}

// terminalUI may be imported by the package that shows progress alone.
const terminalUI = "github.com/schollz/progressbar/v3"

func matches(pattern, pkg string) bool {
	if base, deep := strings.CutSuffix(pattern, "/…"); deep {
		return strings.HasPrefix(pkg, base+"/")
	}
	ok, _ := path.Match(pattern, pkg)
	return ok
}

func importFaults(f folder) []string {
	var rule *importRule
	for i := range importRules {
		if matches(importRules[i].packages, f.path) {
			rule = &importRules[i]
			break
		}
	}
	if rule == nil {
		return []string{fmt.Sprintf("package %s has no import rule: add one, and name the package in the layout of docs/architecture.md", f.path)}
	}
	var faults []string
	for _, file := range f.files {
		for _, spec := range file.ast.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v", file.at(spec), err))
			}
			if target == terminalUI && f.path != "pipeline/progress" {
				faults = append(faults, fmt.Sprintf("%s: %s imports the terminal's progress bars", file.at(spec), f.path))
			}
			inside, ours := strings.CutPrefix(target, module+"/")
			if ours && !rule.allows(inside) {
				faults = append(faults, fmt.Sprintf("%s: %s may not import %s", file.at(spec), f.path, inside))
			}
		}
	}
	return faults
}

func (r *importRule) allows(pkg string) bool {
	for _, pattern := range r.may {
		if matches(pattern, pkg) {
			return true
		}
	}
	return false
}

func TestImportsGoOneWay(t *testing.T) {
	for _, f := range repository(t) {
		report(t, importFaults(f))
	}
}

func TestImportRuleCatches(t *testing.T) {
	tests := []struct{ pkg, target, want string }{
		{"stages/replay", "speceval/stages/report", "stages/replay may not import stages/report"},
		{"stages/replay", "speceval/pipeline/executor", "may not import"},
		{"stages/replay", "speceval/method/neyman", ""},
		{"method/neyman", "speceval/pipeline/dag", "may not import"},
		{"method/neyman", "math", ""},
		{"pipeline/dag", "speceval/stages/replay", "may not import"},
		{"pipeline/config", "speceval/stages/score", "may not import"},
		{"pipeline", "speceval/stages/score", ""},
		{"pipeline/dag", "github.com/schollz/progressbar/v3", "progress bars"},
		{"internal/common", "fmt", "has no import rule"},
	}
	for _, test := range tests {
		source := fmt.Sprintf("package p\nimport _ %q\n", test.target)
		catches(t, importFaults(made(t, test.pkg, source)), test.want)
	}
}
