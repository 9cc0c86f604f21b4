package drill

import (
	"fmt"

	"speceval/pipeline/config"
)

// Experiment reads an experiment whose servers a drill starts itself: those of its
// first worker, with its first model.
func Experiment(path string) (*config.Config, error) {
	e, err := config.Load(path, nil)
	if err != nil {
		return nil, err
	}
	if len(e.Models) == 0 || len(e.Workers) == 0 || e.Workers[0].Launch == "" {
		return nil, fmt.Errorf("%s: a drill needs a [[model]], and a [[worker]] with a launch command before all others", path)
	}
	return e, nil
}
