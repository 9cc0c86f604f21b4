// Package dag is the staged experiment: stages, units, keys, manifests,
// staleness, plans and the runner. It knows no stage and no statistics.
//
// A unit is the smallest piece that can run by itself. Its key is a hash of
// everything that its result depends on: the content of its inputs, the
// slice of the configuration that it reads, the code version of its stage
// and its seed label. A unit whose manifest carries its present key, and
// whose outputs are the bytes that the manifest recorded, is fresh; anything
// else is stale, for a reason that can be named. Timestamps never matter, except that
// a large output of the recorded size and modification time is not hashed again.
package dag

// Stage is a named step of the pipeline and the units that it consists of.
type Stage struct {
	Name    string // one word, as typed on the command line
	About   string // one line, shown by plan and status
	Version int    // code version: raised when the same inputs give other results

	// Satisfied says why the stage has nothing to run, for example that the
	// published profiles stand in for it. It is empty for a stage with units.
	Satisfied string

	// Shared says, by keys of the configuration and names of sources, what a change means for
	// units that it does not seem to concern.
	Shared map[string]string

	Units []Unit // static: known before anything runs, in canonical order
}
