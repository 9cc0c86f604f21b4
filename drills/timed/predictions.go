package timed

import (
	"fmt"
	"io"
	"path/filepath"

	"speceval/internal/measurement"
	"speceval/internal/rowfile"
)

// Predictions prints what Uniform's runs alone say of every strategy's time,
// beside what was measured.
func Predictions(stdout io.Writer, out string) error {
	rows, _, err := rowfile.ReadFile[measurement.Prediction](filepath.Join(out, filepath.FromSlash(measurement.PredictionsFile)))
	if err != nil {
		return err
	}
	for _, p := range rows {
		fmt.Fprintf(stdout, "%s at b = %d of %s: predicted %.2f ± %.2f s, measured %.2f s: %+.1f%%\n",
			p.Strategy, p.Budget, p.Model, p.Predicted, p.PredictedSD, p.Measured, 100*(p.Predicted/p.Measured-1))
	}
	return nil
}
