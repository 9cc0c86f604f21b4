package dag

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
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
	tests := []struct {
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
	}
	before := partsAfter(nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			now := partsAfter(test.change)
			if moved := now.Key() != before.Key(); moved != (test.why != "") {
				t.Errorf("the key moved: %t", moved)
			}
			var why []string
			for _, r := range changes(&before, &now) {
				why = append(why, r.String())
			}
			if got := strings.Join(why, "; "); got != test.why {
				t.Errorf("explained as %q, want %q", got, test.why)
			}
		})
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
	const want = "2f39e31d75e99329916b737a42fa19a379a7e57278457209dc9b3e123f5b1e4f"
	if got := partsAfter(nil).Key(); got != want {
		t.Errorf("key %s, want %s", got, want)
	}
}

func TestPartsCannotRunIntoEachOther(t *testing.T) {
	a := Parts{Config: map[string]string{"a": "b", "c": "d"}}
	b := Parts{Config: map[string]string{"a": `b","c":"d`}}
	if a.Key() == b.Key() {
		t.Error("two configurations have one key")
	}
}

// FuzzKey holds keys to the bytes of encoding/json, whatever the texts.
func FuzzKey(f *testing.F) {
	f.Add(1, "replay", "unit=1", "draws", "8192", "seed")
	f.Add(-3, "", "a\x00\x7f\u2028", "\"<&>\\", "\xff→\t", "é")
	f.Add(0, "s", "u", "", "", "")
	f.Fuzz(func(t *testing.T, version int, stage, unit, name, value, seed string) {
		for _, p := range []Parts{
			{Stage: stage, Version: version, Unit: unit, Seed: seed},
			{Format: 1, Stage: stage, Config: map[string]string{}, Inputs: map[string]string{name: value}},
			{Unit: unit, Config: map[string]string{name: value, value: name, stage: unit, "b": ""}, Sources: map[string]string{unit: seed, seed: unit, name: "1"}},
		} {
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(text)
			if got := p.Key(); got != hex.EncodeToString(sum[:]) {
				t.Errorf("key %s is not the hash of %s", got, text)
			}
		}
	})
}

// TestKeyOfAUnitIsThatOfItsParts compares the key as plans compute it with that
// of the parts, as a manifest records them: also of sources and needs that are
// named twice.
func TestKeyOfAUnitIsThatOfItsParts(t *testing.T) {
	l := crossing(t)
	l.run(Selection{})
	l.unit("replay/z").Sources = []Source{{"b", "1"}, {"a", "2"}, {"b", "1"}}
	l.unit("report/all").Needs = append(l.unit("report/all").Needs, Ref{"replay", "z"}, Ref{"replay", "x"})
	l.unit("replay/y").Wants = []Ref{{"score", "a"}}
	l.remove("score/b.txt")
	s := l.scan()
	for i := range s.graph.nodes {
		parts, blocked := s.partsOf(i)
		key, without := s.key(i)
		if key != parts.Key() && len(blocked) == 0 || fmt.Sprint(blocked) != fmt.Sprint(without) || (key == "") != (len(blocked) > 0) {
			t.Errorf("%s: key %s, blocked by %v; of its parts %s, blocked by %v", s.graph.ref(i), key, without, parts.Key(), blocked)
		}
	}
}
