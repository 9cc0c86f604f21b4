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
	all := pairs(seed.Root(*rootSeed), of, *number)
	fmt.Printf("%d pairs of %d kinds, seed %d\n", len(all), len(of), *rootSeed)
	var theirs []answer
	if !*ours {
		var versions string
		if theirs, versions, err = answers(ctx, all); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("compared with %s\n", versions)
	}
	r := newReport(judgements(all, theirs))
	r.print(os.Stdout, *show, theirs != nil)
	if err := r.fault(); err != nil {
		t.Error(err)
	}
}
