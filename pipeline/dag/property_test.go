package dag

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomLab makes a random well-formed experiment.
func randomLab(t *testing.T, r *rand.Rand) *lab {
	l := newLab(t)
	l.workers = 1 + r.IntN(4)
	var earlier []string
	for s := range 1 + r.IntN(4) {
		stage := fmt.Sprintf("s%d", s)
		for u := range 1 + r.IntN(5) {
			var needs []string
			for _, name := range earlier {
				if r.IntN(4) == 0 {
					needs = append(needs, name)
				}
			}
			unit := fmt.Sprintf("u%d", u)
			l.add(stage, unit, map[string]string{"value": fmt.Sprint(r.IntN(3))}, needs...)
			earlier = append(earlier, stage+"/"+unit)
		}
	}
	return l
}

// disturb changes something, as a user or an accident might.
func (l *lab) disturb(r *rand.Rand) string {
	s := &l.stages[r.IntN(len(l.stages))]
	u := &s.Units[r.IntN(len(s.Units))]
	name := s.Name + "/" + u.ID
	manifest := "manifests/" + name + ".json"
	_, exists := l.contents()[u.Outputs[0]]
	switch n := r.IntN(6); {
	case n == 0:
		u.Config["value"] = fmt.Sprint(r.IntN(5))
		return "config of " + name
	case n == 1:
		s.Version++
		return "version of " + s.Name
	case n == 2 && exists:
		l.remove(u.Outputs[0])
		return "output of " + name + " removed"
	case n == 3 && exists:
		l.put(u.Outputs[0], fmt.Sprint("edited ", r.Int()))
		return "output of " + name + " edited"
	case n == 4 && exists:
		l.put(manifest, "{")
		return "manifest of " + name + " damaged"
	case n == 5:
		u.Sources = []Source{{"source", fmt.Sprint(r.IntN(3))}}
		return "source of " + name
	}
	return "nothing"
}

func (l *lab) randomSelection(r *rand.Rand) Selection {
	name := func() string { return l.stages[r.IntN(len(l.stages))].Name }
	sel := Selection{Force: r.IntN(5) == 0}
	switch r.IntN(4) {
	case 0:
		sel.Stages = []string{name()}
	case 1:
		sel.From = name()
	case 2:
		sel.Until = name()
	}
	return sel
}

// TestRunDoesExactlyWhatThePlanSays disturbs random experiments at random and
// runs random selections of them: each time the units that run are those of
// the plan, and what it selected is fresh afterwards. In the end a full run
// gives the bytes of a run from nothing.
func TestRunDoesExactlyWhatThePlanSays(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := randomLab(t, r)
		for step := range 6 {
			what := l.disturb(r)
			sel := l.randomSelection(r)
			if step == 0 || step == 5 {
				sel = Selection{}
			}
			plan, err := l.scan().Plan(sel)
			if err != nil {
				continue // an upstream is missing: tested elsewhere
			}
			want := slices.Collect(maps.Keys(planned(plan)))
			wantUnits(t, fmt.Sprintf("seed %d step %d (%s, %+v)", seed, step, what, sel), l.run(sel), want...)
			sel.Force = false
			wantUnits(t, fmt.Sprintf("seed %d step %d (%s) again", seed, step, what), l.run(sel))
		}
		clean := l.contents()
		maps.DeleteFunc(clean, func(name, _ string) bool { return slices.Contains(editedFiles(clean), name) })
		l.dir = t.TempDir()
		l.run(Selection{})
		if fresh := l.contents(); !maps.Equal(clean, fresh) {
			t.Fatalf("seed %d: files %v after disturbances, %v from nothing", seed, clean, fresh)
		}
		if t.Failed() {
			return
		}
	}
}

func TestExplainCountsWhatIsAlike(t *testing.T) {
	reasons := []Reason{
		{Config, "replay.draws", "64", "8192"},
		{Kind: InputRemade, Subject: "a"},
		{InputChanged, "c", "11111111", "22222222"},
		{Kind: InputRemade, Subject: "b"},
	}
	const full = "replay.draws 64 → 8192; 2 inputs will be remade; input c changed (sha256 11111111… → 22222222…)"
	same(t, "Explain", Explain(reasons), full)
	const brief = "replay.draws 64 → 8192, inputs will be remade, inputs changed"
	same(t, "Brief", Brief(reasons), brief)
	long := Reason{Config, "k", "1", strings.Repeat("1,", 30)}
	if got, want := long.Brief(), "k 1 → "+long.New[:47]+"…"; got != want || !strings.HasSuffix(long.String(), long.New) {
		t.Errorf("Brief gives %q of %q, want %q", got, long, want)
	}
}
