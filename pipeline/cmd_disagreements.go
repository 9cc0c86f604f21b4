package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"speceval/internal/disagreement"
)

// disagreementsOptions are the flags of disagreements.
type disagreementsOptions struct {
	most int // rollouts to list; 0: all
	json bool
}

func disagreementsCommand() command {
	o := new(disagreementsOptions)
	return command{
		name:  "disagreements",
		args:  "[OLD.parquet NEW.parquet | BENCHMARK/MODEL…] [-n N] [--json]",
		about: "list the rollouts on which two versions of a scorer disagree, with the ends of their responses",
		examples: `  speceval disagreements                           all scores, against those that another scorer gave before
  speceval disagreements aime24/qwen3_5_4b -n 0    those of one benchmark and model, every rollout
  speceval disagreements old.parquet new.parquet   any two files of scores
  speceval disagreements --json                    an object a line, with whole responses; summaries last
`,
		flags: func(fs *pflag.FlagSet) {
			fs.IntVarP(&o.most, "n", "n", 20, "list at most `N` rollouts of each benchmark and model (20); 0: all")
			jsonFlag(fs, &o.json, "print a JSON object a line")
		},
		run: o.run,
	}
}

func (o *disagreementsOptions) run(s *session, words []string) error {
	if o.most < 0 {
		return usagef("-n %d: want 0, for all, or more", o.most)
	}
	files, err := s.scoreFiles(words)
	if err != nil {
		return &usageError{err}
	}
	write := disagreement.Text(s.stdout)
	if o.json {
		write = disagreement.JSON(s.stdout)
	}
	ctx, stop := s.interruptible()
	defer stop()
	for _, f := range files {
		if err := disagreement.Write(ctx, f, o.most, write); err != nil {
			return err
		}
	}
	return nil
}

// scoreFiles finds what the words name: two files, or benchmarks and models, or
// all that there are.
func (s *session) scoreFiles(words []string) ([]disagreement.Files, error) {
	isFile := func(word string) bool { return filepath.Ext(word) == ".parquet" }
	named := slices.ContainsFunc(words, isFile)
	if named && (len(words) != 2 || !isFile(words[0]) || !isFile(words[1])) {
		return nil, fmt.Errorf("want two files of scores, OLD.parquet NEW.parquet, have %s", quoted(words))
	}
	out, err := s.outFolder()
	if err != nil && !named {
		return nil, err
	}
	if named {
		files := disagreement.Files{Old: words[0], New: words[1], Out: out}
		for _, word := range words {
			if _, err := os.Stat(word); err != nil {
				return nil, err
			}
		}
		if files.OtherRollouts() {
			s.warn("%s and %s are of different rollouts: a disagreement may be one of the responses", files.Old, files.New)
		}
		return []disagreement.Files{files}, nil
	}
	files, first, err := disagreement.Stored(out, words)
	for _, pair := range first {
		s.say("%s has no earlier scores of the same rollouts", pair)
	}
	return files, err
}
