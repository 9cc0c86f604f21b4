package measurement

import "math"

// Means are the means over repeats, which lie side by side: in the order of the
// runs, a row for each setting, strategy and provenance. Extra rollouts are rounded.
func Means(runs []Repeat) []Measurement {
	var all []Measurement
	for first := 0; first < len(runs); {
		end := first + 1
		for end < len(runs) && runs[end].alike(runs[first]) {
			end++
		}
		all = append(all, mean(runs[first:end]))
		first = end
	}
	return all
}

// alike reports whether two executions are repeats of one.
func (r Repeat) alike(other Repeat) bool {
	return r.setting() == other.setting() && r.Strategy == other.Strategy && r.Provenance == other.Provenance
}

func mean(runs []Repeat) Measurement {
	m := runs[0].Measurement
	var seconds, useful, wasted, extra float64
	for _, r := range runs {
		seconds, useful, wasted = seconds+r.TimeSeconds, useful+r.UsefulFLOPs, wasted+r.WastedFLOPs
		extra += float64(r.ExtraRollouts)
	}
	n := float64(len(runs))
	m.TimeSeconds, m.UsefulFLOPs, m.WastedFLOPs = seconds/n, useful/n, wasted/n
	m.ExtraRollouts = int32(math.Round(extra / n))
	return m
}
