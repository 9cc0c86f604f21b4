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
)

// profilesFile is where the score stage puts its profiles in the output folder.
const profilesFile = "score/profiles.parquet"

func (s *session) compareCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "compare [FILE [OTHER]]", Short: "compare pass rates, task by task; exit 4 if any profile differs", Args: cobra.MaximumNArgs(2),
		Example: `  speceval compare                      out/score/profiles.parquet with the published profiles
  speceval compare mine.csv             a file of yours with them
  speceval compare new.csv old.parquet  any two files`,
		RunE: func(_ *cobra.Command, words []string) error {
			file, err := s.profilesAt(0, words)
			if err != nil {
				return &usageError{err}
			}
			other, err := s.profilesAt(1, words)
			if err != nil {
				return &usageError{err}
			}
			c, err := comparison.Of(file, other)
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

// profilesAt reads the file at a place among the words; without it the profiles that the
// score stage has written, and in the second place the published ones.
func (s *session) profilesAt(place int, words []string) (f comparison.File, err error) {
	switch {
	case place < len(words):
		f.Name = words[place]
	case place > 0:
		f.Name = data.ProfilesName
		f.Profiles, err = profile.Parse(data.Profiles(), f.Name)
		return f, err
	default:
		cfg, err := s.configuration()
		if err != nil {
			return f, err
		}
		f.Name = filepath.Join(cfg.Experiment.Out, filepath.FromSlash(profilesFile))
	}
	f.Profiles, err = profile.Read(f.Name)
	if errors.Is(err, fs.ErrNotExist) && len(words) == 0 {
		err = fmt.Errorf("%s is not there: run `speceval run score` first, or name a file", f.Name)
	}
	return f, err
}
