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

// damage is a way to damage a file.
type damage struct {
	name string
	do   func(text []byte, m *drill.Moments) []byte
}

// ofOutputs are the ways to damage outputs.
var ofOutputs = []damage{
	{"flipped", func(text []byte, m *drill.Moments) []byte {
		for range 3 {
			text[m.Below(len(text))] ^= 0x55
		}
		return text
	}},
	{"truncated", func(text []byte, m *drill.Moments) []byte { return text[:1+m.Below(len(text)-1)] }},
	{"empty", func([]byte, *drill.Moments) []byte { return nil }},
	{"header only", func(text []byte, _ *drill.Moments) []byte { return text[:4] }},
}

// damaged damages an output of every stage, in every way; in the short version in two rounds.
// The status must say why just one unit of each stage is stale, and a run must repair them.
func (s *site) damaged() {
	moments := drill.NewMoments("outputs")
	for i := range s.Often(2, len(ofOutputs)) {
		out := s.copied(fmt.Sprintf("outputs-%d", i))
		for j, stage := range drill.Stages {
			d := ofOutputs[(i*len(drill.Stages)+j)%len(ofOutputs)]
			paths := s.outputsOf(out, stage)
			path := paths[moments.Below(len(paths))]
			s.Write(path, d.do(s.Read(path), moments))
			s.Logf("%s: %s", strings.TrimPrefix(path, out+"/"), d.name)
		}
		s.stale(out, "not as recorded")
		s.finish(out)
	}
}

// outputsOf lists the outputs of a stage: of Parquet, but for the report.
func (s *site) outputsOf(out, stage string) (paths []string) {
	for _, m := range s.Units(out, stage) {
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
