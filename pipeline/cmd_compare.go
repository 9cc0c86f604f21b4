package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"speceval/data"
	"speceval/internal/comparison"
	"speceval/internal/display"
	"speceval/internal/evaluate/logs"
	"speceval/internal/profile"
	"speceval/internal/store/atomicfile"
	"speceval/pipeline/config"
	"speceval/pipeline/exchange"
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
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return s.evaluationNames(), cobra.ShellCompDirectiveDefault
		},
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
			if page != "" {
				if err := atomicfile.Write(page, c.Page); err != nil {
					return err
				}
				s.say("%s written", page)
			}
			return s.printAs(c, func(w io.Writer) error { return c.Text(w, s.all) })
		}),
	}
	c.Flags().Float64Var(&resolve, "resolve", 0, "show the budgets that find a difference of `D`, too")
	c.Flags().StringVar(&page, "page", "", "write a page of the comparison to `FILE`, too")
	s.jsonFlag(c)
	s.allFlag(c, "list every task of profiles, and every difference")
	return c
}

// agreement compares two files of profiles task by task: without words the one that the score
// stage has written, and without a second word with the published ones. nil: the words name other
// things, or files without a benchmark and model in common.
func (s *session) agreement(cfg *config.Config, words []string) (*comparison.Comparison, error) {
	other := comparison.File{Name: data.ProfilesName}
	var err error
	switch len(words) {
	case 0:
		file := filepath.Join(cfg.Experiment.Out, filepath.FromSlash(score.ProfilesFile))
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is not there: run `speceval run score` first, or name a file", file)
		}
		words = []string{file}
		fallthrough
	case 1:
		other.Profiles, err = profile.Parse(data.Profiles(), other.Name)
	case 2:
		_, first := profile.Read(words[0])
		if _, second := profile.Read(words[1]); first != nil && second != nil { // logs, say
			return nil, nil
		}
		other.Name = words[1]
		other.Profiles, err = profilesOf(other.Name)
	default:
		return nil, nil
	}
	profiles, fault := profilesOf(words[0])
	c, none := (*comparison.Comparison)(nil), errors.Join(fault, err)
	if none == nil {
		c, none = comparison.Of(comparison.File{Name: words[0], Profiles: profiles}, other)
	}
	if none == nil || len(words) == 2 {
		return c, nil
	}
	if _, there := s.archive(cfg).Stored(words[0]); there == nil {
		none = fmt.Errorf("say with what %s is to be compared: other evaluations, logs or profiles", words[0])
	}
	return nil, none
}

// printAgreement prints a comparison of profiles, unless there is an error.
func (s *session) printAgreement(c *comparison.Comparison, err error) error {
	if err != nil {
		return &usageError{err}
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

// profilesOf are the profiles of a file, whatever its name, or of logs.
func profilesOf(name string) ([]profile.Profile, error) {
	profiles, fault := profile.Read(name)
	if _, err := os.Stat(name); fault == nil || err != nil || slices.Contains([]string{".csv", ".parquet"}, filepath.Ext(name)) {
		return profiles, fault
	}
	read, err := exchange.ReadLogs(exchange.ImportRequest{Choice: logs.Choice{Strict: true}, Paths: []string{name}})
	if unknown := (*logs.UnknownError)(nil); errors.As(err, &unknown) {
		return nil, fmt.Errorf("%w\nnor is it a file of profiles: %w", err, fault)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; speceval import makes a file of logs with names and scores of your choice", err)
	}
	for _, p := range read.Profiles {
		if p.Graded() || p.Allocated {
			return nil, fmt.Errorf("%s has graded rewards or an allocation, whose pass rates are no probabilities: compare it with another log or evaluation", name)
		}
	}
	return read.Profiles, nil
}
