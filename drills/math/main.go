// Command math holds the scorer of mathematical answers to the truth, and
// beside Math-Verify, a checker in Python that many use.
//
// It makes thousands of pairs of a right answer and another one, of which it
// knows by construction whether they are equal: forms of one value, or values
// that are close to one another, in tidy LaTeX and in odd. Both checkers judge
// them all, and the drill sorts what they do not agree on by the truth. It
// passes if our scorer is never wrong where Math-Verify is right, and right in
// 99 of 100 cases.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	drill "speceval/drills/lab"
	"speceval/internal/scorer/maths"
	"speceval/internal/seed"
)

func main() {
	os.Exit(run(os.Args[1:], os.Getenv("SPECEVAL_PYTHON"), os.Stdout, os.Stderr))
}

// options are the flags of the drill.
type options struct {
	python string // with math-verify
	pairs  int
	seed   uint64
	kinds  string
	show   int
	ours   bool // no Math-Verify
	limit  time.Duration
}

func run(args []string, python string, stdout, stderr io.Writer) int {
	o := options{python: python}
	if o.python == "" {
		o.python = "python3"
	}
	flags := flag.NewFlagSet("drill-math", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.pairs, "pairs", 5000, "pairs to make")
	flags.Uint64Var(&o.seed, "seed", 1, "of the pairs")
	flags.StringVar(&o.kinds, "kinds", "", "of pairs to make, with commas between; all if empty")
	flags.IntVar(&o.show, "show", 3, "examples to show of each kind of disagreement, per kind of answer")
	flags.BoolVar(&o.ours, "ours", false, "without Math-Verify: our scorer against the construction alone")
	flags.DurationVar(&o.limit, "limit", 30*time.Minute, "time after which the drill gives up")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	return drill.Run("drill-math", o.limit, stdout, func(ctx context.Context) error { return do(ctx, o, stdout) })
}

// do is the drill.
func do(ctx context.Context, o options, stdout io.Writer) error {
	of, err := named(o.kinds)
	if err != nil {
		return err
	}
	if o.pairs < len(of) {
		return fmt.Errorf("-pairs %d: want %d or more, one of each kind", o.pairs, len(of))
	}
	all := pairs(seed.Root(o.seed), of, o.pairs)
	fmt.Fprintf(stdout, "%d pairs of %d kinds, seed %d\n", len(all), len(of), o.seed)
	judged, err := judgedByBoth(ctx, o, all, stdout)
	if err != nil {
		return err
	}
	r := sorted(judged)
	r.print(stdout, o.show, !o.ours)
	return r.fault()
}

// judgedByBoth asks both checkers about all pairs. Without Math-Verify, it is
// made to agree with ours.
func judgedByBoth(ctx context.Context, o options, all []pair, stdout io.Writer) (judged []judgement, err error) {
	j := &judge{python: o.python, patience: time.Minute}
	if !o.ours {
		if err := j.start(ctx); err != nil {
			return nil, err
		}
		defer func() { j.stop() }()
		fmt.Fprintf(stdout, "beside %s\n", j.versions)
	}
	for _, p := range all {
		verdict := maths.Check(p.gold, p.prediction)
		one := judgement{pair: p, ours: verdict.Correct(), read: verdict.Answer, theirs: verdict.Correct()}
		if !o.ours {
			said, err := j.says(ctx, p)
			if err != nil {
				return nil, fmt.Errorf("%q against %q: %w", p.prediction, p.gold, err)
			}
			one.theirs, one.theyRead = said.Equal, said.Read
		}
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), err)
		}
		judged = append(judged, one)
	}
	return judged, nil
}
