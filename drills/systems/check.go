package main

import (
	"errors"
	"fmt"
	"io"

	"speceval/drills/timed"
)

// check holds what is left to what it must be, and prints a line for every
// check.
func (l *lab) check(s *story, stdout io.Writer) error {
	measured, err := timed.ReadAll(l.out(), timed.Measured, l.settings, false)
	if err != nil {
		return err
	}
	virtual, err := timed.ReadAll(l.out(), timed.Simulated, l.settings, false)
	if err != nil {
		return err
	}
	if err := timed.Table(stdout, measured); err != nil {
		return err
	}
	share, largest := timed.Handling(measured)
	fmt.Fprintf(stdout, "the router was at work in %.2f%% of the time, in one run in %.2f%%\n", 100*share, 100*largest)
	shape := timed.Shape{Replicas: replicas, Window: window, Repeats: 1, Provenance: timed.Simulated}
	checks := timed.Checks(measured, shape)
	checks = append(checks,
		timed.Check{What: "the virtual clock selects the same rollouts, with the same rewards", Fault: timed.SameSelection(measured, virtual)},
		timed.Check{What: "HBN-async speculated, and its surplus ended", Fault: timed.Speculated(measured, !l.short)},
		timed.Check{What: "the lost replica voided one run alone", Fault: s.checkVoids()},
		timed.Check{What: "runs that were kept are there as they were", Fault: s.checkKept(measured)},
		timed.Check{What: "no server had a request left right after the end", Fault: idle(s.after)},
		timed.Check{What: "servers made no more tokens than the files tell of", Fault: s.checkTokens(measured, stdout)},
		timed.Check{What: "another run asked for nothing", Fault: s.checkIdle()},
		timed.Check{What: "Tables 2 and 3 have the runs", Fault: timed.Tables(l.out(), timed.Simulated, l.budgets)},
	)
	return timed.Print(stdout, checks)
}

func (s *story) checkVoids() error {
	if len(s.voids) != 1 {
		return fmt.Errorf("%d void runs: %q", len(s.voids), s.voids)
	}
	return nil
}

func (s *story) checkKept(all []*timed.Results) error {
	started := map[string]string{}
	for _, r := range all {
		for _, run := range r.Runs {
			started[timed.RunName(r, run)] = run.Started
		}
	}
	var faults []error
	for run, then := range s.kept {
		if started[run] != then {
			faults = append(faults, fmt.Errorf("%s was begun at %s, and is now of %s", run, then, started[run]))
		}
	}
	if len(s.kept) < 2 || len(s.kept) >= len(started) {
		faults = append(faults, fmt.Errorf("%d of %d were kept", len(s.kept), len(started)))
	}
	return errors.Join(faults...)
}

func idle(samples []timed.Sample) error {
	for _, s := range samples {
		if s.Requests > 0 {
			return fmt.Errorf("replica %d has %d", s.Replica, s.Requests)
		}
	}
	return nil
}

// What servers make that no file tells of, at most.
const (
	unseenTokens = 256     // of a request that was aborted
	warmUpTokens = 64 + 16 // of a replica before the runs of a setting: the warm-up, and a proof of the thinking budget
)

// checkTokens compares the tokens that the servers have made during the last
// attempt with those of its runs.
func (s *story) checkTokens(all []*timed.Results, stdout io.Writer) error {
	made := timed.Grown(append(s.before, s.after...))
	known, unseen := timed.Generated(all, func(r *timed.Results, run timed.Run) bool { return s.kept[timed.RunName(r, run)] == "" })
	slack := unseen*unseenTokens + len(all)*replicas*warmUpTokens
	fmt.Fprintf(stdout, "the servers made %.0f tokens, the files tell of %d; %d requests were not seen to their end\n", made, known, unseen)
	if more := made - float64(known); more < 0 || more > float64(slack) {
		return fmt.Errorf("%.0f more, at most %d can be explained", more, slack)
	}
	return nil
}

func (s *story) checkIdle() error {
	if made := timed.Grown(append(s.after, s.again...)); made > 0 {
		return fmt.Errorf("servers made %.0f tokens", made)
	}
	return nil
}
