package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"speceval/data"
	"speceval/internal/phrase"
	"speceval/internal/profile"
)

// falseAlarms is the probability with which compare may say that anything
// differs, if both files count rollouts of the same success probabilities. It
// is divided equally among their profiles.
const falseAlarms = 0.01

// profilesFile is where the score stage puts its profiles in the output folder.
const profilesFile = "score/profiles.parquet"

func compareCommand() command {
	return command{
		name:  "compare",
		args:  "[FILE [OTHER]] [--json] [--all]",
		about: "compare pass rates, task by task: your profiles with the published ones; exit 4 if any differs",
		examples: `  speceval compare                      out/score/profiles.parquet with the published profiles
  speceval compare mine.csv             a file of yours with them
  speceval compare new.csv old.parquet  any two files
  speceval compare --all                every task, not only the worst
`,
		flags: func(fs *flag.FlagSet, o *options) {
			fs.BoolVar(&o.json, "json", false, "print one JSON document")
			fs.BoolVar(&o.all, "all", false, "list every task, not only the worst")
		},
		run: runCompare,
	}
}

func runCompare(s *session, words []string) error {
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
	c, err := compareFiles(file, other)
	if err != nil {
		return &usageError{err}
	}
	write := c.text
	if s.json {
		write = c.json
	}
	if err := write(s.stdout, s.all); err != nil {
		return err
	}
	if n := c.differing(); n > 0 {
		return fmt.Errorf("%w: %d of %s", errOutside, n, phrase.Count(len(c.profiles), "profile differs", "profiles differ"))
	}
	return nil
}

// profileFile is the profiles of one file.
type profileFile struct {
	name     string
	profiles []profile.Profile
}

// profilesOrStored reads the first file named, or the one that the score stage
// has written.
func (s *session) profilesOrStored(words []string) (profileFile, error) {
	if len(words) > 0 {
		profiles, err := profile.Read(words[0])
		return profileFile{words[0], profiles}, err
	}
	out, err := s.outFolder()
	if err != nil {
		return profileFile{}, err
	}
	path := filepath.Join(out, filepath.FromSlash(profilesFile))
	profiles, err := profile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return profileFile{}, fmt.Errorf("%s is not there: run `speceval run score` first, or name a file", path)
	}
	return profileFile{path, profiles}, err
}

// publishedOr reads the second file named, or the published profiles.
func publishedOr(words []string) (profileFile, error) {
	if len(words) > 1 {
		profiles, err := profile.Read(words[1])
		return profileFile{words[1], profiles}, err
	}
	profiles, err := profile.Parse(data.Profiles(), data.ProfilesName)
	return profileFile{data.ProfilesName, profiles}, err
}

// compared is two files of profiles side by side.
type compared struct {
	files    [2]string
	profiles []profile.Comparison // of both, in the order of the first
	only     [2][]string          // names of the profiles that the other lacks
}

func compareFiles(a, b profileFile) (*compared, error) {
	c := &compared{files: [2]string{a.name, b.name}}
	find := func(in []profile.Profile, name string) int {
		return slices.IndexFunc(in, func(p profile.Profile) bool { return p.Name() == name })
	}
	var pairs [][2]profile.Profile
	for _, p := range a.profiles {
		if j := find(b.profiles, p.Name()); j >= 0 {
			pairs = append(pairs, [2]profile.Profile{p, b.profiles[j]})
		} else {
			c.only[0] = append(c.only[0], p.Name())
		}
	}
	for _, p := range b.profiles {
		if find(a.profiles, p.Name()) < 0 {
			c.only[1] = append(c.only[1], p.Name())
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("no benchmark and model is in both files:\n%s has %s\n%s has %s",
			a.name, some(c.only[0]), b.name, some(c.only[1]))
	}
	for _, pair := range pairs {
		c.profiles = append(c.profiles, profile.Compare(pair[0], pair[1], falseAlarms/float64(len(pairs))))
	}
	return c, nil
}

// differing is how many profiles do not agree.
func (c *compared) differing() (n int) {
	for i := range c.profiles {
		if !c.profiles[i].Agree() {
			n++
		}
	}
	return n
}
