package main

import (
	"path/filepath"
	"strings"

	"speceval/pipeline/evaluate"
)

// completeStages are the stages of the experiment, for completion. What is
// wrong with it completes nothing.
func completeStages(s *session, _ []string) (names []string) {
	e, err := s.pipeline.load(s.config, s.sets, s.outside())
	if err != nil {
		return nil
	}
	for _, stage := range s.pipeline.stages(e) {
		names = append(names, stage.Name)
	}
	return names
}

// completeTables are the tables in the output folder.
func completeTables(s *session, words []string) (names []string) {
	out, err := s.outFolder()
	if err != nil || len(words) > 0 {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(out, "tables", "*.csv"))
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".csv"))
	}
	return names
}

// completeEvaluations are the evaluations in the output folder.
func completeEvaluations(s *session, _ []string) (names []string) {
	cfg, err := s.evaluationConfig(nil)
	if err != nil {
		return nil
	}
	return evaluate.Archive{Config: cfg}.Names()
}
