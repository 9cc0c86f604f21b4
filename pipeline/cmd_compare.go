package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"speceval/data"
	"speceval/internal/comparison"
	"speceval/internal/display"
	"speceval/internal/profile"
	"speceval/stages/score"
)

func (s *session) compareCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "compare [FILE [OTHER]]", Short: "compare pass rates, task by task; exit 4 if any profile differs", Args: cobra.MaximumNArgs(2),
		Example: `  speceval compare                      out/score/profiles.parquet with the published profiles
  speceval compare mine.csv             a file of yours with them
  speceval compare new.csv old.parquet  any two files`,
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
	var file, other comparison.File
	if len(words) > 0 {
		file.Name = words[0]
	} else if cfg, err := s.configuration(); err == nil {
		file.Name = filepath.Join(cfg.Experiment.Out, filepath.FromSlash(score.ProfilesFile))
	} else {
		return nil, err
	}
	var err error
	if file.Profiles, err = profile.Read(file.Name); errors.Is(err, fs.ErrNotExist) && len(words) == 0 {
		err = fmt.Errorf("%s is not there: run `speceval run score` first, or name a file", file.Name)
	}
	if err != nil {
		return nil, err
	}
	if len(words) == 2 {
		other.Name = words[1]
		other.Profiles, err = profile.Read(other.Name)
	} else {
		other.Name = data.ProfilesName
		other.Profiles, err = profile.Parse(data.Profiles(), other.Name)
	}
	if err != nil {
		return nil, err
	}
	return comparison.Of(file, other)
}
