package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"speceval/internal/phrase"
)

const (
	areaHeight = 36.0
	waitHeight = 22.0
	binWidth   = 3.0 // of the axis, over which a number of units is averaged
)

// addAreas draws how many units waited, and how many ran on each host, from y
// down, and returns where that ends.
func (l *lane) addAreas(y float64, bars []Bar, axis []session) float64 {
	var waits []period
	jobs := make(map[string]bool)
	for _, b := range bars {
		if b.Wait != nil && !jobs[b.Wait.Job] {
			jobs[b.Wait.Job] = true
			waits = append(waits, period{b.begin(), b.waited()})
		}
	}
	if len(waits) > 0 {
		title := fmt.Sprintf("%s, at most %d at a time", waitsTitle(l.Name, bars), atOnce(waits))
		l.Areas = append(l.Areas, area{path(waits, axis, y, waitHeight), title, true})
		y += waitHeight + hostGap
	}
	names, parts := byHost(bars)
	for i, part := range parts {
		y = l.label(y, names[i], i)
		l.Areas = append(l.Areas, area{path(runTimes(part), axis, y, areaHeight), areaTitle(l.Name, names[i], part), false})
		y += areaHeight
	}
	return y
}

// areaTitle is what the units of a host say when pointed at.
func areaTitle(stage, host string, bars []Bar) string {
	var wall, cpu float64
	var peak int64
	for _, b := range bars {
		wall, cpu, peak = wall+b.Wall, cpu+b.CPU, max(peak, b.PeakBytes)
	}
	where := ""
	if host != "" {
		where = " on " + host
	}
	return fmt.Sprintf("%s%s: %s, at most %d at a time\n%s in all, CPU %s (%s of a core), peak memory %s",
		stage, where, phrase.Units(len(bars)), atOnce(runTimes(bars)), Duration(wall), Duration(cpu), share(cpu, wall), megabytes(peak))
}

// period is a span of time.
type period struct{ from, to time.Time }

func runTimes(bars []Bar) []period {
	all := make([]period, len(bars))
	for i, b := range bars {
		all[i] = period{b.Start, b.end()}
	}
	return all
}

// atOnce is how many of the periods overlap at most.
func atOnce(all []period) int {
	type edge struct {
		at time.Time
		by int
	}
	var edges []edge
	for _, p := range all {
		edges = append(edges, edge{p.from, 1}, edge{p.to, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.by
		most = max(most, now)
	}
	return most
}

// path draws how many of the periods overlap, on average over bins of the axis,
// as an area of some height below y; the highest bin fills it.
func path(all []period, axis []session, y, height float64) string {
	bins := make([][]float64, len(axis))
	for i, s := range axis {
		bins[i] = make([]float64, max(1, int(s.width/binWidth)))
	}
	most := 0.0
	for _, p := range all {
		i := sessionAt(axis, p.from)
		fill(bins[i], axis[i], p)
	}
	for _, b := range bins {
		most = max(most, slices.Max(b))
	}
	var d strings.Builder
	for i, s := range axis {
		outline(&d, bins[i], s, y+height, height/max(most, 1e-9))
	}
	return d.String()
}

// fill adds to each bin the part of it that the period covers.
func fill(bins []float64, s session, p period) {
	wide := s.width / float64(len(bins))
	from, to := (s.place(p.from)-s.x)/wide, (s.place(p.to)-s.x)/wide
	for i := max(0, int(from)); i < len(bins) && float64(i) < to; i++ {
		bins[i] += max(0, min(to, float64(i+1))-max(from, float64(i)))
	}
}

// outline adds the area over bins to a path; by is the height of a unit.
func outline(d *strings.Builder, bins []float64, s session, base, by float64) {
	wide := s.width / float64(len(bins))
	at := px(base)
	fmt.Fprintf(d, "M%s %s", px(s.x), at)
	for i, b := range bins {
		if level := px(base - b*by); level != at {
			if i > 0 {
				fmt.Fprintf(d, "H%s", px(s.x+float64(i)*wide))
			}
			fmt.Fprintf(d, "V%s", level)
			at = level
		}
	}
	fmt.Fprintf(d, "H%sV%sz", px(s.x+s.width), px(base))
}
