package page

import (
	"fmt"
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
		{Stage: "other", Start: at(0), Wall: 90, CPU: 90, PeakBytes: 90},
	})
	if !row.First.Equal(at(1)) || !row.Last.Equal(at(10)) || row.Wall != 11 || row.CPU != 4 || row.Peak != 9 {
		t.Errorf("%+v", row)
	}
}
