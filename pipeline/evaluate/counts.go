package evaluate

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strconv"

	"speceval/internal/csvfile"
	"speceval/internal/inputfile"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/method/estimate"
	"speceval/pipeline/importing"
)

// Counting says which counts of a file are meant, where it has several.
type Counting struct{ Benchmark, Model string } // "": the only one

// Read reads counts by task: a file of profiles, a CSV file with the columns task_id,
// pass_count and tested_k, or a log of a harness. What is wrong with it is a
// *RequestError.
func (c Counting) Read(path string) (Counted, error) {
	counted, err := c.read(path)
	if err != nil {
		var request *RequestError
		if !errors.As(err, &request) {
			err = &RequestError{err}
		}
	}
	return counted, err
}

func (c Counting) read(path string) (Counted, error) {
	if ext := filepath.Ext(path); ext != ".csv" && ext != ".parquet" {
		return c.logged(path)
	}
	data, err := inputfile.Read(path, inputfile.Profiles)
	if err != nil {
		return Counted{}, err
	}
	if header, _, _ := bytes.Cut(data, []byte("\n")); !rowfile.IsParquet(data) && !bytes.Contains(header, []byte("benchmark")) {
		return bare(data, path)
	}
	profiles, err := profile.ParseAny(data, path)
	var missing *rowfile.MissingColumnError
	switch {
	case errors.As(err, &missing) && rowfile.IsParquet(data):
		return c.logged(path)
	case err != nil:
		return Counted{}, err
	}
	return c.only(profiles, path)
}

// only is the counts of the one profile that is meant.
func (c Counting) only(profiles []profile.Profile, path string) (Counted, error) {
	all := slices.DeleteFunc(slices.Clone(profiles), func(p profile.Profile) bool {
		return c.Benchmark != "" && c.Benchmark != p.Benchmark || c.Model != "" && c.Model != p.Model
	})
	if len(all) != 1 {
		var names []string
		for _, p := range profiles {
			names = append(names, p.Name())
		}
		return Counted{}, requestf("%s has the profiles %s: say one with --benchmark and --model", path, brief(names))
	}
	return CountsOf(all[0])
}

// bareColumns are those of counts that name neither a benchmark nor a model.
var bareColumns = []string{"task_id", "pass_count", "tested_k"}

// bare reads counts that name neither. Tasks may have no rollouts yet.
func bare(data []byte, path string) (c Counted, err error) {
	records, wrong := csvfile.Parse(data, bareColumns)
	if err := errors.Join(wrong...); err != nil {
		return c, requestf("%s: %w", path, err)
	}
	for _, r := range records {
		n, err := strconv.Atoi(r.Fields[2])
		passes, wrong := strconv.ParseFloat(r.Fields[1], 64)
		if err != nil || wrong != nil || n < 0 || n > 1<<20 || !(passes >= 0 && passes <= float64(n)) {
			return c, requestf("%s: row %d: pass_count %q and tested_k %q: want rollouts, and how many of them passed", path, r.Number, r.Fields[1], r.Fields[2])
		}
		if passes != float64(int(passes)) {
			return c, requestf("%s: row %d: pass_count %q: graded rewards need the columns of a profile, rewards and squares among them", path, r.Number, r.Fields[1])
		}
		c.IDs, c.Counts = append(c.IDs, r.Fields[0]), append(c.Counts, estimate.Binary(n, int(passes), 0))
	}
	return c, nil
}

// logged adds up the logs of one model on one benchmark.
func (c Counting) logged(path string) (Counted, error) {
	read, err := importing.Read(importing.Request{Paths: []string{path}})
	if err != nil {
		return Counted{}, err
	}
	return c.only(read.Profiles, path)
}
