package agreement

// Class says where a number that is compared comes from, and so what it is worth
// that it agrees.
type Class string

// Classes of numbers. The numbers of the first two are evidence for the paper, and
// decide; so are those that were measured here for what was predicted of them.
const (
	Computed     Class = "computed"      // by our own computation, from profiles and seeds
	Reaggregated Class = "re-aggregated" // sums of the authors' own measurements
	Copied       Class = "copied"        // constants of the authors, and counts of what was imported of theirs
	Predicted    Class = "predicted"     // of the simulated fleet, whose fit has not seen it
	InFit        Class = "fitted"        // of the simulated fleet, whose fit has seen it
	Measured     Class = "measured"      // on servers other than the paper's
)

// Classes are all of them, in the order in which they are counted.
var Classes = []Class{Computed, Reaggregated, Copied, Predicted, InFit, Measured}

// Decides reports whether a number of the class that does not agree makes the whole
// comparison fail. A prediction tells how good the simulated fleet is and a copy
// that it was copied; neither tells anything of the method.
func (c Class) Decides() bool { return c == Computed || c == Reaggregated || c == Measured }
