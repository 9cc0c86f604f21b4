package lab

import (
	"fmt"

	"github.com/BurntSushi/toml"

	"speceval/internal/atomicfile"
	"speceval/pipeline/config"
)

// Settings are a table of a configuration: values, lists, and tables in it.
type Settings map[string]any

// WriteConfig writes a configuration as TOML. It refuses one that the program would
// refuse.
func WriteConfig(path string, s Settings) error {
	text, err := toml.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := config.Parse(text, path, nil); err != nil {
		return err
	}
	return atomicfile.WriteText(path, string(text))
}

// LoadExperiment reads an experiment whose servers a drill starts itself: those of
// its first worker, with its first model.
func LoadExperiment(path string) (*config.Config, error) {
	e, err := config.Load(path, nil)
	if err != nil {
		return nil, err
	}
	if len(e.Models) == 0 || len(e.Workers) == 0 || e.Workers[0].Launch == "" {
		return nil, fmt.Errorf("%s: a drill needs a [[model]], and a [[worker]] with a launch command before all others", path)
	}
	return e, nil
}
