package drill

import (
	"os"

	"github.com/BurntSushi/toml"

	"speceval/internal/store/atomicfile"
	"speceval/internal/store/profile"
	"speceval/pipeline/config"
)

// Settings are a table of a configuration: values, lists, and tables in it.
type Settings map[string]any

// WriteConfig writes a configuration as TOML. It refuses one that the program would
// refuse.
func (l *Lab) WriteConfig(path string, s Settings) {
	l.Helper()
	text, err := toml.Marshal(s)
	l.OK(err)
	_, err = config.Parse(text, path, nil)
	l.OK(err, atomicfile.WriteText(path, string(text)))
}

// LoadExperiment reads an experiment whose servers a drill starts itself: those of its
// first worker, with its first model.
func (l *Lab) LoadExperiment(path string) *config.Config {
	l.Helper()
	e, err := config.Load(FromRoot(path), nil)
	l.OK(err)
	if len(e.Models) == 0 || len(e.Workers) == 0 || e.Workers[0].Launch == "" {
		l.Fatalf("%s: a drill needs a [[model]], and a [[worker]] with a launch command before all others", path)
	}
	return e
}

// WriteProfiles writes profiles into a new CSV file.
func (l *Lab) WriteProfiles(path string, profiles []profile.Profile) {
	l.Helper()
	file, err := os.Create(path)
	l.OK(err)
	l.OK(profile.WriteCSV(file, profiles), file.Close())
}
