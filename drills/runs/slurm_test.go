package runs

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// at is a moment, in seconds.
func at(seconds float64) time.Time {
	return time.Unix(1e9, 0).Add(time.Duration(seconds * float64(time.Second)))
}

func TestSpansOfAnElement(t *testing.T) {
	line := func(seconds float64, what, key string) event {
		return event{Time: at(seconds), What: what, Key: key}
	}
	got := spans("7_1", []event{
		line(1, "unit started", "a"), line(2, "unit done", "a"),
		line(2, "unit started", "b"), // killed, and requeued
		line(9, "unit done", "a"),    // it was done before
		line(9, "unit started", "b"), // killed for good
		line(3, "element ended", ""),
	}, at(11))
	want := map[string][]span{
		"a": {{"7_1", at(1), at(2)}},
		"b": {{"7_1", at(2), at(9)}, {"7_1", at(9), at(11)}},
	}
	for key := range want {
		if !slices.Equal(got[key], want[key]) {
			t.Errorf("%s: %v, want %v", key, got[key], want[key])
		}
	}
}

func TestUnitsThatTwoElementsAreAt(t *testing.T) {
	for _, test := range []struct {
		name string
		all  []span
		want int
	}{
		{"one after the other", []span{{"1_0", at(1), at(2)}, {"2_0", at(2), at(3)}}, 0},
		{"one element twice", []span{{"1_0", at(1), at(3)}, {"1_0", at(2), at(4)}}, 0},
		{"at once", []span{{"1_0", at(1), at(3)}, {"2_0", at(2), at(4)}}, 1},
		{"one within the other", []span{{"2_0", at(2), at(3)}, {"1_0", at(1), at(4)}}, 1},
	} {
		if got := overlapping(map[string][]span{"key": test.all}); len(got) != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

func TestUnitsSubmittedWhileAJobLives(t *testing.T) {
	for _, test := range []struct {
		name    string
		alive   float64 // the first element, last
		settled float64 // what it said of the unit; 0: nothing
		want    int
	}{
		{"it had ended", 4, 0, 0},
		{"it lived", 6, 0, 1},
		{"it lived, and the unit had failed", 6, 3, 0},
		{"it lived, and the unit was to fail", 9, 7, 1},
	} {
		first := submission{element: "1_0", at: at(1)}
		if test.settled > 0 {
			first.settled = at(test.settled)
		}
		alive := func(element string) time.Time {
			return map[string]time.Time{"1_0": at(test.alive), "2_0": at(20)}[element]
		}
		if got := tooOften(map[string][]submission{"key": {first, {element: "2_0", at: at(5)}}}, alive); len(got) != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

func TestEstimatesOfPlans(t *testing.T) {
	for plan, want := range map[string]float64{
		"replay  5 of 5 units to run, about 3 s\ntotal   5 units, about 3.5 s with -j 1\n":                     3.5,
		"total   2869 units, about 21 h 22 min by earlier runs and, for 9 units, by what took 5 s with -j 2\n": 21*3600 + 22*60,
	} {
		if got, err := estimate(plan); got != want || err != nil {
			t.Errorf("%q: %v, %v, want %v", plan, got, err, want)
		}
	}
	if _, err := estimate("total  5 units, time unknown with -j 1"); err == nil || !strings.Contains(err.Error(), "time unknown") {
		t.Errorf("an unknown time: %v", err)
	}
}
