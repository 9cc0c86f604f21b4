// Package data embeds the published facts: the profiles and measurements of
// the paper's data release, the definitions of benchmarks and models, and the
// numbers that the paper prints; and what is ours: two benchmarks and the
// templates of prompts. README.md in this folder gives sources, columns and terms.
package data

import (
	"embed"
	"io/fs"
)

//go:embed profiles.parquet
var profiles []byte

//go:embed measurements.parquet
var measurements []byte

//go:embed profile_sha256.csv
var profileSHA256 []byte

//go:embed architectures.csv
var architectures []byte

//go:embed paper_targets.toml
var paperTargets []byte

//go:embed fleet/models.csv
var fleetModels []byte

//go:embed fleet/lengths.csv
var fleetLengths []byte

//go:embed smallbench/smallbench.jsonl
var smallBenchmark []byte

//go:embed smallmodel/primer.jsonl
var primer []byte

//go:embed prompts/*.txt
var prompts embed.FS

//go:embed prompts/judge/verdict.txt
var verdictPrompt []byte

//go:embed prompts/judge/grade.txt
var gradePrompt []byte

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
// them degenerate. Like all that this package returns it is read-only.
func Profiles() []byte { return profiles }

// Measurements is a Parquet file, to be read by measurement.Parse: the runs of
// the 107 evaluated profiles at four budgets.
func Measurements() []byte { return measurements }

// ProfileSHA256 is a CSV file with the columns benchmark, model and sha256:
// the digest of the release's own profile file, from which the coupled
// rewards of the systems study are derived.
func ProfileSHA256() []byte { return profileSHA256 }

// Architectures is a CSV file, to be read by flops.Parse.
func Architectures() []byte { return architectures }

// PaperTargets is a TOML file with every number of the paper's tables, as
// printed: a table of values per table of the paper.
func PaperTargets() []byte { return paperTargets }

// FleetModels and FleetLengths are CSV files, to be read by workload.Parse: how
// fast the simulated fleet is and how long its answers are.
func FleetModels() []byte { return fleetModels }

// FleetLengths is described at FleetModels.
func FleetLengths() []byte { return fleetLengths }

// SmallBenchmark is a task file of bare problems, to be read by a benchmark.Reader
// with Prompts: a benchmark of our own, smallbench, with tasks for every kind of
// scorer.
func SmallBenchmark() []byte { return smallBenchmark }

// Primer is a whole task file: the benchmark primer, whose tasks the small model
// in the same folder can be asked, in these very words.
func Primer() []byte { return primer }

// BuiltInNames are the ids of the benchmarks whose task files are built in.
func BuiltInNames() []string { return []string{"smallbench", "primer"} }

// BuiltIn finds the task file of a benchmark that needs none from the user, and
// its name. It is false for the id of any other benchmark.
func BuiltIn(id string) (tasks []byte, name string, ok bool) {
	switch id {
	case "smallbench":
		return smallBenchmark, SmallBenchmarkName, true
	case "primer":
		return primer, PrimerName, true
	}
	return nil, "", false
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
func VerdictPrompt() []byte { return verdictPrompt }

// GradePrompt is a template of the turn by which a judge model is asked for a grade, to be
// read by judge.ParsePrompt.
func GradePrompt() []byte { return gradePrompt }
