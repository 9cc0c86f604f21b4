package variance

import "math"

// Causes are the errors of a weighted sum of ratios, one for each cause.
type Causes struct {
	Replay, Design float64

	// What comes from the profiles; nil where the replay has not redrawn all of
	// them.
	Profiles *ProfileCauses
}

// ProfileCauses is what redrawn profiles say of a weighted sum of ratios.
type ProfileCauses struct {
	SE             float64
	Shift, ShiftSE float64
	Resamples      int32 // of each profile, at least
}

// NewCauses splits the error of Σ g_j·ratio_j, for ratios of one policy at one
// budget: replays and profiles err independently of one another, designs are
// shared within a task count.
func NewCauses(designs Schedules, errors ProfileErrors, ratios []Ratio, weights []float64) (Causes, error) {
	e, err := SumErrors(designs, ratios, weights)
	return Causes{e.Replay, e.Design, newProfileCauses(errors, ratios, weights)}, err
}

// newProfileCauses is what comes from the profiles, nil if some were not redrawn.
func newProfileCauses(all ProfileErrors, ratios []Ratio, weights []float64) *ProfileCauses {
	p := ProfileCauses{Resamples: math.MaxInt32}
	var se2, shift2 float64
	for j, r := range ratios {
		e, ok := all[EntryOf(r)]
		if !ok {
			return nil
		}
		g := weights[j]
		se2 += g * g * e.ProfileSE * e.ProfileSE
		p.Shift += g * e.Shift
		shift2 += g * g * e.ShiftSE * e.ShiftSE
		p.Resamples = min(p.Resamples, e.Resamples)
	}
	p.SE, p.ShiftSE = math.Sqrt(se2), math.Sqrt(shift2)
	return &p
}
