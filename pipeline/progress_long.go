package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"speceval/internal/phrase"
	"speceval/pipeline/dag"
)

// longUnits are the units that have told how far they are.
type longUnits map[dag.Ref]*longUnit

// longUnit is one of them.
type longUnit struct {
	dag.Progress
	first time.Time // of the first report
	begun int       // done by then
	last  time.Time // of the last line written
}

// note takes a report.
func (l longUnits) note(unit dag.Ref, p dag.Progress, now time.Time) *longUnit {
	u := l[unit]
	if u == nil {
		u = &longUnit{first: now, begun: p.Done, last: now}
		l[unit] = u
	}
	u.Progress = p
	return u
}

// unfinished says of each unit that it is to be gone on with.
func (l longUnits) unfinished() []string {
	var lines []string
	for unit, u := range l {
		lines = append(lines, fmt.Sprintf("%s: %s of %s %s are stored, and the next run goes on from there", unit, phrase.Thousands(u.Done), phrase.Thousands(u.Total), u.What))
	}
	slices.Sort(lines)
	return lines
}

// due tells whether it is time for another line, and takes it that one follows.
func (u *longUnit) due(now time.Time) bool {
	if !intervalOver(u.last, now) {
		return false
	}
	u.last = now
	return true
}

func (u *longUnit) part() float64 {
	if u.Total <= 0 {
		return 0
	}
	return min(1, float64(u.Done)/float64(u.Total))
}

// text is "1,204/20,480 rollouts, 310/s, 1.2 M tokens, about 1 min 2 s left".
func (u *longUnit) text(now time.Time) string {
	parts := []string{fmt.Sprintf("%s/%s %s", phrase.Thousands(u.Done), phrase.Thousands(u.Total), u.What)}
	rate := u.rate(now)
	if rate > 0 {
		parts = append(parts, phrase.Rounded(rate)+"/s")
	}
	if u.Detail != "" {
		parts = append(parts, u.Detail)
	}
	if rate > 0 {
		parts = append(parts, "about "+phrase.Duration(float64(u.Total-u.Done)/rate)+" left")
	}
	return strings.Join(parts, ", ")
}

// rate is how much gets done in a second.
func (u *longUnit) rate(now time.Time) float64 {
	elapsed := now.Sub(u.first).Seconds()
	if elapsed <= 0 {
		return 0
	}
	return float64(u.Done-u.begun) / elapsed
}

// together is how far all are, in few words: "1,204/20,480 rollouts, 310/s".
func (l longUnits) together(now time.Time) string {
	var done, total int
	var rate float64
	what := ""
	for _, u := range l {
		done, total, rate, what = done+u.Done, total+u.Total, rate+u.rate(now), u.What
	}
	text := fmt.Sprintf("%s/%s %s", phrase.Thousands(done), phrase.Thousands(total), what)
	if rate > 0 {
		text += ", " + phrase.Rounded(rate) + "/s"
	}
	return text
}
