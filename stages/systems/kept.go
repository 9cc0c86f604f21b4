package systems

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/internal/results/measurement"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
)

// runs is the folder of the good runs of a unit so far: what has been measured is never
// measured again because of another run.
type runs string

// voidsFile lists the void runs, a line each.
const voidsFile = "void.txt"

func (r runs) path(e execution, what string) string {
	return filepath.Join(string(r), fmt.Sprintf("repeat=%d.%s.%s.parquet", e.repeat, e.strategy.Name, what))
}

// read is a run that was kept. The error says that it is not there, whole.
func (r runs) read(e execution) (measurement.Run, []measurement.Request, error) {
	rows, _, err := rowfile.ReadFile[measurement.Run](r.path(e, "run"))
	if err != nil {
		return measurement.Run{}, nil, err
	}
	requests, _, err := rowfile.ReadFile[measurement.Request](r.path(e, "requests"))
	return rows[0], requests, err
}

// missing are the runs that are not there, or of another provenance.
func (r runs) missing(all []execution, provenance string) []execution {
	return slices.DeleteFunc(slices.Clone(all), func(e execution) bool {
		row, _, err := r.read(e)
		return err == nil && row.Provenance == provenance
	})
}

// keep stores a run, its requests first: the run itself says that all is there.
func (r runs) keep(e execution, row measurement.Run, requests []measurement.Request) error {
	err := atomicfile.Write(r.path(e, "requests"), func(w io.Writer) error { return rowfile.Write(w, requests, nil) })
	if err != nil {
		return err
	}
	return atomicfile.Write(r.path(e, "run"), func(w io.Writer) error { return rowfile.Write(w, []measurement.Run{row}, nil) })
}

// void notes a run that was void, as why says.
func (r runs) void(now time.Time, why error) error {
	f, err := os.OpenFile(filepath.Join(string(r), voidsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("note a void run: %w", err)
	}
	line := strings.Join(strings.Fields(why.Error()), " ")
	_, err = fmt.Fprintf(f, "%s %s\n", now.UTC().Format(time.RFC3339), line)
	return errors.Join(err, f.Close())
}

// assemble makes the outputs of all runs, which must be there, of one
// provenance, and puts the void ones into the manifest.
func (r runs) assemble(job *dag.Job, s *setting, kind string, all []execution) error {
	var rows []measurement.Run
	var requests []measurement.Request
	for _, e := range all {
		row, more, err := r.read(e)
		if err != nil {
			return err
		}
		rows, requests = append(rows, row), append(requests, more...)
	}
	job.Provenance(rows[0].Provenance)
	text, err := os.ReadFile(filepath.Join(string(r), voidsFile))
	switch {
	case err == nil:
		job.Note("void runs that were made again:\n%s", strings.TrimSpace(string(text)))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return s.write(job, kind, rows, requests)
}
