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

// outcomes are the events with which an element is done with a unit.
var outcomes = []string{"unit done", "unit failed", "unit stopped"}

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
			log := filepath.Join(filepath.Dir(file), fmt.Sprintf("element-%d.jsonl", i))
			for _, line := range (tails{}).lines(s.Lab, log) {
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
	elements int
	ends     int     // elements that ended by themselves
	cpu      float64 // seconds of those, whole processes
}

// worked sums up the jobs of an output folder.
func (s *site) worked(out string) (w work) {
	for _, b := range s.batches(out) {
		w.elements += len(b.Elements)
		for _, e := range slices.Concat(b.logs...) {
			if e.What == "element ended" {
				w.ends++
				w.cpu += e.CPU
			}
		}
	}
	return w
}

// watch polls the queue, so that the times at which elements lived do not come from the
// program that is tried.
type watch struct {
	stop func()   // and waits for the end
	last sync.Map // when an element was last alive: time.Time by batch.element
}

// startWatch begins to poll.
func (s *site) startWatch() *watch {
	w, done := &watch{}, make(chan struct{})
	var polling sync.WaitGroup
	polling.Go(func() {
		for {
			now := time.Now() // before the poll: what it shows was alive then
			// The controller may be dead.
			text, _ := s.trySlurm("squeue", "--noheader", "--array", "--format=%j/%K")
			for _, element := range strings.Fields(text) {
				w.last.Store(element, now)
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

// alive is when an element was last alive; zero if the watch never saw it.
func (w *watch) alive(element string) time.Time {
	at, _ := w.last.Load(element)
	alive, _ := at.(time.Time)
	return alive
}

// stay is a unit in an element. Its fields are exported, so that messages show times.
type stay struct {
	Element   string
	Submitted time.Time
	Until     time.Time // the element logged the outcome of the unit, or was last alive
}

// count counts the units submitted for an output folder. None may be submitted while an
// earlier element with it lived and had not logged its outcome: two would work on it.
func (s *site) count(out string) {
	stays, all := make(map[string][]stay), s.batches(out)
	submitted, again, seen := 0, 0, 0
	for _, b := range all {
		for i, units := range b.Elements {
			alive := s.watch.alive(b.element(i))
			if !alive.IsZero() {
				seen++
			}
			for _, u := range units {
				later := stay{b.element(i), b.Submitted, alive}
				settled := slices.IndexFunc(b.logs[i], func(e event) bool { return e.Key == u.Key && slices.Contains(outcomes, e.What) })
				if settled >= 0 && b.logs[i][settled].Time.Before(alive) {
					later.Until = b.logs[i][settled].Time
				}
				submitted++
				for _, before := range stays[u.Key] {
					if before.Until.After(later.Submitted) {
						again++
						s.Logf("the unit %s was submitted again while an earlier job of it lived: %+v, %+v", u.Unit, before, later)
					}
				}
				stays[u.Key] = append(stays[u.Key], later)
			}
		}
	}
	s.Logf("%d units submitted", submitted)
	if seen == 0 {
		s.Fatalf("none of the elements of %d arrays was ever in the queue, and their times are unknown", len(all))
	}
	if again > 0 {
		s.Errorf("%d units submitted while their job lived", again)
	}
}
