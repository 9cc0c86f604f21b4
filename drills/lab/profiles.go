package lab

import (
	"encoding/csv"
	"errors"
	"os"
	"strconv"

	"speceval/internal/profile"
)

// WriteProfiles writes profiles into a new CSV file.
func WriteProfiles(path string, profiles []profile.Profile) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	rows := csv.NewWriter(file)
	rows.Write(profile.Columns) // errors: see rows.Error
	for _, p := range profiles {
		for i, id := range p.TaskIDs {
			rows.Write([]string{p.Benchmark, p.Model, strconv.Itoa(i), id, strconv.Itoa(p.PassCounts[i]), strconv.Itoa(p.TestedK)})
		}
	}
	rows.Flush()
	return errors.Join(rows.Error(), file.Close())
}
