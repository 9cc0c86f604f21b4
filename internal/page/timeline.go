package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"speceval/internal/display"
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
	t.Label = fmt.Sprintf("%s of %s in %s", display.Units(len(bars)), display.Count(len(t.Lanes), "stage", "stages"), display.Count(len(axis), "session", "sessions"))
	if hosts := hostsOf(bars); len(hosts) > 1 {
		t.Label += " on " + display.Count(len(hosts), "host", "hosts")
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
	l.About = fmt.Sprintf("%s, CPU %s", display.Units(len(bars)), Duration(cpu))
	if hosts := hostsOf(bars); len(hosts) > 1 {
		l.About += ", " + display.Count(len(hosts), "host", "hosts")
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
		stage, where, display.Units(len(bars)), atOnce(runTimes(bars)), Duration(wall), Duration(cpu), share(cpu, wall), megabytes(peak))
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
