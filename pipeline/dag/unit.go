package dag

import (
	"context"
	"slices"
	"strings"
)

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
	Cost   float64    // CPU seconds that a first run takes, roughly; 0 if unknown

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

// String is the unit's name for people: "replay/design/hbn/n=30".
func (r Ref) String() string { return r.Stage + "/" + r.Unit }

// MarshalText is String.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Kind is the name that a unit shares with those alike, "replay/design/hbn" of
// replay/design/hbn/n=30/replicate=3: its words before the first with an equals
// sign. varies is false for the only unit of its kind, whose name it is.
func (r Ref) Kind() (name string, varies bool) {
	words := strings.Split(r.Unit, "/")
	if i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "=") }); i >= 0 {
		return strings.Join(append([]string{r.Stage}, words[:i]...), "/"), true
	}
	return r.String(), false
}
