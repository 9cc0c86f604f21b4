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
