package page

import (
	"math"
	"slices"
	"time"
)

// Sizes of the timeline, in units of its drawing.
const (
	axisWidth    = 1000.0
	leastSession = 170.0 // room for the date of a session
	breakWidth   = 26.0
)

// longestPause ends a session: what starts later was started by somebody anew.
const longestPause = time.Minute

// session is a span of time in which something ran, and its place on the axis.
type session struct {
	start, end time.Time
	x, width   float64
}

func (s session) seconds() float64 { return s.end.Sub(s.start).Seconds() }

// place is where a moment of the session lies on the axis.
func (s session) place(t time.Time) float64 {
	if s.seconds() == 0 {
		return s.x
	}
	return s.x + s.width*t.Sub(s.start).Seconds()/s.seconds()
}

// sessions cuts the time of a run where nothing ran, or waited, for long, so that a
// stage that was run again days later stays readable beside the first run. Bars are
// sorted by when they begin.
func sessions(bars []Bar) []session {
	var all []session
	for _, b := range bars {
		last := len(all) - 1
		if last < 0 || b.begin().Sub(all[last].end) > longestPause {
			all = append(all, session{start: b.begin(), end: b.end()})
		} else if b.end().After(all[last].end) {
			all[last].end = b.end()
		}
	}
	return all
}

// begin is when the unit was handed to a scheduler, or else started.
func (b Bar) begin() time.Time {
	if b.Wait != nil && b.Wait.Submitted.Before(b.Start) {
		return b.Wait.Submitted
	}
	return b.Start
}

// end is when the unit was done.
func (b Bar) end() time.Time { return b.Start.Add(time.Duration(b.Wall * float64(time.Second))) }

// placed lays the sessions out from left to right: a least width each, and the
// rest of the axis by how long they lasted. It returns the width of all.
func placed(all []session) ([]session, float64) {
	n := float64(len(all))
	total := 0.0
	for _, s := range all {
		total += s.seconds()
	}
	rest := max(0, axisWidth-n*leastSession-(n-1)*breakWidth)
	x := 0.0
	for i := range all {
		share := 1 / n
		if total > 0 {
			share = all[i].seconds() / total
		}
		all[i].x, all[i].width = x, leastSession+rest*share
		x += all[i].width + breakWidth
	}
	return all, max(axisWidth, x-breakWidth)
}

// sessionOf is the session that a bar belongs to.
func sessionOf(all []session, b Bar) session { return all[sessionAt(all, b.Start)] }

// sessionAt is the place of the session in which something began at a moment.
func sessionAt(all []session, t time.Time) int {
	i, found := slices.BinarySearchFunc(all, t, func(s session, t time.Time) int { return s.start.Compare(t) })
	if !found {
		i--
	}
	return i
}

// step is the distance of two ticks of a session, in seconds: a round number,
// with some room for its label.
func step(s session) float64 {
	least := 80 * s.seconds() / s.width
	for _, round := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400} {
		if round >= least {
			return round
		}
	}
	return 86400 * math.Ceil(least/86400)
}
