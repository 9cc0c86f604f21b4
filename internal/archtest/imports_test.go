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
	{"pipeline", []string{"pipeline/status", "pipeline/config", "pipeline/evaluate", "pipeline/view", "pipeline/exchange", "pipeline/experiment", "pipeline/dag", "pipeline/slurm", "pipeline/runlog", "stages/…", "data", "method/…", "internal/…"}},
	{"pipeline/view", []string{"pipeline/dag", "pipeline/evaluate", "pipeline/status", "internal/display", "internal/evaluation", "internal/evaluation/show", "method/neyman"}},
	{"release", []string{"internal/version"}},
	{"pipeline/evaluate", []string{"pipeline/config", "pipeline/experiment", "pipeline/dag", "stages/score", "data", "method/…", "internal/…"}},
	{"pipeline/exchange", []string{"internal/benchmark", "internal/evaluate/logs", "internal/profile", "internal/store/atomicfile", "internal/display", "internal/ending", "internal/evaluation", "internal/rollout", "internal/store/rowfile", "internal/policy"}},
	{"pipeline/experiment", []string{"pipeline/config", "pipeline/slurm", "pipeline/dag", "pipeline/pair", "stages/…", "data", "method/…", "internal/…"}},
	{"pipeline/status", []string{"pipeline/dag", "internal/evaluation", "internal/display", "internal/table", "pipeline/runlog"}},
	{"pipeline/slurm", []string{"pipeline/dag", "pipeline/runlog", "internal/clock", "internal/display", "internal/process", "internal/store/atomicfile", "internal/store/files"}},
	{"pipeline/runlog", []string{"pipeline/dag", "internal/store/rowfile"}},
	{"pipeline/lineage", []string{"pipeline/dag", "internal/table"}},
	{"pipeline/pair", []string{"pipeline/dag", "internal/profile"}},
	{"stages/report/explain", []string{"stages/report", "stages/report/tables", "stages/report/model", "pipeline/dag", "pipeline/lineage", "internal/…", "stages/report/stored"}},
	{"stages/report/page", []string{"stages/report", "stages/report/figures", "stages/report/tables", "stages/report/model", "stages/report/stored", "pipeline/dag", "pipeline/lineage", "internal/…"}},
	{"stages/report", []string{"stages/report/figures", "stages/report/tables", "stages/report/model", "stages/report/stored", "pipeline/dag", "internal/…", "pipeline/lineage"}},
	{"stages/report/figures", []string{"stages/report/model", "stages/report/stored", "pipeline/dag", "internal/…"}},
	{"stages/report/tables", []string{"stages/report/tables/measured", "stages/report/model", "stages/report/stored", "pipeline/dag", "internal/…"}},
	{"stages/report/tables/measured", []string{"stages/report/model", "stages/report/stored", "pipeline/dag", "internal/…"}},
	{"stages/report/model", []string{"stages/report/stored", "pipeline/dag", "internal/…"}},
	{"stages/report/stored", []string{"pipeline/dag", "pipeline/pair", "internal/…"}},
	{"stages/*", []string{"pipeline/dag", "pipeline/pair", "method/…", "internal/…"}}, // never one another: they meet in files
	{"drills/drill", []string{"pipeline/config", "internal/…"}},
	{"drills/made", []string{"internal/upstream"}},
	{"drills/*", []string{"drills/drill", "drills/made", "pipeline/config", "data", "method/…", "internal/…"}}, // they try the built program
	{"pipeline/config", []string{"internal/store/files", "internal/display"}},
	{"pipeline/dag/dagtest", []string{"pipeline/dag"}},
	{"pipeline/dag", []string{"internal/display", "internal/store/atomicfile", "internal/store/files", "internal/process", "internal/store/rowfile"}},
	{"data/importer", []string{"method/…", "internal/…"}},
	{"data/fleet/fit", []string{"data", "method/…", "internal/…"}},
	{"data", nil},

	// Executing a policy: identities and rewards, the policies themselves, the
	// loop that runs one, and the two kinds of worker that it runs on.
	{"internal/coupled", []string{"method/controller", "internal/profile", "internal/store/csvfile"}},
	{"internal/servers/worker", []string{"internal/router", "method/controller", "internal/servers/pool", "internal/servers/vllm", "internal/clock"}},
	{"internal/fleet/virtual", []string{"internal/router", "method/controller", "internal/fleet", "internal/flops"}},
	{"internal/fleet", []string{"method/controller", "internal/store/csvfile", "internal/seed", "internal/profile", "internal/benchmark", "internal/scoring/family"}},
	{"internal/router", []string{"method/controller", "internal/flops"}},
	{"method/controller", []string{"method/informed", "method/staged", "method/neyman"}},

	// Serving: from the pool of replicas down to one server's client, and the
	// fleet that stands in for servers.
	{"internal/servers/serving", []string{"internal/servers/pool", "internal/servers/launcher", "internal/servers/vllm", "internal/clock"}},
	{"internal/servers/checkpoint", []string{"internal/store/files", "internal/fleet", "internal/flops", "internal/store/atomicfile"}},
	{"internal/servers/launcher", []string{"internal/servers/vllm", "internal/clock"}},
	{"internal/servers/pool", []string{"internal/servers/vllm", "internal/clock", "internal/display", "internal/seed"}},
	{"internal/fleet/imitation", []string{"internal/fleet", "internal/seed", "internal/clock"}},

	// Scoring: tasks, the families of scorers, and what they are made of.
	{"internal/benchmark", []string{"internal/display", "internal/store/files", "internal/scoring", "internal/scoring/family", "internal/store/csvfile"}},
	{"internal/scoring/family", []string{"internal/scoring", "internal/scoring/*", "internal/seed", "internal/display"}},
	{"internal/scoring/maths", []string{"internal/scoring", "internal/scoring/words", "internal/scoring/maths/latex", "internal/scoring/maths/algebra"}},
	{"internal/scoring/choice", []string{"internal/scoring", "internal/scoring/words"}},
	{"internal/scoring/judge", []string{"internal/ending", "internal/scoring", "internal/scoring/words", "internal/servers/vllm"}},
	{"internal/scoring/code", []string{"internal/scoring", "internal/scoring/sandbox"}},
	{"internal/scoring/command", []string{"internal/store/files", "internal/scoring", "internal/scoring/sandbox", "internal/scoring/sandbox/child"}},
	{"internal/scoring/text", []string{"internal/scoring", "internal/scoring/maths", "internal/scoring/words"}},
	{"internal/scoring/maths/latex", []string{"internal/scoring/maths/algebra", "internal/scoring/words"}},
	{"internal/scoring/maths/algebra", nil},
	{"internal/scoring/sandbox", []string{"internal/scoring/sandbox/child"}},
	{"internal/scoring/sandbox/child", nil},
	{"internal/scoring/*", []string{"internal/scoring"}}, // those that need no more
	{"internal/scoring", nil},

	// A client of one server, and what is made over it.
	{"internal/servers/vllm", []string{"internal/ending", "internal/seed", "internal/clock", "internal/display"}},
	{"internal/protocol", []string{"internal/evaluation", "internal/store/journal", "internal/ledger", "method/…"}},
	{"internal/policy", []string{"method/controller", "internal/pilot", "internal/profile", "method/informed", "method/staged", "internal/tsneyman", "internal/seed", "method/neyman"}},
	{"internal/evaluation/show", []string{"internal/evaluation", "internal/figure", "internal/rollout", "internal/ending", "internal/table", "internal/display"}},
	{"internal/evaluation", []string{"internal/store/atomicfile", "internal/clock", "internal/coupled", "internal/display", "internal/ending", "internal/store/files", "internal/store/journal", "internal/ledger", "internal/pilot", "internal/policy", "internal/rollout", "internal/router", "internal/store/rowfile", "internal/servers/sampler", "internal/seed", "internal/version", "internal/servers/vllm", "method/controller", "method/design", "method/drift", "method/estimate", "method/informed", "method/neyman", "method/staged"}},
	{"internal/ledger", []string{"method/controller", "internal/rollout", "internal/servers/vllm"}},
	{"internal/servers/sampler", []string{"internal/ending", "internal/rollout", "internal/servers/vllm", "internal/store/journal", "internal/clock", "internal/benchmark", "internal/seed"}},
	{"internal/rollout", []string{"internal/store/rowfile", "internal/store/journal"}},

	// Statistics, and the rows in which its results are stored.
	{"internal/policy/policytest", []string{"internal/policy", "method/neyman"}},
	{"internal/pilot", []string{"internal/seed", "method/neyman", "method/informed", "method/staged"}},
	{"method/estimate", []string{"method/neyman", "method/design", "method/informed", "method/sequential", "internal/seed"}},
	{"method/drift", []string{"internal/seed"}},
	{"method/design", []string{"internal/pilot", "internal/seed", "method/informed", "method/staged", "method/neyman"}},
	{"internal/tsneyman", []string{"internal/seed"}},
	{"method/sequential", nil},
	{"method/staged", []string{"method/neyman"}},
	{"method/informed", []string{"method/neyman"}},
	{"method/neyman", nil},
	{"internal/seed", nil},
	{"internal/variance", []string{"internal/agreement", "internal/profile", "internal/policy", "internal/store/rowfile", "internal/seed"}},
	{"internal/agreement", []string{"internal/table"}},
	{"internal/paper", nil},

	// What people look at.
	{"internal/comparison", []string{"internal/agreement", "internal/profile", "internal/table", "internal/display"}},
	{"internal/figure", []string{"internal/table"}},
	{"internal/typeset", nil},
	{"internal/golden", nil},
	{"internal/table", []string{"internal/display"}},

	// Facts, as typed values and in files.
	{"internal/measurement", []string{"internal/store/files", "internal/policy", "internal/flops", "internal/store/rowfile"}},
	{"internal/flops", []string{"internal/store/csvfile"}},
	{"internal/profile", []string{"internal/store/files", "internal/store/csvfile", "internal/store/rowfile"}},
	{"internal/store/csvfile", nil},
	{"internal/store/rowfile", []string{"internal/store/files", "internal/store/parquetfile"}},
	{"internal/store/parquetfile", nil},

	// What others publish: benchmarks, and the service that they are fetched from.
	{"internal/upstream/rows", []string{"internal/store/files", "internal/store/parquetfile", "internal/store/csvfile"}},
	{"internal/upstream", []string{"internal/benchmark", "internal/store/files", "internal/upstream/rows", "internal/store/atomicfile"}},
	{"internal/evaluate/logs", []string{"internal/store/files", "internal/store/parquetfile", "method/estimate"}},
	{"internal/hub", []string{"internal/store/files", "internal/store/atomicfile", "internal/clock"}},

	// Support, each of one idea.
	{"internal/archtest", nil},
	{"internal/store/files", nil},
	{"internal/store/atomicfile", nil},
	{"internal/clock", nil},
	{"internal/ending", nil},
	{"internal/process", []string{"internal/clock"}},
	{"internal/display", nil},
	{"internal/store/journal", []string{"internal/store/atomicfile"}},
	{"internal/version", nil},
}

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
