// Command fit calibrates the simulated fleet: it makes models.csv and lengths.csv of
// data/fleet from the published profiles and measurements, the same bytes every time:
//
//	go run ./data/fleet/fit
//
// It fits to the times and useful FLOPs of Uniform's runs, at the budgets b and
// at the equivalent ones, and to the useful FLOPs of HBN's. It never reads the times,
// the waste and the extra rollouts of HBN, which the simulated fleet predicts.
// README.md in this folder has the quality of the fit.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"speceval/internal/fleet"
	"speceval/internal/store/atomicfile"
)

func main() {
	models, lengths := calibrate(read()).Files()
	for name, content := range map[string][]byte{fleet.ModelsName: models, fleet.LengthsName: lengths} {
		if err := atomicfile.WriteText(filepath.Join("data", "fleet", name), string(content)); err != nil {
			fmt.Fprintln(os.Stderr, "fit:", err)
			os.Exit(1)
		}
	}
}
