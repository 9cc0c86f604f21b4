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
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"speceval/internal/fleet"
	"speceval/internal/store/atomicfile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	facts, err := read()
	if err != nil {
		return err
	}
	workload, err := calibrate(ctx, facts)
	if err != nil {
		return err
	}
	models, lengths := workload.Files()
	for name, content := range map[string][]byte{fleet.ModelsName: models, fleet.LengthsName: lengths} {
		if err := atomicfile.WriteText(filepath.Join("data", "fleet", name), string(content)); err != nil {
			return err
		}
	}
	return nil
}
