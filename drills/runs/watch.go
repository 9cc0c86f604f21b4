package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"speceval/drills/lab"
)

// watch polls the queue, so that the times at which elements lived do not come from the
// program that is tried.
type watch struct {
	stop func() // and waits for the end
	mu   sync.Mutex
	last map[string]time.Time // when an element was last alive, see batch.element
}

// startWatch begins to poll.
func (s *site) startWatch(ctx context.Context) *watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{last: make(map[string]time.Time)}
	var polling sync.WaitGroup
	polling.Go(func() {
		for ctx.Err() == nil {
			now := time.Now() // before the poll: what it shows was alive then
			text, err := s.slurm(ctx, "squeue", "--noheader", "--array", "--format=%j/%K")
			if err == nil { // the controller may be dead
				w.saw(strings.Fields(text), now)
			}
			lab.Wait(ctx, 300*time.Millisecond) // ends by ctx as well
		}
	})
	w.stop = func() { cancel(); polling.Wait() }
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
func (s *site) count(t *trial, out string) error {
	all, err := batches(out)
	if err != nil {
		return err
	}
	submissions, busy := make(map[string][]submission), make(map[string][]span)
	seen := 0
	for _, b := range all {
		elements, err := b.events()
		if err != nil {
			return err
		}
		for i, members := range b.Elements {
			name := b.element(i)
			if !s.watch.alive(name).IsZero() {
				seen++
			}
			for key, more := range spans(name, elements[i], s.watch.alive(name)) {
				busy[key] = append(busy[key], more...)
			}
			for _, m := range members {
				t.submitted++
				submissions[m.Key] = append(submissions[m.Key], submission{name, b.Submitted, settled(elements[i], m.Key)})
			}
		}
	}
	if seen == 0 {
		return fmt.Errorf("none of the elements of %d arrays was ever in the queue, and their times are unknown", len(all))
	}
	again, together := tooOften(submissions, s.watch.alive), overlapping(busy)
	t.again += len(again)
	t.together += len(together)
	for _, text := range slices.Concat(again, together) {
		s.Printf("%s", text)
	}
	return nil
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
						key, later.element, clock(later.at), before.element, clock(alive(before.element))))
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
						a.element, key, clock(a.from), clock(a.to), b.element, clock(b.from), clock(b.to)))
				}
			}
		}
	}
	return found
}

// clock is a time for messages.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
