package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"speceval/data"
	"speceval/internal/evaluation/comparison"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/profile"
	"speceval/internal/terminal/display"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
	"speceval/stages/score"
)

// compareCommand is the command of this name of a parent: speceval, or speceval evaluate.
func (s *session) compareCommand(parent string) *cobra.Command {
	resolve, page := 0.0, ""
	c := &cobra.Command{
		Use: "compare [A [B…]]", Short: "compare evaluations, logs and profiles of the same tasks",
		Long: `Compare evaluations, logs of harnesses and profiles of the same tasks: the difference of each
two with its errors, and tiers of models that cannot be told apart. A is an evaluation, a log,
a file that show --json has printed, or a file of profiles (FILE#MODEL: one of them).

Two files with profiles of the same benchmark and model are compared task by task, and so is
one file with the published profiles; without words it is that of the score stage. Exit 4 if
any of these profiles differs.`,
		Example: strings.ReplaceAll(`  PARENT compare mine/a/hbn_staged-b16-seed42 mine/b/hbn_staged-b16-seed42 --page ab.html
  PARENT compare mine/a/hbn_staged-b16-seed42 yesterday.eval other.parquet#model-c
  PARENT compare                      what score has made with the published profiles
  PARENT compare new.csv old.parquet  two files of profiles`, "PARENT", parent),
		RunE: s.configured(func(cfg *config.Config, words []string) error {
			if agreement, err := s.agreement(cfg, words); agreement != nil || err != nil {
				if err == nil && (page != "" || resolve != 0) {
					return usagef("--page and --resolve are for two or more evaluations, logs and profiles of different models: name them")
				}
				return s.printAgreement(agreement, err)
			}
			c, err := s.archive(cfg).Compare(words, resolve)
			if err != nil {
				return err
			}
			if err := s.comparisonPage(page, c.Page); err != nil {
				return err
			}
			return s.printAs(c, func(w io.Writer) error { return c.Text(w, s.all) })
		}),
	}
	c.Flags().Float64Var(&resolve, "resolve", 0, "show the budgets that find a difference of `D`, too")
	pageFlag(c.Flags(), &page)
	s.jsonFlag(c)
	s.allFlag(c, "list every task of profiles, and every difference")
	return c
}

func pageFlag(fs *pflag.FlagSet, page *string) {
	fs.StringVar(page, "page", "", "write a page of the comparison to `FILE`, too")
}

// comparisonPage writes the page of a comparison to a file, unless it is "".
func (s *session) comparisonPage(file string, page func(io.Writer) error) error {
	if file == "" {
		return nil
	}
	if err := atomicfile.Write(file, page); err != nil {
		return err
	}
	s.say("%s written", file)
	return nil
}

// agreement compares two files of profiles task by task: without words the one that the score
// stage has written, and without a second word with the published ones. nil: the words name other
// things, or files without a benchmark and model in common.
func (s *session) agreement(cfg *config.Config, words []string) (*comparison.Comparison, error) {
	if len(words) > 2 {
		return nil, nil
	}
	if len(words) == 0 {
		words = []string{filepath.Join(cfg.Experiment.Out, filepath.FromSlash(score.ProfilesFile))}
		if _, err := os.Stat(words[0]); err != nil {
			return nil, fmt.Errorf("%s is not there: run `speceval run score` first, or name a file", words[0])
		}
	}
	one, err := profile.Read(words[0])
	if len(words) == 2 {
		if two, other := profile.Read(words[1]); err == nil && other == nil {
			c, _ := comparison.Of(comparison.File{Name: words[0], Profiles: one}, comparison.File{Name: words[1], Profiles: two})
			return c, nil
		}
		return nil, nil // no profiles, or what Compare refuses
	}
	if err != nil {
		if _, err = s.archive(cfg).Sources(words[0], ""); err == nil {
			err = fmt.Errorf("say with what %s is to be compared: other evaluations, logs or profiles", words[0])
		}
		return nil, err
	}
	return comparison.Of(comparison.File{Name: words[0], Profiles: one}, comparison.File{Name: data.ProfilesName, Profiles: experiment.PublishedProfiles()})
}

// printAgreement prints a comparison of profiles, unless there is an error.
func (s *session) printAgreement(c *comparison.Comparison, err error) error {
	if err != nil {
		return usage(err)
	}
	write := c.Text
	if s.json {
		write = c.JSON
	}
	if err := write(s.stdout, s.all); err != nil {
		return err
	}
	if n := c.Differing(); n > 0 {
		return fmt.Errorf("%w: %d of %s", errOutside, n, display.Count(len(c.Profiles), "profile differs", "profiles differ"))
	}
	return nil
}
