package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// watch looks at the queue over and over, so that the drill knows by itself when
// elements lived.
type watch struct {
	stop func() // and waits for the end
	mu   sync.Mutex
	last map[string]time.Time // when an element was seen alive last, see batch.element
}

// startWatch begins to look.
func (l *lab) startWatch(ctx context.Context) *watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{last: make(map[string]time.Time)}
	var looking sync.WaitGroup
	looking.Go(func() {
		for ctx.Err() == nil {
			now := time.Now() // before the look: what it shows was alive then
			text, err := l.slurm(ctx, "squeue", "--noheader", "--array", "--format=%j/%K")
			if err == nil { // the controller may be dead
				w.saw(strings.Fields(text), now)
			}
			wait(ctx, 300*time.Millisecond) // ends by ctx as well
		}
	})
	w.stop = func() { cancel(); looking.Wait() }
	return w
}

func (w *watch) saw(elements []string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range elements {
		w.last[e] = at
	}
}

// alive is when an element was seen alive last; zero if it never was.
func (w *watch) alive(element string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[element]
}

// span is the time in which an element was at a unit.
type span struct {
	element  string
	from, to time.Time
}

// spans are the times of an element at each of its units, by key. One that was cut
// off ends when the element begins the unit anew, or when it was last seen alive.
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
			end(e.Key, earlier(e.Time, alive))
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

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// submission is one of a unit.
type submission struct {
	element string
	at      time.Time
	settled time.Time // when its element said what came of the unit; zero if it did not
}

// count counts what was submitted for an output folder, and what went on twice.
func (f *field) count(t *trial, out string) error {
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
			if !f.watch.alive(name).IsZero() {
				seen++
			}
			for key, more := range spans(name, elements[i], f.watch.alive(name)) {
				busy[key] = append(busy[key], more...)
			}
			for _, m := range members {
				t.submitted++
				submissions[m.Key] = append(submissions[m.Key], submission{name, b.Submitted, settled(elements[i], m.Key)})
			}
		}
	}
	if seen == 0 {
		return fmt.Errorf("the drill has seen none of the elements of %d arrays in the queue, and cannot tell when they lived", len(all))
	}
	again, together := tooOften(submissions, f.watch.alive), overlapping(busy)
	t.again += len(again)
	t.together += len(together)
	for _, text := range slices.Concat(again, together) {
		f.printf("%s", text)
	}
	return nil
}

// settled is when an element first said what came of a unit.
func settled(events []event, key string) time.Time {
	for _, e := range events {
		if e.Key == key && slices.Contains([]string{"unit done", "unit failed", "unit stopped"}, e.What) {
			return e.Time
		}
	}
	return time.Time{}
}

// tooOften lists units that were submitted while an element lived that had them
// and had not said what came of them.
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

// overlapping lists the units at which two elements were at once.
func overlapping(busy map[string][]span) []string {
	var found []string
	for key, all := range busy {
		for i, a := range all {
			for _, b := range all[:i] {
				if a.element != b.element && a.from.Before(b.to) && b.from.Before(a.to) {
					found = append(found, fmt.Sprintf("%s was at the unit of key %.8s from %s to %s, %s from %s to %s",
						a.element, key, clock(a.from), clock(a.to), b.element, clock(b.from), clock(b.to)))
				}
			}
		}
	}
	return found
}

// clock is a time for messages.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
