package timed

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
)

// Table shows what the runs were like.
func Table(w io.Writer, all []*Results) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "profile\tb\tstrategy\ttime s\thandling\taccepted\tprefetched\tdiscarded\taborted\ttokens there\tcancelled\traces\tended s\tupdates\t")
	for _, r := range all {
		for _, run := range r.Runs {
			tokens, ended := r.aborts(run)
			fmt.Fprintf(table, "%s\t%d\t%s\t%.3f\t%.2f%%\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.3f\t%d\t\n",
				r.Profile.Name(), r.Budget, run.Strategy, run.Time, 100*run.Handling/run.Time, run.Accepted,
				run.Prefetched, run.Discarded, run.Aborted, tokens, run.Cancelled, run.Races, ended, run.Updates)
		}
	}
	return table.Flush()
}

// aborts are the tokens that aborted requests of a run had made, as last seen,
// and the seconds from the allocation to the end of the last of them.
func (r *Results) aborts(run Run) (tokens int32, ended float64) {
	for _, q := range r.Requests(run) {
		if q.AbortedTokens != nil {
			tokens += *q.AbortedTokens
			ended = max(ended, q.Finished-run.Allocated)
		}
	}
	return tokens, ended
}

// Generated are the tokens of all requests of runs, as far as they were seen,
// and how many requests were not seen to their end.
func Generated(all []*Results, count func(*Results, Run) bool) (tokens, unseen int) {
	for _, r := range all {
		for _, run := range r.Runs {
			if !count(r, run) {
				continue
			}
			for _, q := range r.Requests(run) {
				tokens += int(q.CompletionTokens)
				if q.AbortedTokens != nil {
					tokens += int(*q.AbortedTokens)
					unseen++
				}
			}
		}
	}
	return tokens, unseen
}

// Handling is the share of all runs' time in which the router was at work, and
// the largest of one run.
func Handling(all []*Results) (share, largest float64) {
	var time, handling float64
	for _, r := range all {
		for _, run := range r.Runs {
			time, handling = time+run.Time, handling+run.Handling
			largest = max(largest, run.Handling/run.Time)
		}
	}
	return handling / cmp.Or(time, 1), largest
}
