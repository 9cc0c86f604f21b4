//go:build drill

package maths_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"speceval/internal/policy/seed"
)

var (
	number   = flag.Int("pairs", 5000, "pairs to make")
	rootSeed = flag.Uint64("seed", 1, "of the pairs")
	ofKinds  = flag.String("kinds", "", "of pairs to make, with commas between; all if empty")
	show     = flag.Int("show", 3, "examples to show of each kind of disagreement, per kind of answer")
	ours     = flag.Bool("ours", false, "without Math-Verify: our scorer against the construction alone")
	limit    = flag.Duration("limit", 30*time.Minute, "time after which the drill gives up")
)

// TestDrill is `make drill-math`: our scorer against the construction of thousands of
// pairs, and compared with Math-Verify, a checker in Python that many use. It passes
// if our scorer is never wrong where Math-Verify is right, and right in 99 of 100 cases.
func TestDrill(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, *limit, fmt.Errorf("not done after %v", *limit))
	defer cancel()
	of, err := named(*ofKinds)
	if err != nil {
		t.Fatal(err)
	}
	if *number < len(of) {
		t.Fatalf("-pairs %d: want %d or more, one of each kind", *number, len(of))
	}
	var j *judge
	if !*ours {
		j = &judge{python: mathVerify(), patience: time.Minute}
		if err := j.start(ctx); err != nil {
			t.Fatal(err)
		}
		defer func() { j.stop() }()
	}
	all := pairs(seed.Root(*rootSeed), of, *number)
	fmt.Printf("%d pairs of %d kinds, seed %d\n", len(all), len(of), *rootSeed)
	if j != nil {
		fmt.Printf("compared with %s\n", j.versions)
	}
	judged, err := judgements(ctx, all, j)
	if err != nil {
		t.Fatal(err)
	}
	r := newReport(judged)
	r.print(os.Stdout, *show, j != nil)
	if err := r.fault(); err != nil {
		t.Error(err)
	}
}
