package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"speceval/internal/rollout"
	"speceval/internal/seed"
)

// row is a fault and what came of it.
type row struct {
	fault   string
	seen    string
	lost    string
	seconds float64
	wrong   bool
}

// note adds a row; an error makes the fault one that was not stood.
func (l *lab) note(fault string, begin time.Time, seen, lost string, err error) {
	r := row{fault, seen, lost, time.Since(begin).Seconds(), err != nil}
	if err != nil {
		r.seen, r.lost = firstLine(err.Error()), "?"
		fmt.Fprintf(l.stdout, "%s: NO: %v\n", fault, err)
	} else {
		fmt.Fprintf(l.stdout, "%s: %s; lost: %s (%.1f s)\n", fault, seen, lost, r.seconds)
	}
	l.rows = append(l.rows, r)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// table prints all rows, and fails if a fault was not stood.
func (l *lab) table() error {
	fmt.Fprintln(l.stdout)
	wrong, err := write(l.stdout, l.rows)
	if err == nil && wrong > 0 {
		err = fmt.Errorf("%d of %d faults were not stood", wrong, len(l.rows))
	}
	return err
}

func write(w io.Writer, rows []row) (wrong int, err error) {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(table, "fault\tseen\tlost\tseconds\n")
	for _, r := range rows {
		if r.wrong {
			wrong++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.1f\n", r.fault, r.seen, r.lost, r.seconds)
	}
	return wrong, table.Flush()
}

// complete holds stored rollouts to what was asked: every one once, by the seed
// of the rule, and all that were there before.
func (l *lab) complete(out string, before []rollout.Place) error {
	final, err := rollout.Stored(l.path(out))
	if err != nil {
		return err
	}
	return l.whole(final, before)
}

func (l *lab) whole(final, before []rollout.Place) error {
	times := map[rollout.Place]int{}
	for _, p := range final {
		times[p]++
	}
	missing, twice, lost := 0, 0, 0
	for task := range l.profile.TaskIDs {
		for r := range l.rollouts {
			switch times[l.place(task, r)] {
			case 0:
				missing++
			case 1:
			default:
				twice++
			}
		}
	}
	for _, p := range before {
		if times[p] == 0 {
			lost++
		}
	}
	if missing+twice+lost > 0 || len(final) != l.total() {
		return fmt.Errorf("%d rollouts are stored of %d: %d missing or of another seed, %d twice, %d lost of %d that were there before",
			len(final), l.total(), missing, twice, lost, len(before))
	}
	return nil
}

// place is a rollout with the seed that it must have: it says again what the
// stage does.
func (l *lab) place(task, number int) rollout.Place {
	node := seed.Root(masterSeed).Child("generate").Child(quiz).Child(modelID).Child(l.profile.TaskIDs[task])
	stream := node.Index(number).Stream()
	return rollout.Place{
		Benchmark: quiz, Model: modelID, TaskIndex: int32(task), Rollout: int32(number),
		Seed: int64(stream.Uint64() >> 1),
	}
}
