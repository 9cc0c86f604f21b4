package drill

import (
	"encoding/csv"
	"os"
	"strconv"

	"github.com/BurntSushi/toml"

	"speceval/internal/profile"
	"speceval/internal/store/atomicfile"
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
	rows := csv.NewWriter(file)
	rows.Write(profile.Columns) // errors: see rows.Error
	for _, p := range profiles {
		for i, id := range p.TaskIDs {
			rows.Write([]string{p.Benchmark, p.Model, strconv.Itoa(i), id, strconv.Itoa(p.PassCounts[i]), strconv.Itoa(p.TestedK)})
		}
	}
	rows.Flush()
	l.OK(rows.Error(), file.Close())
}
