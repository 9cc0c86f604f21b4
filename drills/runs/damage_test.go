//go:build drill

package runs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/drills/drill"
	"speceval/internal/rollout"
)

// damage is a way to damage a file; other is another file of its sort.
type damage struct {
	name string
	do   func(text, other []byte, m *drill.Moments) []byte
}

// ofOutputs are the ways to damage outputs.
var ofOutputs = []damage{
	{"flipped", func(text, _ []byte, m *drill.Moments) []byte {
		for range 3 {
			text[m.Below(len(text))] ^= 0x55
		}
		return text
	}},
	{"truncated", func(text, _ []byte, m *drill.Moments) []byte { return text[:1+m.Below(len(text)-1)] }},
	{"empty", func([]byte, []byte, *drill.Moments) []byte { return nil }},
	{"header only", func(text, _ []byte, _ *drill.Moments) []byte { return text[:4] }},
}

// ofManifests are the ways to damage manifests.
var ofManifests = []damage{
	{"truncated", func(text, _ []byte, m *drill.Moments) []byte {
		return text[:1+m.Below(len(bytes.TrimSpace(text))-1)]
	}},
	{"random", func(text, _ []byte, m *drill.Moments) []byte {
		for i := range text {
			text[i] = byte(m.Below(256))
		}
		return text
	}},
	{"another unit's", func(_, other []byte, _ *drill.Moments) []byte { return other }},
	{"of another format", func(text, _ []byte, _ *drill.Moments) []byte {
		return bytes.Replace(text, []byte(`"format": 1`), []byte(`"format": 7`), 1)
	}},
	{"of another shape", func([]byte, []byte, *drill.Moments) []byte {
		return []byte(`{"format": 1, "key": ["a"], "outputs": "none"}`)
	}},
	{"a list", func([]byte, []byte, *drill.Moments) []byte { return []byte("[]") }},
	{"null", func([]byte, []byte, *drill.Moments) []byte { return []byte("null") }},
	{"edited", func(text, _ []byte, _ *drill.Moments) []byte {
		return bytes.Replace(text, []byte(`"seed": "`), []byte(`"seed": "x`), 1)
	}},
	{"empty", func([]byte, []byte, *drill.Moments) []byte { return nil }},
}

// outputs damages an output of every stage, in every way; in the short version those of
// all stages in one round.
func (s *site) outputs(t *trial) {
	rounds := together(ofOutputs, 2)
	if !s.Small {
		rounds = nil
		for _, stage := range drill.Stages {
			for _, d := range ofOutputs {
				rounds = append(rounds, map[string]damage{stage: d})
			}
		}
	}
	s.damaged(t, "outputs", "not as recorded", rounds)
}

// manifests damages a manifest of every stage, in every way.
func (s *site) manifests(t *trial) {
	s.damaged(t, "manifests", "manifest cannot be used", together(ofManifests, s.Often(2, len(ofManifests))))
}

// together are n rounds that damage all stages, by other ways every time.
func together(ways []damage, n int) (rounds []map[string]damage) {
	for i := range n {
		round := make(map[string]damage)
		for j, stage := range drill.Stages {
			round[stage] = ways[(i*len(drill.Stages)+j)%len(ways)]
		}
		rounds = append(rounds, round)
	}
	return rounds
}

// damaged damages one file of each stage of a round. The status must say why just one
// unit of each is stale, and a run must repair them.
func (s *site) damaged(t *trial, what, because string, rounds []map[string]damage) {
	moments := drill.NewMoments(what)
	done := make(map[string]int)
	for i, round := range rounds {
		out := s.copied(fmt.Sprintf("%s-%d", what, i))
		for _, stage := range drill.Stages {
			d, ok := round[stage]
			if !ok {
				continue
			}
			paths := s.filesOf(out, stage, what)
			at := moments.Below(len(paths))
			s.Write(paths[at], d.do(s.Read(paths[at]), s.Read(paths[(at+1)%len(paths)]), moments))
			s.Logf("%s is %s", strings.TrimPrefix(paths[at], out+"/"), d.name)
			done[d.name]++
		}
		s.stale(out, because, round)
		s.finish(t, out)
	}
	for _, d := range slices.Concat(ofOutputs, ofManifests) {
		if n := done[d.name]; n > 0 {
			t.injured("%s %d", d.name, n)
			delete(done, d.name)
		}
	}
}

// filesOf lists the manifests of a stage, or its outputs: of Parquet, where the stage
// has such and is not the report.
func (s *site) filesOf(out, stage, what string) []string {
	var manifests, parquet, outputs []string
	for _, m := range s.Units(out, stage) {
		manifests = append(manifests, m.Path)
		for _, f := range m.Outputs {
			path := filepath.Join(out, filepath.FromSlash(f.Path))
			outputs = append(outputs, path)
			if filepath.Ext(path) == ".parquet" && stage != "report" {
				parquet = append(parquet, path)
			}
		}
	}
	switch {
	case len(outputs) == 0:
		s.Fatal("no outputs of " + stage)
	case what == "manifests":
		return manifests
	case len(parquet) > 0:
		return parquet
	}
	return outputs
}

// stale ends the drill unless the status reports just one unit of each damaged stage as
// stale for a reason with these words.
func (s *site) stale(out, because string, round map[string]damage) {
	var status struct {
		Stages []struct {
			Name    string `json:"name"`
			Reasons []struct {
				Units int    `json:"units"`
				Why   string `json:"why"`
			} `json:"reasons"`
		} `json:"stages"`
	}
	s.OK(json.Unmarshal([]byte(s.do(out, 0, "status", "--json").Text()), &status))
	n := make(map[string]int)
	for _, stage := range status.Stages {
		for _, r := range stage.Reasons {
			if strings.Contains(r.Why, because) {
				n[stage.Name] += r.Units
			}
		}
	}
	for stage := range round {
		if n[stage] != 1 {
			s.Fatalf("%d units of %s are stale since one %q, want 1: %+v", n[stage], stage, because, status.Stages)
		}
	}
}

// leftovers leaves what a machine that stops leaves: files in the making, journals
// with an unfinished and with a damaged line, and work under another key.
func (s *site) leftovers(t *trial) {
	moments := drill.NewMoments("leftovers")
	out := s.Path("leftovers")
	for _, stage := range []string{"generate", "score"} { // those that keep a journal
		p := s.start(out, "run", "--until", stage)
		journal := ""
		p.Until(func() bool {
			journal = s.journal(filepath.Join(out, "scratch", stage), 4)
			return journal != ""
		})
		p.Kill()
		foreign := filepath.Join(filepath.Dir(filepath.Dir(journal)), "0badc0de", filepath.Base(journal))
		s.injureJournal(journal, foreign, moments)
		before := s.Read(foreign)
		for _, name := range []string{"manifests/score/x.json", "tables/table1_variance.csv", "score/profiles.parquet"} {
			s.Write(filepath.Join(out, filepath.FromSlash(name)+".123456789.partial"), []byte("half of it"))
		}
		t.injured("%s 4", stage)
		s.do(out, 0, "run", "--until", stage)
		s.Clean(out)
		if !bytes.Equal(before, s.Read(foreign)) {
			s.Fatal("the work under another key is not as it was")
		}
	}
	s.finish(t, out)
}

// journal is a journal of so many lines in a folder; "" if there is none.
func (s *site) journal(dir string, lines int) string {
	for _, path := range s.Walk(dir) {
		if filepath.Ext(path) == rollout.JournalSuffix {
			if text, err := os.ReadFile(path); err == nil && bytes.Count(text, []byte("\n")) >= lines {
				return path
			}
		}
	}
	return ""
}

// injureJournal damages a line of a journal and leaves another one unfinished, and
// puts whole lines, with other answers, where work under another key is kept.
func (s *site) injureJournal(path, foreign string, moments *drill.Moments) {
	lines := bytes.SplitAfter(s.Read(path), []byte("\n"))
	s.Write(foreign, bytes.Join(lines[1:], nil))
	last := slices.Clone(lines[0][:1+moments.Below(len(lines[0])-1)])
	damaged := lines[1]
	damaged[moments.Below(len(damaged)-1)] ^= 1
	s.Write(path, append(bytes.Join(lines, nil), last...))
}
