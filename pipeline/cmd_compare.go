package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"speceval/data"
	"speceval/internal/comparison"
	"speceval/internal/display"
	"speceval/internal/profile"
)

// profilesFile is where the score stage puts its profiles in the output folder.
const profilesFile = "score/profiles.parquet"

// compareOptions are the flags of compare.
type compareOptions struct{ json, all bool }

func compareCommand() command {
	o := new(compareOptions)
	return command{
		name:  "compare",
		args:  "[FILE [OTHER]] [--json] [--all]",
		about: "compare pass rates, task by task: your profiles with the published ones; exit 4 if any differs",
		examples: `  speceval compare                      out/score/profiles.parquet with the published profiles
  speceval compare mine.csv             a file of yours with them
  speceval compare new.csv old.parquet  any two files
  speceval compare --all                every task, not only the worst
`,
		flags: func(fs *pflag.FlagSet) {
			jsonFlag(fs, &o.json, "print one JSON document")
			fs.BoolVar(&o.all, "all", false, "list every task, not only the worst")
		},
		run: o.run,
	}
}

func (o *compareOptions) run(s *session, words []string) error {
	if err := wantWords(words, 0, 2, "at most two files"); err != nil {
		return err
	}
	file, err := s.profilesOrStored(words)
	if err != nil {
		return &usageError{err}
	}
	other, err := publishedOr(words)
	if err != nil {
		return &usageError{err}
	}
	c, err := comparison.Of(file, other)
	if err != nil {
		return &usageError{err}
	}
	write := c.Text
	if o.json {
		write = c.JSON
	}
	if err := write(s.stdout, o.all); err != nil {
		return err
	}
	if n := c.Differing(); n > 0 {
		return fmt.Errorf("%w: %d of %s", errOutside, n, display.Count(len(c.Profiles), "profile differs", "profiles differ"))
	}
	return nil
}

// profilesOrStored reads the first file named, or the one that the score stage
// has written.
func (s *session) profilesOrStored(words []string) (comparison.File, error) {
	if len(words) > 0 {
		profiles, err := profile.Read(words[0])
		return comparison.File{Name: words[0], Profiles: profiles}, err
	}
	out, err := s.outFolder()
	if err != nil {
		return comparison.File{}, err
	}
	path := filepath.Join(out, filepath.FromSlash(profilesFile))
	profiles, err := profile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return comparison.File{}, fmt.Errorf("%s is not there: run `speceval run score` first, or name a file", path)
	}
	return comparison.File{Name: path, Profiles: profiles}, err
}

// publishedOr reads the second file named, or the published profiles.
func publishedOr(words []string) (comparison.File, error) {
	if len(words) > 1 {
		profiles, err := profile.Read(words[1])
		return comparison.File{Name: words[1], Profiles: profiles}, err
	}
	profiles, err := profile.Parse(data.Profiles(), data.ProfilesName)
	return comparison.File{Name: data.ProfilesName, Profiles: profiles}, err
}

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
	write := comparison.Text(s.stdout)
	if o.json {
		write = comparison.JSON(s.stdout)
	}
	ctx, stop := s.interruptible()
	defer stop()
	for _, f := range files {
		if err := comparison.WriteDisagreements(ctx, f, o.most, write); err != nil {
			return err
		}
	}
	return nil
}

// scoreFiles finds what the words name: two files, or benchmarks and models, or
// all that there are.
func (s *session) scoreFiles(words []string) ([]comparison.ScoreFiles, error) {
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
		files := comparison.ScoreFiles{Old: words[0], New: words[1], Out: out}
		for _, word := range words {
			if _, err := os.Stat(word); err != nil {
				return nil, err
			}
		}
		if files.OtherRollouts() {
			s.warn("%s and %s are of different rollouts: a disagreement may be one of the responses", files.Old, files.New)
		}
		return []comparison.ScoreFiles{files}, nil
	}
	files, first, err := comparison.StoredScores(out, words)
	for _, pair := range first {
		s.say("%s has no earlier scores of the same rollouts", pair)
	}
	return files, err
}
