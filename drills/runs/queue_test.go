//go:build drill

package runs_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// batch is an array that a run has submitted, as in its batch.json.
type batch struct {
	Name      string
	Job       string
	Submitted time.Time
	Elements  [][]struct{ Unit, Key string }

	logs [][]event // of the elements
}

// element names an element by the name of its job. A job's number is not unique: a
// killed controller that had not saved the job assigns the number again.
func (b *batch) element(i int) string { return b.Name + "/" + strconv.Itoa(i) }

// event is a line of an element's log.
type event struct {
	Time time.Time `json:"time"`
	What string    `json:"msg"`
	Key  string    `json:"key"` // of a unit
	CPU  float64   `json:"cpu_seconds"`
}

// batches reads what was submitted for an output folder, in order, and the elements'
// logs.
func (s *site) batches(out string) (all []batch) {
	files, err := filepath.Glob(filepath.Join(out, "slurm", "*", "batch.json")) // by name, which begins with the time
	s.OK(err)
	for _, file := range files {
		var b batch
		s.OK(json.Unmarshal(s.Read(file), &b))
		b.logs = make([][]event, len(b.Elements))
		for i := range b.Elements {
			log := tail{path: filepath.Join(filepath.Dir(file), fmt.Sprintf("element-%d.jsonl", i))}
			for _, line := range log.lines(s.Lab) {
				var e event
				if json.Unmarshal(line, &e) == nil { // a killed process may leave half a line
					b.logs[i] = append(b.logs[i], e)
				}
			}
		}
		all = append(all, b)
	}
	return all
}

// work is the sum of the jobs of an output folder.
type work struct {
	arrays, elements, units int
	ends                    int     // elements that ended by themselves
	cpu                     float64 // seconds of those, whole processes
	unitCPU                 float64 // seconds of the units, as far as they are known
}

// worked sums up the jobs of an output folder.
func (s *site) worked(out string) work {
	all := s.batches(out)
	w := work{arrays: len(all)}
	for _, b := range all {
		w.elements += len(b.Elements)
		for i, units := range b.Elements {
			w.units += len(units)
			for _, e := range b.logs[i] {
				switch e.What {
				case "unit done":
					w.unitCPU += e.CPU
				case "element ended":
					w.ends++
					w.cpu += e.CPU
				}
			}
		}
	}
	return w
}

// watch polls the queue, so that the times at which elements lived do not come from the
// program that is tried.
type watch struct {
	stop func() // and waits for the end
	mu   sync.Mutex
	last map[string]time.Time // when an element was last alive, see batch.element
}

// startWatch begins to poll.
func (s *site) startWatch() *watch {
	w := &watch{last: make(map[string]time.Time)}
	done := make(chan struct{})
	var polling sync.WaitGroup
	polling.Go(func() {
		for {
			now := time.Now() // before the poll: what it shows was alive then
			text, err := s.slurm("squeue", "--noheader", "--array", "--format=%j/%K")
			if err == nil { // the controller may be dead
				w.saw(strings.Fields(text), now)
			}
			select {
			case <-done:
				return
			case <-time.After(300 * time.Millisecond):
			}
		}
	})
	w.stop = func() { close(done); polling.Wait() }
	return w
}

func (w *watch) saw(elements []string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range elements {
		w.last[e] = at
	}
}

// alive is when an element was last alive; zero if the watch never saw it.
func (w *watch) alive(element string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[element]
}

// span is the time in which an element worked on a unit.
type span struct {
	element  string
	from, to time.Time
}

// spans are the times in which an element worked on each of its units, by key. A span
// that was cut off ends when the element begins the unit again, or when the element was
// last alive.
func spans(element string, events []event, alive time.Time) map[string][]span {
	all := make(map[string][]span)
	open := make(map[string]time.Time)
	end := func(key string, at time.Time) {
		if from, ok := open[key]; ok {
			all[key] = append(all[key], span{element, from, at})
			delete(open, key)
		}
	}
	for _, e := range events {
		switch e.What {
		case "unit started":
			at := alive
			if e.Time.Before(alive) {
				at = e.Time
			}
			end(e.Key, at)
			open[e.Key] = e.Time
		case "unit done", "unit failed", "unit stopped":
			end(e.Key, e.Time)
		}
	}
	for key := range open {
		end(key, alive)
	}
	return all
}

// submission is a unit in an element.
type submission struct {
	element string
	at      time.Time
	settled time.Time // when the element logged the outcome of the unit; zero if it did not
}

// count counts the units submitted for an output folder, and those that ran twice.
func (s *site) count(t *trial, out string) {
	all, seen := s.batches(out), 0
	submissions, busy := make(map[string][]submission), make(map[string][]span)
	for _, b := range all {
		for i, units := range b.Elements {
			name := b.element(i)
			alive := s.watch.alive(name)
			if !alive.IsZero() {
				seen++
			}
			for key, more := range spans(name, b.logs[i], alive) {
				busy[key] = append(busy[key], more...)
			}
			for _, u := range units {
				t.submitted++
				submissions[u.Key] = append(submissions[u.Key], submission{name, b.Submitted, settled(b.logs[i], u.Key)})
			}
		}
	}
	if seen == 0 {
		s.Fatalf("none of the elements of %d arrays was ever in the queue, and their times are unknown", len(all))
	}
	again, together := tooOften(submissions, s.watch.alive), overlapping(busy)
	t.again += len(again)
	t.together += len(together)
	for _, text := range slices.Concat(again, together) {
		s.Logf("%s", text)
	}
}

// settled is when an element first logged the outcome of a unit.
func settled(events []event, key string) time.Time {
	for _, e := range events {
		if e.Key == key && slices.Contains([]string{"unit done", "unit failed", "unit stopped"}, e.What) {
			return e.Time
		}
	}
	return time.Time{}
}

// tooOften lists units that were submitted while an earlier element with them lived and
// had not logged their outcome.
func tooOften(submissions map[string][]submission, alive func(string) time.Time) []string {
	var found []string
	for key, all := range submissions {
		for i, later := range all {
			for _, before := range all[:i] {
				if alive(before.element).After(later.at) && (before.settled.IsZero() || before.settled.After(later.at)) {
					found = append(found, fmt.Sprintf("the unit of key %.8s was submitted as %s at %s, and %s with it was seen alive at %s",
						key, later.element, at(later.at), before.element, at(alive(before.element))))
				}
			}
		}
	}
	return found
}

// overlapping lists the units that two elements worked on at the same time.
func overlapping(busy map[string][]span) []string {
	var found []string
	for key, all := range busy {
		for i, a := range all {
			for _, b := range all[:i] {
				if a.element != b.element && a.from.Before(b.to) && b.from.Before(a.to) {
					found = append(found, fmt.Sprintf("%s worked on the unit of key %.8s from %s to %s, %s from %s to %s",
						a.element, key, at(a.from), at(a.to), b.element, at(b.from), at(b.to)))
				}
			}
		}
	}
	return found
}

// at is a time for messages.
func at(t time.Time) string { return t.UTC().Format("15:04:05.000") }
