package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/drills/lab"
)

// damage is a way to damage a file; other is another file of its sort.
type damage struct {
	name string
	do   func(text, other []byte, m *lab.Moments) []byte
}

// ofOutputs are the ways to damage outputs.
var ofOutputs = []damage{
	{"flipped", func(text, _ []byte, m *lab.Moments) []byte {
		for range 3 {
			text[m.Below(len(text))] ^= 0x55
		}
		return text
	}},
	{"truncated", func(text, _ []byte, m *lab.Moments) []byte { return text[:1+m.Below(len(text)-1)] }},
	{"empty", func([]byte, []byte, *lab.Moments) []byte { return nil }},
	{"header only", func(text, _ []byte, _ *lab.Moments) []byte { return text[:4] }},
}

// ofManifests are the ways to damage manifests.
var ofManifests = []damage{
	{"truncated", func(text, _ []byte, m *lab.Moments) []byte {
		return text[:1+m.Below(len(bytes.TrimSpace(text))-1)]
	}},
	{"random", func(text, _ []byte, m *lab.Moments) []byte {
		for i := range text {
			text[i] = byte(m.Below(256))
		}
		return text
	}},
	{"another unit's", func(_, other []byte, _ *lab.Moments) []byte { return other }},
	{"of another format", func(text, _ []byte, _ *lab.Moments) []byte {
		return bytes.Replace(text, []byte(`"format": 1`), []byte(`"format": 7`), 1)
	}},
	{"of another shape", func([]byte, []byte, *lab.Moments) []byte {
		return []byte(`{"format": 1, "key": ["a"], "outputs": "none"}`)
	}},
	{"a list", func([]byte, []byte, *lab.Moments) []byte { return []byte("[]") }},
	{"null", func([]byte, []byte, *lab.Moments) []byte { return []byte("null") }},
	{"edited", func(text, _ []byte, _ *lab.Moments) []byte {
		return bytes.Replace(text, []byte(`"seed": "`), []byte(`"seed": "x`), 1)
	}},
	{"empty", func([]byte, []byte, *lab.Moments) []byte { return nil }},
}

// outputs damages an output of every stage, in every way; in the short version those of
// all stages in one round.
func (s *site) outputs(ctx context.Context, t *trial) error {
	rounds := together(ofOutputs, 2)
	if !s.Small {
		rounds = nil
		for _, stage := range lab.Stages {
			for _, d := range ofOutputs {
				rounds = append(rounds, map[string]damage{stage: d})
			}
		}
	}
	return s.damaged(ctx, t, "outputs", "not as recorded", rounds)
}

// manifests damages a manifest of every stage, in every way.
func (s *site) manifests(ctx context.Context, t *trial) error {
	return s.damaged(ctx, t, "manifests", "manifest cannot be used", together(ofManifests, s.Often(2, len(ofManifests))))
}

// together are n rounds that damage all stages, by other ways every time.
func together(ways []damage, n int) []map[string]damage {
	var rounds []map[string]damage
	for i := range n {
		round := make(map[string]damage)
		for j, stage := range lab.Stages {
			round[stage] = ways[(i*len(lab.Stages)+j)%len(ways)]
		}
		rounds = append(rounds, round)
	}
	return rounds
}

// damaged damages one file of each stage of a round. The status must say why just one
// unit of each is stale, and a run must repair them.
func (s *site) damaged(ctx context.Context, t *trial, what, because string, rounds []map[string]damage) error {
	moments := s.Moments(what)
	done := make(map[string]int)
	for i, round := range rounds {
		out, err := s.copied(fmt.Sprintf("%s-%d", what, i))
		if err != nil {
			return err
		}
		var names []string
		for _, stage := range lab.Stages {
			d, ok := round[stage]
			if !ok {
				continue
			}
			paths, err := filesOf(out, stage, what)
			if err != nil {
				return err
			}
			at := moments.Below(len(paths))
			text, errText := os.ReadFile(paths[at])
			other, errOther := os.ReadFile(paths[(at+1)%len(paths)])
			if err := errors.Join(errText, errOther, os.WriteFile(paths[at], d.do(text, other, moments), 0o666)); err != nil {
				return err
			}
			names = append(names, fmt.Sprintf("%s that is %s", strings.TrimPrefix(paths[at], out+"/"), d.name))
			done[d.name]++
		}
		err = s.stale(ctx, out, because, round)
		if err == nil {
			err = s.finish(ctx, t, out)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", names, err)
		}
	}
	for _, d := range slices.Concat(ofOutputs, ofManifests) {
		if n := done[d.name]; n > 0 {
			t.injured("%s %d", d.name, n)
			delete(done, d.name)
		}
	}
	return nil
}

// filesOf lists the manifests of a stage, or its outputs: of Parquet, where the stage
// has such and is not the report.
func filesOf(out, stage, what string) ([]string, error) {
	all, err := lab.Units(out, stage)
	var manifests, parquet, outputs []string
	for _, m := range all {
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
	case err != nil || len(outputs) == 0:
		return nil, errors.Join(err, errors.New("no outputs of "+stage))
	case what == "manifests":
		return manifests, nil
	case len(parquet) > 0:
		return parquet, nil
	}
	return outputs, nil
}

// stale is an error unless the status reports just one unit of each damaged stage as
// stale for a reason with these words.
func (s *site) stale(ctx context.Context, out, because string, round map[string]damage) error {
	p, err := s.do(ctx, out, 0, "status", "--json")
	if err != nil {
		return err
	}
	var status struct {
		Stages []struct {
			Name    string `json:"name"`
			Reasons []struct {
				Units int    `json:"units"`
				Why   string `json:"why"`
			} `json:"reasons"`
		} `json:"stages"`
	}
	if err := json.Unmarshal([]byte(p.Text()), &status); err != nil {
		return err
	}
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
			return fmt.Errorf("%d units of %s are stale since one %q, want 1: %+v", n[stage], stage, because, status.Stages)
		}
	}
	return nil
}

// leftovers leaves what a machine that stops leaves: files in the making, journals
// with an unfinished and with a damaged line, and work under another key.
func (s *site) leftovers(ctx context.Context, t *trial) error {
	moments := s.Moments("leftovers")
	out := s.Path("leftovers")
	for _, stage := range []string{"generate", "score"} { // those that keep a journal
		journal, err := s.interrupted(ctx, out, stage)
		if err != nil {
			return fmt.Errorf("%s: %w", stage, err)
		}
		foreign := filepath.Join(filepath.Dir(filepath.Dir(journal)), "0badc0de", filepath.Base(journal))
		if err := injureJournal(journal, foreign, moments); err != nil {
			return err
		}
		before, err := os.ReadFile(foreign)
		if err != nil {
			return err
		}
		for _, name := range []string{"manifests/score/x.json", "tables/table1_variance.csv", "score/profiles.parquet"} {
			path := filepath.Join(out, filepath.FromSlash(name)+".123456789.partial")
			if err := lab.WriteFile(path, []byte("half of it")); err != nil {
				return err
			}
		}
		t.injured("%s 4", stage)
		if _, err := s.do(ctx, out, 0, "run", "--until", stage); err != nil {
			return err
		}
		if err := clean(out); err != nil {
			return err
		}
		if after, err := os.ReadFile(foreign); err != nil || !bytes.Equal(before, after) {
			return fmt.Errorf("the work under another key is not as it was: %v", err)
		}
	}
	return s.finish(ctx, t, out)
}

// interrupted runs all up to a stage and kills it once its journal has some lines.
func (s *site) interrupted(ctx context.Context, out, stage string) (journal string, err error) {
	p, err := s.start(out, "run", "--until", stage)
	if err != nil {
		return "", err
	}
	defer p.Kill()
	err = p.Until(ctx, func() (bool, error) {
		journal, err = findJournal(filepath.Join(out, "scratch", stage), 4)
		return journal != "", err
	})
	return journal, err
}

// findJournal finds a journal of so many lines in a folder; "" if there is none.
func findJournal(dir string, lines int) (found string, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".journal" {
			var text []byte
			if text, err = os.ReadFile(path); bytes.Count(text, []byte("\n")) >= lines {
				found = path
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // not there yet, or just removed
		}
		return err
	})
	return found, err
}

// injureJournal damages a line of a journal and leaves another one unfinished, and
// puts whole lines, with other answers, where work under another key is kept.
func injureJournal(path, foreign string, moments *lab.Moments) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if err := lab.WriteFile(foreign, bytes.Join(lines[1:], nil)); err != nil {
		return err
	}
	last := slices.Clone(lines[0][:1+moments.Below(len(lines[0])-1)])
	damaged := lines[1]
	damaged[moments.Below(len(damaged)-1)] ^= 1
	return os.WriteFile(path, append(bytes.Join(lines, nil), last...), 0o666)
}
