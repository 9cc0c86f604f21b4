package dag

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// full is a unit that has something in every part of its key.
func full() (Stage, Unit, map[string]string) {
	stage := Stage{Name: "replay", About: "about", Version: 3}
	unit := Unit{
		ID: "x", Config: map[string]string{"replay.draws": "8192", "seed": "1"}, Seed: "replay/x",
		Sources:    []Source{{"data/profiles.parquet", "1234567890"}, {"b", "22"}},
		Needs:      []Ref{{"score", "a"}},
		Outputs:    []string{"out.parquet"},
		Provenance: "computed",
	}
	return stage, unit, map[string]string{"score/a.parquet": "aaaaaaaaaa"}
}

func partsAfter(change func(*Stage, *Unit, map[string]string)) Parts {
	stage, unit, inputs := full()
	if change != nil {
		change(&stage, &unit, inputs)
	}
	parts := partsOf(&stage, &unit)
	for name, sum := range inputs {
		parts.Inputs[name] = sum
	}
	return parts
}

func TestKeyMovesWithEachPart(t *testing.T) {
	before := partsAfter(nil)
	for _, test := range []struct {
		name   string
		change func(*Stage, *Unit, map[string]string)
		why    string // as a user is told, empty if the key must stay
	}{
		{"code version", func(s *Stage, _ *Unit, _ map[string]string) { s.Version = 4 }, "code version 3 → 4"},
		{"config value", func(_ *Stage, u *Unit, _ map[string]string) { u.Config["replay.draws"] = "1024" }, "replay.draws 8192 → 1024"},
		{"config key added", func(_ *Stage, u *Unit, _ map[string]string) { u.Config["replay.m"] = "" }, `replay.m (none) → ""`},
		{"config key gone", func(_ *Stage, u *Unit, _ map[string]string) { delete(u.Config, "seed") }, "seed 1 → (none)"},
		{"seed label", func(_ *Stage, u *Unit, _ map[string]string) { u.Seed = "other" }, "seed label replay/x → other"},
		{"source content", func(_ *Stage, u *Unit, _ map[string]string) { u.Sources[0].SHA256 = "abcdef7890" }, "source data/profiles.parquet changed (sha256 12345678… → abcdef78…)"},
		{"source name", func(_ *Stage, u *Unit, _ map[string]string) { u.Sources[1].Name = "c" }, "source b no longer read; source c added (sha256 22…)"},
		{"input content", func(_ *Stage, _ *Unit, in map[string]string) { in["score/a.parquet"] = "bbbbbbbbbb" }, "input score/a.parquet changed (sha256 aaaaaaaa… → bbbbbbbb…)"},
		{"input added", func(_ *Stage, _ *Unit, in map[string]string) { in["score/b.parquet"] = "bb" }, "input score/b.parquet added (sha256 bb…)"},

		{"order of sources", func(_ *Stage, u *Unit, _ map[string]string) {
			u.Sources[0], u.Sources[1] = u.Sources[1], u.Sources[0]
		}, ""},
		{"provenance, outputs and about", func(s *Stage, u *Unit, _ map[string]string) {
			u.Provenance, u.Outputs, s.About = "published", []string{"y"}, "else"
		}, ""},
	} {
		now := partsAfter(test.change)
		var why []string
		for _, r := range changes(&before, &now) {
			why = append(why, r.String())
		}
		if got := strings.Join(why, "; "); got != test.why || (now.Key() != before.Key()) != (test.why != "") {
			t.Errorf("%s: explained as %q, want %q, and the key moves: %t", test.name, got, test.why, now.Key() != before.Key())
		}
	}
	for name, parts := range map[string]Parts{
		"stage":  partsAfter(func(s *Stage, _ *Unit, _ map[string]string) { s.Name = "report" }),
		"unit":   partsAfter(func(_ *Stage, u *Unit, _ map[string]string) { u.ID = "y" }),
		"format": {Format: keyFormat + 1},
	} {
		if parts.Key() == before.Key() {
			t.Errorf("the key does not move with the %s", name)
		}
	}
}

// TestKeyIsPinned fails when keys come out differently: then keyFormat must be
// raised, and everything that users have stored becomes stale.
func TestKeyIsPinned(t *testing.T) {
	same(t, "key", partsAfter(nil).Key(), "2f39e31d75e99329916b737a42fa19a379a7e57278457209dc9b3e123f5b1e4f")
}

func nothing(context.Context, *Job) error { return nil }

func u(id, output string, needs ...Ref) Unit {
	return Unit{ID: id, Outputs: []string{output}, Needs: needs, Run: nothing}
}

func TestNewNamesAFault(t *testing.T) {
	one := func(units ...Unit) []Stage { return []Stage{{Name: "s", Units: units}} }
	for _, test := range []struct {
		name   string
		stages []Stage
		want   string
	}{
		{"unit twice", one(u("a", "x"), u("a", "y")), "two units are named s/a"},
		{"unit escapes", one(u("../a", "x")), "its name is not a plain relative path"},
		{"empty unit", one(u("", "x")), "its name is empty"},
		{"long unit", one(u(strings.Repeat("a", 201), "x")), "more than 200 bytes"},
		{"output twice", one(u("a", "x"), u("b", "x")), "x is an output of both s/a and s/b"},
		{"output escapes", one(u("a", "/x")), "is not a plain relative path"},
		{"output unclean", one(u("a", "x//y")), "is not a plain relative path"},
		{"unknown need", one(u("a", "x", Ref{"s", "b"})), "needs s/b, which does not exist"},
	} {
		_, err := New(test.stages)
		says(t, err, test.want)
	}
}

func TestNeedsComeFirstWhateverTheOrderOfDeclaration(t *testing.T) {
	g := must(New([]Stage{{Name: "s", Units: []Unit{
		u("last", "1", Ref{"s", "mid"}, Ref{"s", "first"}), u("mid", "2", Ref{"s", "first"}), u("first", "3"), u("free", "4"),
	}}}))
	var got []string
	for i := range g.nodes {
		got = append(got, g.nodes[i].unit.ID)
	}
	same(t, "order", got, []string{"first", "mid", "last", "free"})
}

// runAndDie runs the lab in dir and kills this process, without any chance to
// tidy up, in the middle of the victim's write.
func runAndDie(dir, victim string) {
	l := crossingIn(new(testing.T), dir)
	l.hook = hooks{victim: func(_ context.Context, job *Job) error {
		return job.Write(l.unit(victim).Outputs[0], -1, func(w io.Writer) error {
			w.Write(make([]byte, 1<<17))
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		})
	}}
	r := Runner{Executor: pool(1), Now: time.Now}
	panic(fmt.Sprint("still alive: ", r.Run(context.Background(), nil, l.plan(Selection{}))))
}

// TestKilled kills a run at each unit in turn, and checks that a second run
// does what is left and gives the bytes of a run in one go.
func TestKilled(t *testing.T) {
	whole := crossing(t)
	order := whole.run(Selection{})
	for i, victim := range order {
		dir := t.TempDir()
		cmd := other(t, "victim", dir, "SPECEVAL_TEST_VICTIM="+victim)
		err := cmd.Run()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("killed at %s, the process ended with %v", victim, err)
		}
		l := crossingIn(t, dir)
		wantUnits(t, "after the kill at "+victim, l.run(Selection{}), order[i:]...)
		same(t, "killed at "+victim+": files", l.contents(), whole.contents())
	}
}
