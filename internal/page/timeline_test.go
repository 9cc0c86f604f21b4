package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestTimelineCutsPausesOut(t *testing.T) {
	drawn := newTimeline(madeRun())
	if len(drawn.Sessions) != 2 || drawn.Sessions[1].Pause != "47 h 58 min later" {
		t.Fatalf("sessions %+v, want the run and the one two days later", drawn.Sessions)
	}
	first, second := drawn.Sessions[0], drawn.Sessions[1]
	if number(t, second.Width) < leastSession {
		t.Errorf("half a second two days later is %s wide, no reader could see it", second.Width)
	}
	if number(t, first.X)+number(t, first.Width) > number(t, second.X) {
		t.Errorf("sessions overlap: %+v", drawn.Sessions)
	}
	if len(drawn.Lanes) != 2 {
		t.Errorf("lanes %+v, want replay and report: nothing of generate ran", drawn.Lanes)
	}
}

// TestTimelineDrawsEveryUnitInItsTime checks places and lengths against the
// axis: a minute of the first session, which is 90 s long.
func TestTimelineDrawsEveryUnitInItsTime(t *testing.T) {
	drawn := newTimeline(madeRun())
	bars := map[string]drawnBar{}
	for _, b := range drawn.Lanes[0].Titled {
		name, _, _ := strings.Cut(b.Title, "\n")
		bars[name] = b
	}
	second := number(t, drawn.Sessions[0].Width) / 90.01
	near := func(what string, got string, want float64) {
		t.Helper()
		if v := number(t, got); v < want-0.2 || v > want+0.2 {
			t.Errorf("%s at %s, want %.1f", what, got, want)
		}
	}
	near("width of b", bars["replay/b"].Width, 60*second)
	near("start of c", bars["replay/c"].X, 30*second)
	a, b, c := bars["replay/a"+hostile], bars["replay/b"], bars["replay/c"]
	if a.Y == b.Y || c.Y != a.Y {
		t.Errorf("rows a %s, b %s, c %s: c starts when a is done, b runs beside both", a.Y, b.Y, c.Y)
	}
	if !strings.Contains(b.Title, "2026-03-14 09:26:53 to 09:27:53 UTC\n1 min, CPU 59 s") {
		t.Errorf("b says %q", b.Title)
	}
}

// TestTimelineShowsTheQueueBeforeTheRun checks places against the axis of a run
// that began 40 s earlier, in a queue.
func TestTimelineShowsTheQueueBeforeTheRun(t *testing.T) {
	drawn := newTimeline(elsewhere(madeRun()))
	lane := drawn.Lanes[0]
	second := number(t, drawn.Sessions[0].Width) / 130.01
	if len(lane.Hosts) != 2 || lane.Hosts[0].Name != "lab" || lane.Hosts[1].Name != "n1"+hostile {
		t.Fatalf("hosts %+v", lane.Hosts)
	}
	// c, of the same job, overlaps b and so has a row of its own: two waits.
	waits := strings.SplitAfter(lane.Waits, "z")
	if len(waits) != 3 || !strings.HasPrefix(waits[0], "M0 ") || !strings.Contains(waits[0], "h"+px(40*second)+"v") {
		t.Errorf("waits %q, want two from 0 that are %s wide", waits, px(40*second))
	}
	for _, b := range lane.Titled {
		name, _, _ := strings.Cut(b.Title, "\n")
		if x := number(t, b.X); name == "replay/b" && (x < 40*second-0.1 || x > 40*second+0.1) {
			t.Errorf("b begins at %v, want %v", x, 40*second)
		}
		if name == "replay/b" && !strings.HasSuffix(b.Title, "CPU 59 s (98% of a core), peak memory 300 MB\non n1"+hostile+", job 12_3"+hostileQuote+", attempt 2\nafter 40 s in the queue") {
			t.Errorf("b says %q", b.Title)
		}
	}
	if want := "replay: 1 job in the queue, none longer than 40 s"; lane.WaitsTitle != want {
		t.Errorf("the queue says %q, want %q", lane.WaitsTitle, want)
	}
}

// TestUnitsOfAJobShareARow runs two jobs of two units each, of which the second
// goes on while the first one's row is free too.
func TestUnitsOfAJobShareARow(t *testing.T) {
	bar := func(job string, from, to float64) Bar {
		return Bar{Start: at(from), Wall: to - from, Wait: &Wait{Job: job, Submitted: at(-5)}}
	}
	rows, most := rowsOf([]Bar{bar("1", 0, 3), bar("2", 1, 5), bar("2", 6, 9), bar("1", 8, 10)})
	if fmt.Sprint(rows) != "[0 1 1 0]" || most != 2 {
		t.Errorf("rows %v of %d", rows, most)
	}
}

// TestClocksOfTwoMachinesTurnNoQueueAround takes times that cannot be.
func TestClocksOfTwoMachinesTurnNoQueueAround(t *testing.T) {
	for _, w := range []Wait{
		{Submitted: at(-10), Seconds: -5}, {Submitted: at(-10), Seconds: 50}, {Submitted: at(7), Seconds: 2}, {Submitted: at(7), Seconds: -20},
	} {
		b := Bar{Start: at(0), Wall: 1, Wait: &w}
		if b.begin().After(b.waited()) || b.waited().After(b.Start) {
			t.Errorf("%+v: from %v to %v before %v", w, b.begin(), b.waited(), b.Start)
		}
	}
}

func TestStretchesOfTheAxisAreMerged(t *testing.T) {
	got := merged([]span{{5, 6}, {0, 2}, {1, 3}, {1, 2}, {3, 4}})
	if fmt.Sprint(got) != "[{0 4} {5 6}]" {
		t.Errorf("merged %v", got)
	}
}

// history is a made run of n units of one stage in jobs of five on three hosts of
// eight places each, all submitted at once.
func history(n int) Run {
	run := Run{Stages: []Stage{{Name: "replay", About: "ratios", State: "fresh", Units: n}, {Name: "report", About: "tables", State: "fresh", Units: 1}}}
	var free [24]float64
	for i := 0; i < n; i += 5 {
		place := 0
		for k := range free {
			if free[k] < free[place] {
				place = k
			}
		}
		now := max(free[place], 20+float64(place))
		wait := Wait{Job: fmt.Sprintf("812_%d", i/5), Attempt: 1, Submitted: at(0), Seconds: now}
		for k := i; k < min(n, i+5); k++ {
			wall := 10 + float64(k*7919%50)
			run.Bars = append(run.Bars, Bar{Stage: "replay", Unit: fmt.Sprintf("profile/benchmark=%d", k), Start: at(now), Wall: wall, CPU: 0.95 * wall,
				PeakBytes: int64(k%7+2) * 50e6, Host: fmt.Sprintf("node%02d", place/8+1), Wait: &wait})
			now += wall
		}
		free[place] = now + 3
	}
	last := run.Bars[len(run.Bars)-1].end()
	run.Bars = append(run.Bars, Bar{Stage: "report", Unit: "tables", Start: last.Add(5e9), Wall: 4, CPU: 3.9, PeakBytes: 120e6, Host: "login"})
	return run
}

// TestTimelineOfACorpusShowsHowManyRan checks the areas of ten thousand units.
func TestTimelineOfACorpusShowsHowManyRan(t *testing.T) {
	run := history(10_000)
	lane := newTimeline(run).Lanes[0]
	if len(lane.Areas) != 4 || !lane.Areas[0].Waiting || len(lane.Titled) > 0 || lane.Rest != "" {
		t.Fatalf("areas %d, bars %d: want the queue and three hosts", len(lane.Areas), len(lane.Titled))
	}
	for _, want := range []string{"replay: 2000 jobs in the queue, none longer than ", ", at most 2000 at a time"} {
		if !strings.Contains(lane.Areas[0].Title, want) {
			t.Errorf("the queue says %q, want %q in it", lane.Areas[0].Title, want)
		}
	}
	if title := lane.Areas[1].Title; !strings.HasPrefix(title, "replay on node01: ") || !strings.Contains(title, " units, at most 8 at a time\n") || !strings.Contains(title, "(95% of a core), peak memory 400 MB") {
		t.Errorf("a host says %q", title)
	}
	if size := len(written(t, Page{Run: run})) - len(written(t, Page{})); size > 40_000 {
		t.Errorf("a timeline of 10,000 units takes %d bytes", size)
	}
}

// TestAreasKeepTheTime integrates the area of a stage: it is what the units took.
func TestAreasKeepTheTime(t *testing.T) {
	bars := history(700).Bars
	slices.SortFunc(bars, func(a, b Bar) int { return a.begin().Compare(b.begin()) })
	axis, _ := placed(sessions(bars))
	bins := make([]float64, 100)
	total := 0.0
	for _, b := range bars {
		fill(bins, axis[0], period{b.Start, b.end()})
		total += b.Wall
	}
	sum := 0.0
	for _, b := range bins {
		sum += b
	}
	if got := sum * axis[0].seconds() / 100; math.Abs(got-total) > 1e-6*total {
		t.Errorf("the area is %v s, the units took %v s", got, total)
	}
}

// TestTimelineOfThousandsStaysSmall draws a corpus of short units.
func TestTimelineOfThousandsStaysSmall(t *testing.T) {
	run := Run{Stages: []Stage{{Name: "systems"}}}
	for i := range 3000 {
		run.Bars = append(run.Bars, Bar{Stage: "systems", Unit: fmt.Sprint(i), Start: at(0.1 * float64(i)), Wall: 0.1})
	}
	p := Page{Run: run}
	empty := len(written(t, Page{}))
	if size := len(written(t, p)) - empty; size > 120_000 {
		t.Errorf("a timeline of 3000 units takes %d bytes", size)
	}
	lane := newTimeline(run).Lanes[0]
	if n := strings.Count(lane.Rest, "M") + len(lane.Titled); n != 3000 {
		t.Errorf("%d of 3000 units are drawn", n)
	}
}

func TestTimelineOfNothing(t *testing.T) {
	if page := written(t, Page{Run: Run{Stages: []Stage{{Name: "replay"}}}}); !strings.Contains(page, "no record of a run") || strings.Contains(page, "NaN") {
		t.Error("a page without a run does not say so")
	}
	one := newTimeline(Run{Stages: []Stage{{Name: "s"}}, Bars: []Bar{{Stage: "s", Unit: "u", Start: at(0)}}})
	if len(one.Sessions) != 1 || strings.Contains(one.Lanes[0].Rest, "NaN") {
		t.Errorf("a unit that took no time: %+v", one)
	}
}

func TestDurations(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0.0 ms", 0.0042: "4.2 ms", 0.25: "250 ms", 1.23: "1.2 s", 5: "5 s", 30: "30 s", 59.7: "1 min", 90: "1 min 30 s", 3600: "1 h 0 min", 172800: "2 d 0 h",
	} {
		if got := Duration(seconds); got != want {
			t.Errorf("%v s is %q, want %q", seconds, got, want)
		}
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAStageIsSummedUp(t *testing.T) {
	row := newStageRow(Stage{Name: "s"}, []Bar{
		{Stage: "s", Start: at(5), Wall: 2, CPU: 1, PeakBytes: 9},
		{Stage: "s", Start: at(1), Wall: 9, CPU: 3, PeakBytes: 4},
		{Stage: "other", Start: at(0), Wall: 90, CPU: 90, PeakBytes: 90, Wait: &Wait{Seconds: 90}},
		{Stage: "s", Start: at(5), Wait: &Wait{Seconds: 3}},
		{Stage: "s", Start: at(5), Wait: &Wait{Seconds: 6}},
	})
	if !row.First.Equal(at(1)) || !row.Last.Equal(at(10)) || row.Wall != 11 || row.CPU != 4 || row.Peak != 9 ||
		row.Share() != "36%" || row.Queue() != "4.5 s, up to 6 s" {
		t.Errorf("%+v", row)
	}
}
