package maths_test

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// share is the part of the decided pairs on which our scorer must agree with
// the construction.
const share = 0.99

// judgement is what both checkers say of a pair.
type judgement struct {
	pair
	ours, theirs   bool
	read, theyRead string // the prediction, as it was understood
}

// judgements are what both checkers say of all pairs. Without Math-Verify, it is made
// to agree with ours.
func judgements(all []pair, theirs []answer) (judged []judgement) {
	for i, p := range all {
		verdict := check(p.gold, p.prediction)
		one := judgement{pair: p, ours: verdict.Correct(), read: verdict.Answer, theirs: verdict.Correct()}
		if theirs != nil {
			one.theirs, one.theyRead = theirs[i].Equal, theirs[i].Read
		}
		judged = append(judged, one)
	}
	return judged
}

// outcome is a column of the report.
type outcome int

const (
	agree       outcome = iota // both say what the construction says, or the same where it is undecided
	oursRight                  // and Math-Verify wrong
	theirsRight                // and we wrong
	bothWrong
	undecidable // they differ where the construction says nothing
	outcomes
)

var outcomeNames = [outcomes]string{"agree", "ours right", "theirs right", "both wrong", "undecidable"}

func (j judgement) outcome() outcome {
	right := j.truth == equal
	switch {
	case j.ours == j.theirs && (j.ours == right || j.truth == undecided):
		return agree
	case j.truth == undecided:
		return undecidable
	case j.ours == right:
		return oursRight
	case j.theirs == right:
		return theirsRight
	}
	return bothWrong
}

// line is a line of the report: how many pairs of a kind have each outcome.
type line struct {
	kind           string
	pairs, decided int
	count          [outcomes]int
	examples       [outcomes][]judgement
}

func (l *line) add(j judgement) {
	l.pairs++
	if j.truth != undecided {
		l.decided++
	}
	o := j.outcome()
	l.count[o]++
	l.examples[o] = append(l.examples[o], j)
}

// report has a line for every kind, and the sum of them all.
type report struct {
	kinds []*line
	total line
}

func newReport(judged []judgement) *report {
	r := &report{total: line{kind: "all"}}
	at := map[string]*line{}
	for _, j := range judged {
		if at[j.kind] == nil {
			at[j.kind] = &line{kind: j.kind}
			r.kinds = append(r.kinds, at[j.kind])
		}
		at[j.kind].add(j)
		r.total.add(j)
	}
	return r
}

// print writes the table, and up to show examples of every disagreement.
func (r *report) print(w io.Writer, show int, both bool) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "kind\tpairs\tdecided\t")
	for _, name := range outcomeNames {
		fmt.Fprintf(table, "%s\t", name)
	}
	fmt.Fprintln(table)
	for _, l := range append(r.kinds, &r.total) {
		fmt.Fprintf(table, "%s\t%d\t%d\t", l.kind, l.pairs, l.decided)
		for _, n := range l.count {
			fmt.Fprintf(table, "%d\t", n)
		}
		fmt.Fprintln(table)
	}
	table.Flush()
	for _, o := range []outcome{undecidable, oursRight, bothWrong, theirsRight} { // the worst at the end
		for _, l := range r.kinds {
			for _, j := range l.examples[o][:min(show, len(l.examples[o]))] {
				fmt.Fprintf(w, "%s, %s, %s: gold %q, prediction %q; ours %v (%q)", outcomeNames[o], j.kind, j.truth, j.gold, j.prediction, j.ours, j.read)
				if both {
					fmt.Fprintf(w, ", theirs %v (%s)", j.theirs, j.theyRead)
				}
				fmt.Fprintln(w)
			}
		}
	}
	fmt.Fprintf(w, "our scorer agrees with the construction on %d of %d decided pairs\n", r.right(), r.total.decided)
}

// right counts the decided pairs of which our scorer says the truth.
func (r *report) right() int {
	return r.total.decided - r.total.count[theirsRight] - r.total.count[bothWrong]
}

// fault says why the drill has failed; nil if it has not.
func (r *report) fault() error {
	var faults []error
	if n := r.total.count[theirsRight]; n > 0 {
		faults = append(faults, fmt.Errorf("Math-Verify is right and our scorer wrong on %d pairs", n))
	}
	if least := share * float64(r.total.decided); float64(r.right()) < least {
		faults = append(faults, fmt.Errorf("our scorer is right on %d of %d decided pairs, want %.0f or more", r.right(), r.total.decided, least))
	}
	return errors.Join(faults...)
}
