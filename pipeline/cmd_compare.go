package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"speceval/data"
	"speceval/internal/comparison"
	"speceval/internal/display"
	"speceval/internal/evaluate/logs"
	"speceval/internal/profile"
	"speceval/pipeline/exchange"
	"speceval/stages/score"
)

func (s *session) compareCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "compare [FILE [OTHER]]", Short: "compare pass rates, task by task; exit 4 if any profile differs", Args: cobra.MaximumNArgs(2),
		Example: `  speceval compare                      out/score/profiles.parquet with the published profiles
  speceval compare mine.csv             a file of yours with them
  speceval compare new.csv old.parquet  any two files, or logs of harnesses`,
		RunE: func(_ *cobra.Command, words []string) error {
			c, err := s.compare(words)
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
		},
	}
	s.jsonFlag(c)
	s.allFlag(c, "list every task, not only the worst")
	return c
}

// compare compares two files: without words the profiles that the score stage has
// written, and without a second word the published ones.
func (s *session) compare(words []string) (*comparison.Comparison, error) {
	if len(words) == 0 {
		cfg, err := s.configuration()
		if err != nil {
			return nil, err
		}
		file := filepath.Join(cfg.Experiment.Out, filepath.FromSlash(score.ProfilesFile))
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is not there: run `speceval run score` first, or name a file", file)
		}
		words = []string{file}
	}
	profiles, err := profilesOf(words[0])
	if err != nil {
		return nil, err
	}
	other := comparison.File{Name: data.ProfilesName}
	if len(words) == 1 {
		other.Profiles, err = profile.Parse(data.Profiles(), other.Name)
	} else {
		other.Name = words[1]
		other.Profiles, err = profilesOf(other.Name)
	}
	if err != nil {
		return nil, err
	}
	return comparison.Of(comparison.File{Name: words[0], Profiles: profiles}, other)
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
			return nil, fmt.Errorf("%s has graded rewards or an allocation, whose pass rates are no probabilities: speceval evaluate compare takes it", name)
		}
	}
	return read.Profiles, nil
}
