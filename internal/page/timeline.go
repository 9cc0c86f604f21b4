package page

import (
	"cmp"
	"fmt"
	"slices"

	"speceval/internal/phrase"
)

const (
	headHeight  = 44.0 // dates and ticks
	laneHead    = 20.0 // name of a stage
	laneGap     = 14.0
	mostTitled  = 250  // bars of a stage that tell their name
	mostDrawn   = 4000 // bars of a stage; of more only how many ran at a time is drawn
	leastTitled = 2.0  // width of a bar that a pointer can find
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
	TextY       string
	Hosts       []hostLabel // where there are several
	Waits       string      // path of the time in the queue; empty where nothing waited
	WaitsTitle  string
	Areas       []area // of a stage of very many units, in place of bars
	Titled      []drawnBar
	Rest        string // path of the bars that are too short to point at
	RestTitle   string
}

// hostLabel is the name of a host above its part of a lane.
type hostLabel struct{ Y, Name string }

// area is how many units did something at a time, as a path.
type area struct {
	Path, Title string
	Waiting     bool
}

type drawnBar struct{ X, Y, Width, Height, Title string }

// newTimeline lays out a run: a lane for each stage, in their order, in which
// units that ran at the same time stand below one another.
func newTimeline(run Run) timeline {
	bars := slices.Clone(run.Bars)
	slices.SortFunc(bars, func(a, b Bar) int {
		return cmp.Or(a.begin().Compare(b.begin()), a.Start.Compare(b.Start), cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Unit, b.Unit))
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
	t.Label = fmt.Sprintf("%s of %s in %s", phrase.Units(len(bars)), phrase.Count(len(t.Lanes), "stage", "stages"), phrase.Count(len(axis), "session", "sessions"))
	if hosts := hostsOf(bars); len(hosts) > 1 {
		t.Label += " on " + phrase.Count(len(hosts), "host", "hosts")
	}
	return t
}

// add draws the lane of a stage below the others.
func (t *timeline) add(name string, bars []Bar, axis []session) {
	l := lane{Name: name, TextY: px(t.Height + 13)}
	cpu := 0.0
	for _, b := range bars {
		cpu += b.CPU
	}
	l.About = fmt.Sprintf("%s, CPU %s", phrase.Units(len(bars)), Duration(cpu))
	if hosts := hostsOf(bars); len(hosts) > 1 {
		l.About += ", " + phrase.Count(len(hosts), "host", "hosts")
	}
	slices.SortStableFunc(bars, func(a, b Bar) int { return a.Start.Compare(b.Start) })
	y := t.Height + laneHead
	if len(bars) > mostDrawn {
		y = l.addAreas(y, bars, axis)
	} else {
		y = l.addRows(y, bars, axis)
	}
	t.Lanes = append(t.Lanes, l)
	t.Height = y + laneGap
}

// longest names the n units of a stage that took the longest.
func longest(bars []Bar, n int) map[string]bool {
	order := make([]int, len(bars))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(bars[b].Wall, bars[a].Wall) })
	marked := map[string]bool{}
	for _, i := range order[:min(n, len(order))] {
		marked[bars[i].Unit] = true
	}
	return marked
}

// title is what a bar says when pointed at.
func (b Bar) title() string {
	text := fmt.Sprintf("%s/%s\n%s to %s UTC\n%s, CPU %s", b.Stage, b.Unit,
		b.Start.UTC().Format("2006-01-02 15:04:05"), b.end().UTC().Format("15:04:05"), Duration(b.Wall), Duration(b.CPU))
	if share := share(b.CPU, b.Wall); share != "" {
		text += " (" + share + " of a core)"
	}
	if b.PeakBytes > 0 {
		text += ", peak memory " + megabytes(b.PeakBytes)
	}
	if b.Host != "" {
		text += "\non " + b.Host
	}
	if w := b.Wait; w != nil {
		text += fmt.Sprintf(", job %s, attempt %d\nafter %s in the queue", w.Job, w.Attempt, Duration(w.Seconds))
	}
	return text
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
