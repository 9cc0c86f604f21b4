package dag

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestReasons breaks one thing at a time in a finished folder, and checks what
// is planned and why.
func TestReasons(t *testing.T) {
	const remade = "input replay/y.txt will be remade"
	const unusable = "its manifest cannot be used: "
	const manifest = "manifests/replay/y.json"
	for _, test := range []struct {
		name   string
		wreck  func(l *lab)
		y, all string // reasons of replay/y and report/all
	}{
		{"nothing", func(l *lab) {}, "", ""},
		{"config", func(l *lab) { l.unit("replay/y").Config["replay.draws"] = "4096" }, "replay.draws 8192 → 4096", remade},
		{"version", func(l *lab) { l.stages[2].Version = 2 }, "", "code version 1 → 2"},
		{"manifest gone", func(l *lab) { l.remove(manifest) }, "never run", remade},
		{"output gone", func(l *lab) { l.remove("replay/y.txt") }, "output replay/y.txt is missing", remade},
		{"output edited", func(l *lab) { l.put("replay/y.txt", "by hand") },
			"output replay/y.txt is not as recorded: edited by hand, or its remake was cut short (sha256 f74f1990… → c9616cb5…)", "input replay/y.txt changed (sha256 f74f1990… → c9616cb5…); " + remade},
		{"manifest damaged", func(l *lab) { l.put(manifest, "{") }, unusable + "manifests/replay/y.json is damaged: unexpected end of JSON input", remade},
		{"manifest too large", func(l *lab) { ok(l.t, os.Truncate(l.file(manifest), mostManifest+1)) },
			unusable + "read manifests/replay/y.json: DIR/manifests/replay/y.json is longer than 64 MiB, which is more than a manifest may have", remade},
		{"manifest of a later format", func(l *lab) { l.put(manifest, `{"format": 7, "key": 5}`) }, unusable + "manifests/replay/y.json has format 7, this program knows format 1", remade},
		{"manifest of another unit", func(l *lab) { l.put(manifest, l.get("manifests/replay/x.json")) }, unusable + "manifests/replay/y.json belongs to another unit, replay/x", remade},
		{"manifest edited", func(l *lab) { l.put(manifest, strings.Replace(l.get(manifest), "8192", "4096", 1)) }, unusable + "manifests/replay/y.json was edited: its key is not that of its parts", remade},
		{"provenance", func(l *lab) { l.unit("replay/y").Provenance = "measured" }, "provenance computed → measured", remade},
		{"other outputs", func(l *lab) { l.unit("report/all").Outputs = []string{"report/new.txt"} }, "", "output report/new.txt is new; output report/all.txt is no longer written"},
		{"source", func(l *lab) { l.unit("report/all").Sources = []Source{{"data/paper.toml", "abcdefabcdef"}} }, "", "source data/paper.toml added (sha256 abcdefab…)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := crossing(t)
			l.run(Selection{})
			test.wreck(l)
			want := map[string]string{"replay/y": test.y, "report/all": test.all}
			maps.DeleteFunc(want, func(_, why string) bool { return why == "" })
			got := planned(l.plan(Selection{}))
			for name, why := range got {
				got[name] = strings.ReplaceAll(why, l.dir, "DIR")
			}
			same(t, "planned", got, want)
			wantUnits(t, "run", l.run(Selection{}), slices.Collect(maps.Keys(want))...)
			wantUnits(t, "run again", l.run(Selection{}))
		})
	}
}

func TestSelections(t *testing.T) {
	for _, test := range []struct {
		sel  Selection
		want string // units run in a finished folder, forced
	}{
		{Selection{}, "score/a score/b replay/x replay/y replay/z report/all"},
		{Selection{Stages: []string{"replay"}}, "replay/x replay/y replay/z"},
		{Selection{Stages: []string{"report", "score"}}, "score/a score/b report/all"},
		{Selection{From: "replay"}, "replay/x replay/y replay/z report/all"},
		{Selection{Until: "replay"}, "score/a score/b replay/x replay/y replay/z"},
		{Selection{From: "replay", Until: "replay"}, "replay/x replay/y replay/z"},
	} {
		l := crossing(t)
		l.run(Selection{})
		wantUnits(t, fmt.Sprintf("%+v", test.sel), l.run(test.sel))
		test.sel.Force = true
		wantUnits(t, fmt.Sprintf("%+v", test.sel), l.run(test.sel), strings.Fields(test.want)...)
	}
}

func TestWrongSelections(t *testing.T) {
	g := must(New(crossing(t).stages))
	var unknown *UnknownStageError
	for _, sel := range []Selection{{Stages: []string{"reply"}}, {From: "reply"}, {Until: "reply"}} {
		if err := g.Check(sel); !errors.As(err, &unknown) || unknown.Name != "reply" {
			t.Errorf("%+v: error %v, want an unknown stage", sel, err)
		}
	}
	for _, sel := range []Selection{{Stages: []string{"replay"}, From: "score"}, {From: "report", Until: "score"}} {
		if err := g.Check(sel); err == nil || errors.As(err, &unknown) {
			t.Errorf("%+v: error %v, want a clash", sel, err)
		}
	}
}

func TestMissingUpstreamSaysWhatToRun(t *testing.T) {
	for _, wreck := range []func(l *lab){
		func(l *lab) { l.remove("score/b.txt") }, func(l *lab) { l.remove("manifests/score/b.json") }, func(l *lab) { l.put("manifests/score/b.json", "?") },
	} {
		l := crossing(t)
		l.run(Selection{})
		wreck(l)
		_, err := l.scan().Plan(Selection{Stages: []string{"replay"}})
		says(t, err, "speceval run score")
	}
}

func TestAlteredUpstreamIsNamed(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	same(t, "warnings about files that were not altered", l.plan(Selection{Stages: []string{"report"}, Force: true}).Warnings, nil)
	l.put("score/b.txt", "something else")
	for _, stages := range [][]string{{"replay"}, {"report"}} { // at any distance
		p := l.plan(Selection{Stages: stages, Force: true})
		if text := strings.Join(p.Warnings, "\n"); !strings.Contains(text, "score/b.txt is not as recorded") || !strings.Contains(text, "`speceval run score` makes") {
			t.Errorf("%v: warnings %q", stages, p.Warnings)
		}
	}
	l.run(Selection{Stages: []string{"replay"}, Force: true})
	noted := 0
	for _, r := range l.scan().Records() {
		if strings.Contains(strings.Join(r.Last.Notes, "\n"), "it is made from score/b.txt, which was not as recorded") {
			noted++
		}
	}
	same(t, "manifests that say so", noted, 2)
	same(t, "warnings where it is made anew", l.plan(Selection{}).Warnings, nil)
}

func TestStaleUpstreamIsUsedWithAWarning(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	l.unit("score/a").Config["score.k"] = "4"
	l.unit("replay/y").Config["replay.draws"] = "16"

	p := l.plan(Selection{Stages: []string{"replay"}})
	wantUnits(t, "planned", slices.Collect(maps.Keys(planned(p))), "replay/y")
	same(t, "warnings", p.Warnings, []string{"score is stale (1 unit: score.k 3 → 4); replay uses its stored outputs"})
	wantUnits(t, "run", l.run(Selection{Stages: []string{"replay"}}), "replay/y")

	// The report is stale now, for replay's new bytes and for score's staleness.
	p = l.plan(Selection{Stages: []string{"report"}})
	if len(p.Warnings) != 1 || !strings.HasPrefix(p.Warnings[0], "replay is stale (2 units: something before it is stale)") {
		t.Errorf("warnings %q", p.Warnings)
	}
}

func TestEstimateComesFromEarlierManifests(t *testing.T) {
	l := crossing(t)
	same(t, "before any run", l.plan(Selection{}).Estimate(2), Estimate{Unknown: 6})
	l.run(Selection{})
	for unit, seconds := range map[string]float64{"replay/x": 10, "replay/y": 20, "replay/z": 30, "report/all": 1} {
		m := must(readManifest(l.dir, refOf(unit)))
		m.WallSeconds = seconds
		ok(t, writeManifest(l.dir, refOf(unit), m))
	}
	l.remove("manifests/replay/z.json") // counts as the mean of x and y
	p := l.plan(Selection{Stages: []string{"replay"}, Force: true})
	same(t, "one worker", p.Estimate(1), Estimate{Seconds: 45})
	same(t, "100 workers for 3 units", p.Estimate(100), Estimate{Seconds: 15})
}
