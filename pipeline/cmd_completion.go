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

// shells are those that completion knows.
var shells = []string{"bash", "zsh", "fish"}

func completionCommand() command {
	return command{
		name:  "completion",
		args:  "SHELL",
		about: "print a script by which bash, zsh or fish completes commands, flags, stages and tables",
		examples: `  speceval completion bash > ~/.local/share/bash-completion/completions/speceval
  speceval completion zsh > "${fpath[1]}/_speceval"
  speceval completion fish > ~/.config/fish/completions/speceval.fish
`,
		complete: func(*session, []string) []string { return shells },
		run: func(s *session, words []string) error {
			if err := wantWords(words, 1, 1, "a shell"); err != nil {
				return err
			}
			switch words[0] {
			case "bash":
				return s.root.GenBashCompletionV2(s.stdout, true)
			case "zsh":
				return s.root.GenZshCompletion(s.stdout)
			case "fish":
				return s.root.GenFishCompletion(s.stdout, true)
			}
			return usagef("completion of %s is not known: want bash, zsh or fish", words[0])
		},
	}
}
