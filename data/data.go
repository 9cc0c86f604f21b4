// Package data embeds the published facts: the profiles and measurements of
// the paper's data release, the definitions of benchmarks and models, and the
// numbers that the paper prints; and what is ours: two benchmarks and the
// templates of prompts. README.md in this folder gives sources, columns and terms.
package data

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.parquet architectures.csv profile_sha256.csv paper_targets.toml fleet/*.csv smallbench/*.jsonl smallmodel/*.jsonl prompts/judge/*.txt
var files embed.FS

//go:embed prompts/*.txt
var prompts embed.FS

// file is the content of an embedded file.
func file(name string) []byte {
	content, err := files.ReadFile(strings.TrimPrefix(name, "data/"))
	if err != nil {
		panic(err) // only of a name that is not embedded
	}
	return content
}

// Names of the embedded files, as errors and plans show them.
const (
	ProfilesName      = "data/profiles.parquet"
	MeasurementsName  = "data/measurements.parquet"
	ProfileSHA256Name = "data/profile_sha256.csv"
	ArchitecturesName = "data/architectures.csv"
	PaperTargetsName  = "data/paper_targets.toml"

	FleetName          = "data/fleet"
	SmallBenchmarkName = "data/smallbench/smallbench.jsonl"
	PrimerName         = "data/smallmodel/primer.jsonl"
	VerdictPromptName  = "data/prompts/judge/verdict.txt"
	GradePromptName    = "data/prompts/judge/grade.txt"
)

// Profiles is a Parquet file, to be read by profile.Parse: 108 profiles, one of
// them degenerate.
func Profiles() []byte { return file(ProfilesName) }

// Measurements is a Parquet file, to be read by measurement.Parse: the runs of
// the 107 evaluated profiles at four budgets.
func Measurements() []byte { return file(MeasurementsName) }

// ProfileSHA256 is a CSV file with the columns benchmark, model and sha256:
// the digest of the release's own profile file, from which the coupled
// rewards of the systems study are derived.
func ProfileSHA256() []byte { return file(ProfileSHA256Name) }

// Architectures is a CSV file, to be read by flops.Parse.
func Architectures() []byte { return file(ArchitecturesName) }

// PaperTargets is a TOML file with every number of the paper's tables, as
// printed: a table of values per table of the paper.
func PaperTargets() []byte { return file(PaperTargetsName) }

// FleetModels and FleetLengths are CSV files, to be read by workload.Parse: how
// fast the simulated fleet is and how long its answers are.
func FleetModels() []byte { return file(FleetName + "/models.csv") }

// FleetLengths is described at FleetModels.
func FleetLengths() []byte { return file(FleetName + "/lengths.csv") }

// BuiltInNames are the ids of the benchmarks whose task files are built in.
func BuiltInNames() []string { return []string{"smallbench", "primer"} }

// BuiltIn is the task file of a benchmark that needs none from the user, and its name: smallbench,
// bare problems of our own for every kind of scorer, or primer, which the small model in its folder
// can be asked in these very words. It is nil for the id of any other benchmark.
func BuiltIn(id string) (tasks []byte, name string) {
	if name = map[string]string{"smallbench": SmallBenchmarkName, "primer": PrimerName}[id]; name != "" {
		tasks = file(name)
	}
	return tasks, name
}

// Prompts is the folder of prompt templates, to be read by
// benchmark.ParsePrompts.
func Prompts() fs.FS {
	folder, err := fs.Sub(prompts, "prompts")
	if err != nil {
		panic(err) // only of an invalid name
	}
	return folder
}

// VerdictPrompt is a template of the turn by which a judge model is asked for a
// verdict, to be read by judge.ParsePrompt.
func VerdictPrompt() []byte { return file(VerdictPromptName) }

// GradePrompt is a template of the turn by which a judge model is asked for a grade, to be
// read by judge.ParsePrompt.
func GradePrompt() []byte { return file(GradePromptName) }
