package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"speceval/internal/rollout"
	"speceval/internal/seed"
)

// moment is when the stage is killed: when so many rollouts are stored, and a
// while more has passed since then and since the start.
type moment struct {
	stored int
	delay  time.Duration
}

// moments draws a moment in every stretch of the run, which is cut into as many
// equal ones as there are kills.
func (l *lab) moments() []moment {
	const latest = 0.95 // so that the stage cannot be done before the last
	s := seed.Root(l.seed).Child("drill-generate").Child("kills").Stream()
	stretch := latest * float64(l.total()) / float64(l.kills)
	var all []moment
	for i := range l.kills {
		all = append(all, moment{
			stored: int((float64(i) + s.Float64()) * stretch),
			delay:  time.Duration(s.Float64() * float64(100*time.Millisecond)),
		})
	}
	return all
}

// kill is what was found after a kill.
type kill struct {
	moment
	ran   time.Duration   // from the start of the stage to its end
	seen  int             // requests that had reached the fleet
	found []rollout.Place // what was stored
}

// disturbance is the run that was killed over and over.
type disturbance struct {
	kills    []kill
	restarts int     // runs that gave up by themselves
	asked    []int64 // seeds of all requests, in order of arrival
	others   int     // requests without a seed
	idle     int     // requests of another run after the end
	took     time.Duration
}

const (
	patience = 9               // times that the stage may give up by itself
	pause    = 5 * time.Second // before it is started again then: replicas may be down
)

// disturbed runs the stage on a fleet with faults, kills it at all moments and
// then lets it end. It prints a line for every kill.
func (l *lab) disturbed(ctx context.Context, stdout io.Writer) (*disturbance, error) {
	fleet, err := l.fleet(ctx, "disturbed", l.faults)
	if err != nil {
		return nil, err
	}
	defer fleet.Kill()
	d := &disturbance{}
	seen := &arrivals{path: l.requestLog("disturbed")}
	stored := newProgress(l.path("disturbed"))
	begun := time.Now()
	moments := l.moments()
	for attempt := 0; ; attempt++ {
		var next *moment
		if len(d.kills) < len(moments) {
			next = &moments[len(d.kills)]
		}
		killed, code, err := l.attempt(ctx, attempt, next, stored, seen)
		switch {
		case fleet.Gone():
			return nil, fmt.Errorf("the fleet ended by itself, exit code %d: %s", fleet.Code(), fleet.Last())
		case err != nil:
			return nil, err
		case killed != nil:
			d.kills = append(d.kills, *killed)
		case code != 0 && d.restarts == patience:
			return nil, fmt.Errorf("the stage gave up with exit code %d for the %dth time, see %s", code, patience+1, l.dir)
		case code != 0:
			d.restarts++
			wait(ctx, pause)
		case next != nil:
			return nil, fmt.Errorf("the stage was done before kill %d", len(d.kills)+1)
		default:
			d.took = time.Since(begun)
			d.asked, d.others = seen.seeds, seen.others
			l.print(d, stdout)
			_, code, err := l.attempt(ctx, attempt+1, nil, stored, seen)
			if d.idle = len(seen.seeds) + seen.others - len(d.asked) - d.others; code != 0 {
				err = fmt.Errorf("run again after its end, the stage gave up with exit code %d, see %s", code, l.dir)
			}
			return d, err
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// attempt runs the stage until its next moment or its end, whichever is first.
// It tells what was found after a kill, or the exit code.
func (l *lab) attempt(ctx context.Context, number int, next *moment, stored *progress, seen *arrivals) (*kill, int, error) {
	p, err := l.stage("disturbed", number)
	if err != nil {
		return nil, 0, err
	}
	defer p.Kill()
	begun := time.Now()
	var reached time.Time // when enough was stored
	for {
		select {
		case <-p.Ended():
			return nil, p.Code(), seen.settle(ctx)
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
		if err := stored.look(); err != nil {
			return nil, 0, err
		}
		if next == nil || stored.rollouts < next.stored {
			continue
		}
		if reached.IsZero() {
			reached = time.Now()
		}
		if time.Since(reached) < next.delay {
			continue
		}
		p.Kill()
		if p.Code() >= 0 {
			return nil, p.Code(), nil // it ended a moment earlier
		}
		k := &kill{moment: *next, ran: time.Since(begun)}
		if k.found, err = rollout.Stored(l.path("disturbed")); err != nil {
			return nil, 0, err
		}
		err = seen.settle(ctx)
		k.seen = len(seen.seeds)
		return k, 0, err
	}
}

// print shows all kills as a table.
func (l *lab) print(d *disturbance, stdout io.Writer) {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kill\tafter s\trequests\tstored\tin flight\tsent again\t")
	for i, k := range d.kills {
		fmt.Fprintf(w, "%d\t%.2f\t%d\t%d\t%d\t%d\t\n", i+1, k.ran.Seconds(), k.seen, len(seedsOf(k.found)),
			len(unstored(d.asked[:k.seen], k.found)), len(sentAgain(d.asked[k.seen:], k.found)))
	}
	w.Flush()
	fmt.Fprintf(stdout, "%d requests in %.1f s for %d rollouts, %d without a seed; the run gave up %d times by itself\n",
		len(d.asked), d.took.Seconds(), l.total(), d.others, d.restarts)
}

// unstored lists the different seeds that were asked for and are not stored.
func unstored(asked []int64, stored []rollout.Place) []int64 {
	seeds := slices.Clone(asked)
	slices.Sort(seeds)
	there := seedsOf(stored)
	return slices.DeleteFunc(slices.Compact(seeds), func(s int64) bool { return there[s] })
}

// sentAgain lists the seeds that were asked for though they were stored.
func sentAgain(asked []int64, stored []rollout.Place) []int64 {
	there := seedsOf(stored)
	return slices.DeleteFunc(slices.Clone(asked), func(s int64) bool { return !there[s] })
}

func seedsOf(places []rollout.Place) map[int64]bool {
	seeds := make(map[int64]bool, len(places))
	for _, p := range places {
		seeds[p.Seed] = true
	}
	return seeds
}
