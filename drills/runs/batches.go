package runs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// batch is an array that a run has submitted, as in its batch.json.
type batch struct {
	Name      string     `json:"name"`
	Stage     string     `json:"stage"`
	Job       string     `json:"job"`
	Submitted time.Time  `json:"submitted"`
	Attempt   int        `json:"attempt"`
	Elements  [][]member `json:"elements"`

	dir string
}

// member is a unit of an element.
type member struct {
	Unit string `json:"unit"`
	Key  string `json:"key"`
}

// element names an element by the name of its job. A job's number is not unique: a
// killed controller that had not saved the job assigns the number again.
func (b *batch) element(i int) string { return b.Name + "/" + strconv.Itoa(i) }

// event is a line of an element's log.
type event struct {
	Time  time.Time `json:"time"`
	What  string    `json:"msg"`
	Stage string    `json:"stage"`
	Unit  string    `json:"unit"`
	Key   string    `json:"key"`
	Job   string    `json:"job"`
	CPU   float64   `json:"cpu_seconds"`
}

// batches reads what was submitted for an output folder, in order.
func batches(out string) ([]batch, error) {
	files, err := filepath.Glob(filepath.Join(out, "slurm", "*", "batch.json")) // by name, which begins with the time
	if err != nil {
		return nil, err
	}
	var all []batch
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		b := batch{dir: filepath.Dir(file)}
		if err := json.Unmarshal(text, &b); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, b)
	}
	return all, nil
}

// events are the log lines of all elements of a batch, by element.
func (b *batch) events() ([][]event, error) {
	all := make([][]event, len(b.Elements))
	for i := range b.Elements {
		file, err := os.Open(filepath.Join(b.dir, fmt.Sprintf("element-%d.jsonl", i)))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil { // a killed process may leave half a line
				all[i] = append(all[i], e)
			}
		}
		if err := errors.Join(lines.Err(), file.Close()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// work is the sum of the jobs of an output folder.
type work struct {
	arrays, elements, units int
	done                    int     // units that an element has finished
	ends                    int     // elements that ended by themselves
	cpu                     float64 // seconds of those, whole processes
	unitCPU                 float64 // seconds of the units, as far as they are known
}

// worked sums up the jobs of an output folder.
func worked(out string) (work, error) {
	all, err := batches(out)
	if err != nil {
		return work{}, err
	}
	var w work
	for _, b := range all {
		w.arrays++
		w.elements += len(b.Elements)
		for _, members := range b.Elements {
			w.units += len(members)
		}
		elements, err := b.events()
		if err != nil {
			return work{}, err
		}
		for _, events := range elements {
			for _, e := range events {
				switch e.What {
				case "unit done":
					w.done++
					w.unitCPU += e.CPU
				case "element ended":
					w.ends++
					w.cpu += e.CPU
				}
			}
		}
	}
	return w, nil
}
