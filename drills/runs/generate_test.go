package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/drills/lab"
	"speceval/internal/benchmark"
	"speceval/internal/rollout"
	"speceval/pipeline/config"
)

// tiny is a drill of one benchmark with two tasks and three rollouts each.
func tiny() *generation {
	return &generation{
		Lab: &lab.Lab{Seed: 7}, rollouts: 3, kills: 2, model: "m",
		tasks: []benchmark.Task{{Benchmark: "b", ID: "x"}, {Benchmark: "b", ID: "y", Index: 1}},
	}
}

// complete are all rollouts of the tiny lab, with seeds from 0 that only the
// tests know.
func complete() (all []rollout.Place) {
	for i := range 6 {
		all = append(all, rollout.Place{Benchmark: "b", Model: "m", TaskIndex: int32(i / 3), Rollout: int32(i % 3), Seed: int64(i)})
	}
	return all
}

func TestCountsNoticeEveryFault(t *testing.T) {
	other := complete()[0]
	other.TaskIndex = 2
	for want, stored := range map[string][]rollout.Place{
		"<nil>": complete(),
		"of 6 rollouts 1 are missing and 0 are there more than once; 0 others": complete()[1:],
		"of 6 rollouts 0 are missing and 1 are there more than once; 0 others": append(complete(), complete()[3]),
		"of 6 rollouts 0 are missing and 0 are there more than once; 1 others": append(complete(), other),
	} {
		if got := fmt.Sprint(tiny().checkCounts(stored)); !strings.HasPrefix(got, want) {
			t.Errorf("%d rollouts: %q, want %q", len(stored), got, want)
		}
	}
}

func TestRepeatedRequestsAndLossesAreNoticed(t *testing.T) {
	all := complete()
	sound := disturbance{
		kills: []kill{{seen: 3, found: all[:1]}, {seen: 5, found: all[:3]}},
		asked: []int64{0, 1, 2, 1, 2, 4, 3, 5, 4},
	}
	if err := checkAgain(&sound); err != nil {
		t.Error(err)
	}
	if err := checkKept(&sound, all); err != nil {
		t.Error(err)
	}
	if err := checkAsked(&sound, all); err != nil {
		t.Error(err)
	}

	again := sound
	again.asked = append(slices.Clone(sound.asked), 0, 1)
	if got := fmt.Sprint(checkAgain(&again)); got != "1 after kill 1, 2 after kill 2" {
		t.Error(got)
	}
	lost := sound
	lost.kills = []kill{{found: all[:4]}, {found: all[:3]}}
	if got := fmt.Sprint(checkKept(&lost, all[1:])); got != "1 of kill 1, 1 of kill 2" {
		t.Error(got)
	}
	strange := sound
	strange.asked = append(slices.Clone(sound.asked), 77)
	if got := fmt.Sprint(checkAsked(&strange, all)); got != "1 others, such as 77" {
		t.Error(got)
	}
	if err := tiny().checkKills(&disturbance{kills: make([]kill, 1)}); err == nil {
		t.Error("a missing kill was not noticed")
	}
	if checkIdle(&disturbance{}) != nil || checkIdle(&disturbance{idle: 1}) == nil {
		t.Error("requests after the end are not noticed, or made up")
	}
	if got := unstored([]int64{4, 1, 4, 2}, all[:3]); !reflect.DeepEqual(got, []int64{4}) {
		t.Errorf("in flight: %v", got)
	}
}

func TestWrongSeedsAreNoticed(t *testing.T) {
	l := tiny()
	sound := complete()
	for i := range sound {
		sound[i].Seed = l.seedOf(sound[i])
	}
	if err := l.checkSeeds(sound); err != nil {
		t.Error(err)
	}
	same, wrong := slices.Clone(sound), slices.Clone(sound)
	same[1].Seed = same[0].Seed
	wrong[1].Seed++
	for want, places := range map[string][]rollout.Place{"5 seeds for 6 rollouts": same, "the rule says": wrong} {
		if err := l.checkSeeds(places); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestLeftoversAreNoticed(t *testing.T) {
	l := tiny()
	l.Dir = t.TempDir()
	deep := l.Path("disturbed", "generate", "benchmark=b")
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, left := range map[string]bool{"part-0.parquet": false, "a.journal": true, "b.123.partial": true} {
		path := filepath.Join(deep, name)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := l.checkLeftovers(); (err != nil) != left {
			t.Errorf("%s: %v", name, err)
		}
		os.Remove(path)
	}
}

func TestTheLogIsReadAsItGrows(t *testing.T) {
	a := &arrivals{log: tail{path: filepath.Join(t.TempDir(), "log.jsonl")}}
	if err := a.read(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text   string
		seeds  []int64
		others int
	}{
		{`{"seed":9007199254740993}` + "\n" + `{"see`, []int64{9007199254740993}, 0},
		{`d":4`, []int64{9007199254740993}, 0},
		{"}\n{}\n", []int64{9007199254740993, 4}, 1},
	} {
		file, err := os.OpenFile(a.log.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		file.WriteString(step.text)
		file.Close()
		if err := a.read(); err != nil || !reflect.DeepEqual(a.seeds, step.seeds) || a.others != step.others {
			t.Errorf("after %q: seeds %v and %d others, %v", step.text, a.seeds, a.others, err)
		}
	}
	if err := os.WriteFile(a.log.path, []byte(strings.Repeat("x", int(a.log.offset))+"garbage\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := a.read(); err == nil {
		t.Error("garbage was taken for a request")
	}
}

func TestProgressCountsTheLinesOfJournals(t *testing.T) {
	dir := t.TempDir()
	p := &progress{folder: filepath.Join(dir, "out")}
	for i, step := range []struct {
		file, text string
		want       int
	}{
		{"", "", 0}, {"out/a.journal", "1\n2\n3", 2}, {"out/deep/b.journal", "1\n", 3}, {"out/part.parquet", "\n\n", 3},
		{"out/a.journal", "1\n2\n3\n4\n", 5},
	} {
		path := filepath.Join(dir, filepath.FromSlash(step.file))
		if step.file != "" {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(step.text), 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.poll(); err != nil || p.rollouts != step.want {
			t.Errorf("step %d: %d rollouts, %v, want %d", i, p.rollouts, err, step.want)
		}
	}
}

func TestMomentsAreInOrderAndComeAgain(t *testing.T) {
	l := tiny()
	l.kills, l.rollouts = 50, 1000
	all := l.killPoints()
	if !reflect.DeepEqual(all, l.killPoints()) {
		t.Error("another call gave other moments")
	}
	for i, m := range all {
		if m.stored < 0 || m.stored >= l.total() || i > 0 && m.stored < all[i-1].stored || m.delay < 0 {
			t.Errorf("moment %d is %+v", i, m)
		}
	}
	l.Seed++
	if reflect.DeepEqual(all, l.killPoints()) {
		t.Error("another seed gave the same moments")
	}
}

func TestTheConfigurationNamesEverything(t *testing.T) {
	g := &generation{Lab: &lab.Lab{Dir: t.TempDir()}, rollouts: 5, replicas: 3, model: "m"}
	if err := g.prepare(); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(g.Path("experiments.toml"), nil)
	if err != nil || len(g.tasks) != 100 || g.total() != 500 || len(slices.Compact(slices.Sorted(slices.Values(c.Workers[0].URLs)))) != 3 ||
		c.Corpus.Tasks != g.Path("tasks") || c.Corpus.RolloutsPerTask != 5 {
		t.Errorf("%v; %d tasks, %d rollouts, %+v", err, len(g.tasks), g.total(), c)
	}
	tasks, err := benchmark.ReadTasks(g.Path("tasks", "sums.jsonl"))
	if err != nil || len(tasks) != 40 || tasks[39].Prompt != "How much is 56 and 159?" || tasks[39].Answer != "215" {
		t.Errorf("sums: %+v, %v", tasks, err)
	}
}
