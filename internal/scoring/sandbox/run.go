package sandbox

import (
	"context"
	"errors"
	"time"
)

// Run runs the program on its i-th input. The error is one of the sandbox or
// of the context, never of the program.
//
// How a test ends does not depend on what else the machine does. Limits are of
// CPU time. A shared machine makes a program take more of it, so a test may take
// twice its limit, and one that takes more than 80 % of it, finished or not, is
// run again with no other program at the same time, and the second result counts;
// only a test that needs more than twice its limit fails at once. A test that ran
// out of wall time, or was ended by a signal from outside the sandbox, is run again
// as well. Sleep is limited to the limit of CPU time, and only time when no thread
// was ready to run counts as sleep.
func (s *Session) Run(ctx context.Context, i int) (Result, error) {
	box, limit := s.sandbox, s.sandbox.settings.CPU
	var result Result
	err := box.holding(ctx, 1, func() (err error) {
		result, err = s.once(ctx, i, 2*limit)
		return err
	})
	if err == nil && atEdge(result, limit) {
		err = box.holding(ctx, box.settings.AtATime, func() (err error) { // by itself
			s.drop() // numbers of processes and files would tell what the first run has found
			result, err = s.once(ctx, i, limit)
			return err
		})
	}
	if err != nil {
		return Result{}, err
	}
	switch result.End {
	case slept, starved:
		result.End = TimeLimit
	case returned:
		result.End = Finished
	}
	if result.End != Finished {
		result.Output = ""
	}
	return result, nil
}

// atEdge reports whether a result may be another one when the test runs alone.
func atEdge(r Result, limit time.Duration) bool {
	switch r.End {
	case TimeLimit:
		return r.CPU < 2*limit
	case starved, Killed, Broke:
		return true
	}
	return r.CPU >= limit*8/10
}

// once runs a test.
func (s *Session) once(ctx context.Context, i int, limit time.Duration) (Result, error) {
	if s.inside == nil {
		if err := s.open(ctx); err != nil {
			return Result{}, err
		}
	}
	// The driver keeps the same time. Should it not answer, it is no more.
	bounded, cancel := context.WithTimeout(ctx, s.sandbox.settings.wall()+10*time.Second)
	defer cancel()
	stop := context.AfterFunc(bounded, s.inside.Kill)
	result, err := s.inside.ask(limit, s.program.Inputs[i])
	if !stop() && err == nil {
		err = errors.New("killed")
	}
	if err == nil {
		return result, nil
	}
	ended := s.inside
	s.drop()
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	return Result{End: Broke, Message: lastLine(ended.Complaint())}, nil
}
