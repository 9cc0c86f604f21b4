package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"speceval/drills/timed"
)

// story is what happened.
type story struct {
	kept     map[string]string // runs of which the start was known when the last attempt began, to that
	voids    []string          // lines about void runs, of the attempt whose replica was killed
	before   []timed.Sample    // of all servers, when the last attempt began
	after    []timed.Sample    // and when it had ended
	again    []timed.Sample    // and after another one
	lastTook time.Duration
}

// disturbed runs the stage: it is killed in the middle of a run, then a replica
// is, and then it ends.
func (l *lab) disturbed(ctx context.Context, stdout io.Writer) (*story, error) {
	s := &story{}
	if err := l.killed(ctx, stdout); err != nil {
		return nil, fmt.Errorf("the run that is killed: %w", err)
	}
	kept, err := timed.Kept(l.out(), l.settings)
	if err != nil {
		return nil, err
	}
	if s.voids, err = l.bereft(ctx, stdout); err != nil {
		return nil, fmt.Errorf("the run that loses a replica: %w", err)
	}
	if s.kept, err = timed.Kept(l.out(), l.settings); err != nil {
		return nil, err
	}
	for run, started := range kept {
		if s.kept[run] != started {
			return nil, fmt.Errorf("%s was kept when the program was killed, and is not there after the next attempt", run)
		}
	}
	begin := time.Now()
	if s.before, err = timed.Look(ctx, l.urls); err != nil {
		return nil, err
	}
	if _, err := l.speceval(ctx, "last", "run", "systems", "report"); err != nil {
		return nil, err
	}
	if s.after, err = timed.Look(ctx, l.urls); err != nil {
		return nil, err
	}
	s.lastTook = time.Since(begin)
	fmt.Fprintf(stdout, "the last run kept %d runs, and ended after %.1f s\n", len(s.kept), s.lastTook.Seconds())
	if _, err := l.speceval(ctx, "again", "run", "systems", "report"); err != nil {
		return nil, err
	}
	s.again, err = timed.Look(ctx, l.urls)
	return s, err
}

// killed runs the stage until a run is kept and the next one is under way, and
// kills it.
func (l *lab) killed(ctx context.Context, stdout io.Writer) error {
	p, err := l.begin("killed", "run", "systems")
	if err != nil {
		return err
	}
	defer p.Kill()
	busy := 0
	err = p.Until(ctx, func() (bool, error) {
		kept, err := timed.Kept(l.out(), l.settings)
		if err != nil || len(kept) == 0 {
			return false, err
		}
		busy, err = l.busy(ctx)
		return busy > replicas, err // more than a warm-up
	})
	if err != nil {
		return err
	}
	p.Kill()
	killed := time.Now()
	kept, err := timed.Kept(l.out(), l.settings)
	if err != nil {
		return err
	}
	for busy := busy; busy > 0; {
		if busy, err = l.busy(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "speceval killed with %d requests at the servers, which had none %.2f s later; %d runs were kept\n", busy, time.Since(killed).Seconds(), len(kept))
	return nil
}

// busy is how many requests the servers have.
func (l *lab) busy(ctx context.Context) (int, error) {
	samples, err := timed.Look(ctx, l.urls)
	n := 0
	for _, s := range samples {
		n += s.Requests
	}
	return n, err
}

// bereft runs the stage, kills a replica in the middle of a run and starts it
// again. It returns the notes of void runs.
func (l *lab) bereft(ctx context.Context, stdout io.Writer) ([]string, error) {
	p, err := l.begin("bereft", "run", "systems")
	if err != nil {
		return nil, err
	}
	defer p.Kill()
	err = p.Until(ctx, func() (bool, error) {
		samples, err := timed.Look(ctx, l.urls[:1])
		return err == nil && samples[0].Requests >= window/8, err
	})
	if err != nil {
		return nil, err
	}
	l.victim.Kill()
	fmt.Fprintf(stdout, "replica %s killed in the middle of a run\n", l.urls[0])
	victim, err := url.Parse(l.urls[0])
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(victim.Port())
	if err != nil {
		return nil, err
	}
	if l.victim, _, err = l.start(ctx, "victim-again", l.models()[0], 1, port); err != nil {
		return nil, err
	}
	if err := p.Wait(ctx); err != nil {
		return nil, err
	}
	if p.Code() != 1 || !strings.Contains(p.Last(), "runs are void") {
		return nil, fmt.Errorf("exit code %d: %s", p.Code(), p.Last())
	}
	return timed.Voids(l.out())
}
