package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	headHeight  = 44.0 // dates and ticks
	laneHead    = 20.0 // name of a stage
	laneGap     = 14.0
	mostTitled  = 250 // bars of a stage that tell their name
	leastTitled = 2.0 // width of a bar that a pointer can find
)

// timeline is the drawing of a run, ready to be written.
type timeline struct {
	Width, Height float64
	Sessions      []drawnSession
	Lanes         []lane
	Label         string // what is seen, for who does not see it
}

// drawnSession is a stretch of the axis.
type drawnSession struct {
	X, Width, Foot string
	Date, Length   string
	Pause          string // since the session before; empty for the first
	PauseX         string
	Ticks          []tick
}

type tick struct{ X, Label string }

// lane is a stage in the timeline.
type lane struct {
	Name, About string // the stage, and what it took
	Y, TextY    string
	Height      string
	Titled      []drawnBar
	Rest        string // path of the bars that are too short to point at
	RestTitle   string
}

type drawnBar struct{ X, Y, Width, Height, Title string }

// newTimeline lays out a run: a lane for each stage, in their order, in which
// units that ran at the same time stand below one another.
func newTimeline(run Run) timeline {
	bars := slices.Clone(run.Bars)
	slices.SortFunc(bars, func(a, b Bar) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Unit, b.Unit))
	})
	axis, width := placed(sessions(bars))
	t := timeline{Width: width, Height: headHeight}
	for _, stage := range run.Stages {
		var own []Bar
		for _, b := range bars {
			if b.Stage == stage.Name {
				own = append(own, b)
			}
		}
		if len(own) > 0 {
			t.add(stage.Name, own, axis)
		}
	}
	for i := range axis {
		t.Sessions = append(t.Sessions, drawSession(axis, i, t.Height))
	}
	t.Label = fmt.Sprintf("%s of %s in %s", count(len(bars), "unit"), count(len(t.Lanes), "stage"), count(len(axis), "session"))
	return t
}

// add draws the lane of a stage below the others.
func (t *timeline) add(name string, bars []Bar, axis []session) {
	rows, most := rowsOf(bars)
	height := min(11, max(1.2, 88/float64(most)))
	y := t.Height + laneHead
	l := lane{Name: name, Y: px(y), TextY: px(t.Height + 13), Height: px(float64(most) * height)}
	cpu := 0.0
	for _, b := range bars {
		cpu += b.CPU
	}
	l.About = fmt.Sprintf("%s, CPU %s", count(len(bars), "unit"), Duration(cpu))
	titled := longest(bars, mostTitled)
	var rest strings.Builder
	var short []Bar
	for i, b := range bars {
		s := sessionOf(axis, b)
		x := s.place(b.Start)
		width := max(0.5, s.place(b.end())-x)
		top, tall := y+float64(rows[i])*height, height*0.84
		if width >= leastTitled && titled[i] {
			l.Titled = append(l.Titled, drawnBar{px(x), px(top), px(width), px(tall), b.title()})
			continue
		}
		short = append(short, b)
		fmt.Fprintf(&rest, "M%s %sh%sv%sh-%sz", px(x), px(top), px(width), px(tall), px(width))
	}
	if len(short) > 0 {
		l.Rest, l.RestTitle = rest.String(), shortTitle(name, short)
	}
	t.Lanes = append(t.Lanes, l)
	t.Height = y + float64(most)*height + laneGap
}

// rowsOf gives each bar the first row that is free when it starts; most is how
// many rows that takes. Bars are sorted by start.
func rowsOf(bars []Bar) (rows []int, most int) {
	var free []time.Time // by row: when its last bar ends
	for _, b := range bars {
		row := slices.IndexFunc(free, func(end time.Time) bool { return !end.After(b.Start) })
		if row < 0 {
			row = len(free)
			free = append(free, time.Time{})
		}
		free[row] = b.end()
		rows = append(rows, row)
	}
	return rows, len(free)
}

// longest marks the n bars that took the longest.
func longest(bars []Bar, n int) map[int]bool {
	order := make([]int, len(bars))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(bars[b].Wall, bars[a].Wall) })
	marked := map[int]bool{}
	for _, i := range order[:min(n, len(order))] {
		marked[i] = true
	}
	return marked
}

// title is what a bar says when pointed at.
func (b Bar) title() string {
	return fmt.Sprintf("%s/%s\n%s to %s UTC\n%s, CPU %s", b.Stage, b.Unit,
		b.Start.UTC().Format("2006-01-02 15:04:05"), b.end().UTC().Format("15:04:05"), Duration(b.Wall), Duration(b.CPU))
}

func shortTitle(stage string, bars []Bar) string {
	if len(bars) == 1 {
		return bars[0].title()
	}
	most := 0.0
	for _, b := range bars {
		most = max(most, b.Wall)
	}
	return fmt.Sprintf("%s: %d short units, none longer than %s", stage, len(bars), Duration(most))
}

// drawSession draws the i-th stretch of the axis down to height.
func drawSession(axis []session, i int, height float64) drawnSession {
	s := axis[i]
	d := drawnSession{
		X: px(s.x), Width: px(s.width), Foot: px(height - laneGap/2),
		Date: s.start.UTC().Format("2 Jan 2006, 15:04:05 UTC"), Length: Duration(s.seconds()),
	}
	if i > 0 {
		d.Pause = Duration(s.start.Sub(axis[i-1].end).Seconds()) + " later"
		d.PauseX = px(s.x - breakWidth/2)
	}
	if s.width < 2*leastSession {
		return d
	}
	by := step(s)
	for at := by; at < s.seconds(); at += by {
		x := s.x + s.width*at/s.seconds()
		if x > s.x+s.width-30 {
			break
		}
		d.Ticks = append(d.Ticks, tick{px(x), Duration(at)})
	}
	return d
}

// px is a length of the drawing, to a tenth of a unit.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// Duration is a span of seconds as people say it: "3 min 20 s".
func Duration(seconds float64) string {
	s := int64(math.Round(seconds))
	switch {
	case seconds < 0.0095:
		return strconv.FormatFloat(1000*seconds, 'f', 1, 64) + " ms"
	case seconds < 0.995:
		return strconv.FormatFloat(1000*seconds, 'f', 0, 64) + " ms"
	case seconds < 9.95 && seconds != math.Trunc(seconds):
		return strconv.FormatFloat(seconds, 'f', 1, 64) + " s"
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600 && s%60 == 0:
		return fmt.Sprintf("%d min", s/60)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case s < 48*3600:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	}
	return fmt.Sprintf("%d d %d h", s/86400, s%86400/3600)
}

// count is a number of things in words.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
