package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speceval/internal/process"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/experiment"
)

// BenchmarkLook has plan and status look at 100,000 units in two stages: all
// fresh, all stale, and all missing.
func BenchmarkLook(b *testing.B) {
	w := &wide{out: b.TempDir(), draws: "8192"}
	w.pretend(b)
	time.Sleep(3 * time.Second) // until the last files have settled
	w.do(b, "status", "fresh")
	state := func(name string) {
		for _, line := range []string{"plan", "status"} {
			b.Run(line+"/"+name, func(b *testing.B) {
				before := process.Process().CPUSeconds
				for b.Loop() {
					w.do(b, line, name)
				}
				b.ReportMetric((process.Process().CPUSeconds-before)/float64(b.N), "cpu-s/op")
			})
		}
	}
	state("fresh")
	w.draws = "1024"
	state("stale")
	w.out = b.TempDir()
	state("missing")
}

// wide is an experiment of many units behind the command line: a stage in
// groups, and one with a unit for each group.
type wide struct{ out, draws string }

const wideUnits, wideGroups = 100_000, 100

func (w *wide) load(string, []string, experiment.Outside) (*experiment.Experiment, error) {
	config := map[string]string{"replay.draws": w.draws, "replay.replicates": "8", "experiment.seed": "20260101"}
	nothing := func(context.Context, *dag.Job) error { return nil }
	replay, report := dag.Stage{Name: "replay", Version: 1}, dag.Stage{Name: "report", Version: 1}
	for group := range wideGroups {
		table := dag.Unit{ID: fmt.Sprint("group=", group), Config: config, Outputs: []string{fmt.Sprintf("report/group=%d.csv", group)}, Run: nothing}
		for i := group; i < wideUnits-wideGroups; i += wideGroups {
			id := fmt.Sprintf("group=%d/unit=%d", group, i)
			replay.Units = append(replay.Units, dag.Unit{ID: id, Config: config, Seed: "replay/" + id, Outputs: []string{"replay/" + id + ".parquet"}, Run: nothing})
			table.Needs = append(table.Needs, dag.Ref{Stage: "replay", Unit: id})
		}
		report.Units = append(report.Units, table)
	}
	return &experiment.Experiment{Out: w.out, Workers: 1, Replay: replay, Report: report}, nil
}

func wideStages(e *experiment.Experiment) []dag.Stage { return []dag.Stage{e.Replay, e.Report} }

// pretend writes what a run would have left, without syncing.
func (w *wide) pretend(b *testing.B) {
	e, _ := w.load("", nil, experiment.Outside{})
	for _, stage := range wideStages(e) {
		for _, u := range stage.Units {
			sum := sha256.Sum256([]byte(u.ID))
			made := dag.File{Path: u.Outputs[0], SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(u.ID)), Rows: -1}
			m := dag.Manifest{Format: 1, Outputs: []dag.File{made}, Seeds: []string{u.Seed}, Origin: dagtest.Origin, Parts: dag.Parts{
				Format: 1, Stage: stage.Name, Version: stage.Version, Unit: u.ID, Config: u.Config, Seed: u.Seed,
				Sources: map[string]string{}, Inputs: map[string]string{},
			}}
			for _, need := range u.Needs {
				sum := sha256.Sum256([]byte(need.Unit))
				input := dag.File{Path: "replay/" + need.Unit + ".parquet", SHA256: hex.EncodeToString(sum[:]), Rows: -1}
				m.Inputs = append(m.Inputs, input)
				m.Parts.Inputs[input.Path] = input.SHA256
			}
			m.Key = m.Parts.Key()
			text, err := json.Marshal(m)
			err = cmp.Or(err, w.put(u.Outputs[0], u.ID), w.put("manifests/"+stage.Name+"/"+u.ID+".json", string(text)))
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func (w *wide) put(name, text string) error {
	path := filepath.Join(w.out, name)
	return cmp.Or(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666))
}

// do carries out a command line, whose output should have a word.
func (w *wide) do(b *testing.B, line, word string) {
	var stdout strings.Builder
	sh := &shell{stdout: &stdout, stderr: io.Discard, now: time.Now, release: func() {}}
	if code := run(strings.Fields(line), sh, pipeline{load: w.load, stages: wideStages}); code != exitDone {
		b.Fatalf("%s: exit code %d", line, code)
	}
	want := map[string]string{"fresh": "fresh", "stale": "8192 → 1024", "missing": "never run"}[word]
	if !strings.Contains(stdout.String(), want) {
		b.Fatalf("%s: no %q in\n%s", line, want, &stdout)
	}
}
