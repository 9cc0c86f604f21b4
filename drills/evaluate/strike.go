package main

import (
	"context"
	"fmt"
	"time"

	"speceval/drills/evaluated"
)

// strike starts an evaluation, or goes on with it, and kills it after some seconds.
// It tells whether it was still running.
func strike(ctx context.Context, program *evaluated.Program, order evaluated.Order, after float64) (hit bool, err error) {
	p, _, err := program.Start(order)
	if err != nil {
		return false, err
	}
	defer p.Kill()
	select {
	case <-p.Ended():
		if p.Code() != 0 {
			return false, fmt.Errorf("%s: exit code %d: %s", order.Name(), p.Code(), p.Last())
		}
		return false, nil
	case <-time.After(time.Duration(after * float64(time.Second))):
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
