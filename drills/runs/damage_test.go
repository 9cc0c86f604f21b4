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
	"speceval/internal/store/rollout"
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

// damaged damages a file of every stage, in every way; in the short version in two rounds.
// The status must say why just one unit of each stage is stale, and a run must repair them.
func (s *site) damaged(what, because string, ways []damage) {
	moments := drill.NewMoments(what)
	for i := range s.Often(2, len(ways)) {
		out := s.copied(fmt.Sprintf("%s-%d", what, i))
		for j, stage := range drill.Stages {
			d := ways[(i*len(drill.Stages)+j)%len(ways)]
			paths := s.filesOf(out, stage, what)
			at := moments.Below(len(paths))
			s.Write(paths[at], d.do(s.Read(paths[at]), s.Read(paths[(at+1)%len(paths)]), moments))
			s.Logf("%s: %s", strings.TrimPrefix(paths[at], out+"/"), d.name)
		}
		s.stale(out, because)
		s.finish(out)
	}
}

// filesOf lists the manifests of a stage, or its outputs: of Parquet, but for the report.
func (s *site) filesOf(out, stage, what string) (paths []string) {
	for _, m := range s.Units(out, stage) {
		if what == "manifests" {
			paths = append(paths, m.Path)
			continue
		}
		for _, f := range m.Outputs {
			if stage == "report" || filepath.Ext(f.Path) == ".parquet" {
				paths = append(paths, filepath.Join(out, filepath.FromSlash(f.Path)))
			}
		}
	}
	if len(paths) == 0 {
		s.Fatal("no outputs of " + stage)
	}
	return paths
}

// stale ends the drill unless the status reports just one unit of each stage as stale for
// a reason with these words.
func (s *site) stale(out, because string) {
	var status struct {
		Stages []struct {
			Name    string `json:"name"`
			Reasons []struct {
				Units int    `json:"units"`
				Why   string `json:"why"`
			} `json:"reasons"`
		} `json:"stages"`
	}
	s.OK(json.Unmarshal([]byte(s.do(out, 0, "status --json").Text()), &status))
	for _, stage := range status.Stages {
		n := 0
		for _, r := range stage.Reasons {
			if strings.Contains(r.Why, because) {
				n += r.Units
			}
		}
		if n != 1 {
			s.Fatalf("%d units of %s are stale since one %q, want 1: %+v", n, stage.Name, because, status.Stages)
		}
	}
	if len(status.Stages) != len(drill.Stages) {
		s.Fatalf("the status has %d stages", len(status.Stages))
	}
}

// leftovers leaves what a machine that stops leaves: files in the making, journals
// with an unfinished and with a damaged line, and work under another key.
func (s *site) leftovers() {
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
		s.do(out, 0, "run --until "+stage)
		s.Clean(out)
		if !bytes.Equal(before, s.Read(foreign)) {
			s.Fatal("the work under another key is not as it was")
		}
	}
	s.finish(out)
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
