// Package dag is the staged experiment: stages, units, keys, manifests,
// staleness, plans and the runner. It knows no stage and no statistics.
//
// A unit is the smallest piece that can run by itself. Its key is a hash of
// everything that its result depends on: the content of its inputs, the
// slice of the configuration that it reads, the code version of its stage
// and its seed label. A unit whose manifest carries its present key, and
// whose outputs are the bytes that the manifest recorded, is fresh; anything
// else is stale, for a reason that can be named. Timestamps never matter, except for
// what need not be read again: see package indexfile.
package dag

import "context"

// Stage is a named step of the pipeline and the units that it consists of.
type Stage struct {
	Name    string // one word, as typed on the command line
	About   string // one line, shown by plan and status
	Version int    // code version: raised when the same inputs give other results

	// Satisfied says why the stage has nothing to run, for example that the
	// published profiles stand in for it. It is empty for a stage with units.
	Satisfied string

	Units []Unit // static: known before anything runs, in canonical order
}

// Unit is the smallest independently runnable piece of a stage. Given the
// same key it produces the same bytes, wherever and in whatever order it runs.
type Unit struct {
	ID string // unique in its stage, slash-separated: "design/hbn/n=30/replicate=3"

	// Config is the slice of the configuration that the unit reads, dotted
	// key to canonical value: {"replay.draws": "8192"}. Knobs that cannot
	// change the result (worker count, progress) stay out of it.
	Config map[string]string

	Seed    string   // label of its branch of the seed tree; empty without randomness
	Sources []Source // inputs from outside the output folder
	Needs   []Ref    // units whose outputs are inputs, of this stage or an earlier one
	Wants   []Ref    // likewise, but without their outputs the unit runs all the same
	Outputs []string // files it writes, slash-separated, relative to the output folder

	// Provenance is "published", "simulated", "measured" or "computed"; empty if
	// only the run can tell, which then does by Job.Provenance.
	Provenance string

	Expect []Quantity // what a run of it takes, for plans
	Cost   float64    // CPU seconds that a first run takes, roughly; 0 where nobody can tell

	// Run computes the unit. It reads inputs and writes outputs through job
	// alone, and returns soon after ctx is cancelled, having lost nothing but
	// its own work.
	Run func(ctx context.Context, job *Job) error
}

// Quantity is so much of something that a unit takes, such as tokens.
type Quantity struct {
	Name   string // a plural: "requests"
	Amount float64
}

// Source is an input from outside the output folder: a file of the user's or
// of the published data, known by its content.
type Source struct {
	Name   string // as shown to the user: "data/profiles.parquet"
	SHA256 string // lower-case hex digest of the content
}

// Ref names a unit of a stage.
type Ref struct{ Stage, Unit string }
