package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/evaluation"
	"speceval/internal/table"
)

// evaluationFolder is the folder of an evaluation: named itself, or by
// benchmark/model/name.
func (s *session) evaluationFolder(out, name string) (string, error) {
	folder := name
	if _, err := evaluation.ReadSetup(folder); err == nil {
		return folder, nil
	}
	parts := strings.Split(name, "/")
	if len(parts) >= 3 {
		last := len(parts) - 1
		folder = filepath.Join(out, evaluation.Folder, "benchmark="+url.PathEscape(parts[0]),
			"model="+url.PathEscape(strings.Join(parts[1:last], "/")), parts[last])
		if _, err := evaluation.ReadSetup(folder); !errors.Is(err, fs.ErrNotExist) {
			return folder, err
		}
	}
	return "", usagef("%s is no evaluation: want its folder, or its name as `speceval evaluate list` has it", name)
}

// storedResult is the result of an evaluation that is named.
func (s *session) storedResult(out, name string) (r *evaluation.Result, folder string, err error) {
	if folder, err = s.evaluationFolder(out, name); err != nil {
		return nil, "", err
	}
	r, err = evaluation.ReadResult(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, folder, fmt.Errorf("%s is not complete: the command that began it goes on with it", folder)
	}
	return r, folder, err
}

// evaluateShow prints a result again.
func (s *session) evaluateShow(words []string) error {
	if err := wantWords(words, 1, 1, "an evaluation"); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig()
	if err != nil {
		return err
	}
	r, folder, err := s.storedResult(cfg.Experiment.Out, words[0])
	if err != nil {
		return err
	}
	return s.showResult(r, folder)
}

// listedEvaluation is a line of evaluate list.
type listedEvaluation struct {
	Name          string   `json:"name"` // benchmark/model/name
	State         string   `json:"state"`
	Estimate      *float64 `json:"estimate"`
	StandardError *float64 `json:"standard_error"`
	Rollouts      int      `json:"rollouts"`
	folder        string
}

// evaluateList lists the evaluations in the output folder.
func (s *session) evaluateList(words []string) error {
	if err := wantWords(words, 0, 0, "nothing"); err != nil {
		return err
	}
	cfg, err := s.evaluationConfig()
	if err != nil {
		return err
	}
	all, err := listEvaluations(cfg.Experiment.Out)
	if err != nil {
		return err
	}
	if s.json {
		return writeJSON(s.stdout, all)
	}
	t := table.Table{
		Title: "Evaluations in " + cfg.Experiment.Out,
		Columns: []table.Column{
			{Name: "evaluation", Align: table.Left}, {Name: "rollouts"}, {Name: "mean", Format: table.Format{Decimals: 4}}, {Name: "±", Format: table.Format{Decimals: 4}}, {Name: "state", Align: table.Left},
		},
	}
	for _, e := range all {
		t.Rows = append(t.Rows, []table.Cell{
			table.Text(e.Name), table.Integer(e.Rollouts), table.Optional(e.Estimate), table.Optional(e.StandardError), table.Text(e.State),
		})
	}
	return table.WriteText(s.stdout, t)
}

// listEvaluations reads what evaluations an output folder has, by name.
func listEvaluations(out string) ([]listedEvaluation, error) {
	folders, err := filepath.Glob(filepath.Join(escapeGlob(out), evaluation.Folder, "benchmark=*", "model=*", "*"))
	if err != nil {
		return nil, err
	}
	all := []listedEvaluation{}
	for _, folder := range folders {
		setup, err := evaluation.ReadSetup(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		line := listedEvaluation{
			Name: setup.Benchmark + "/" + setup.Model + "/" + setup.Name(), State: "not complete",
			Rollouts: setup.Budget * len(setup.TaskIDs), folder: folder,
		}
		r, err := evaluation.ReadResult(folder)
		switch {
		case err == nil:
			line.State, line.Estimate, line.StandardError = "complete", &r.Estimate, &r.StandardError
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		all = append(all, line)
	}
	slices.SortFunc(all, func(a, b listedEvaluation) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// escapeGlob makes a path a pattern that matches it alone.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
