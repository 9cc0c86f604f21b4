package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"speceval/internal/display"
)

const (
	hostHead  = 13.0 // name of a host
	hostGap   = 4.0
	mostHosts = 12 // hosts of a stage with a part of the lane each
)

// hostsOf are the names of the hosts of bars, sorted.
func hostsOf(bars []Bar) []string {
	names := make(map[string]bool)
	for _, b := range bars {
		names[b.Host] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// byHost are the bars of each host in order; of all together, under no name, where
// there is one host or there are too many.
func byHost(bars []Bar) (names []string, parts [][]Bar) {
	names = hostsOf(bars)
	if len(names) == 1 || len(names) > mostHosts {
		return []string{""}, [][]Bar{bars}
	}
	parts = make([][]Bar, len(names))
	for _, b := range bars {
		i, _ := slices.BinarySearch(names, b.Host)
		parts[i] = append(parts[i], b)
	}
	return names, parts
}

// addRows draws each unit as a bar from y down, host by host, and returns where
// that ends. Bars are sorted by start.
func (l *lane) addRows(y float64, bars []Bar, axis []session) float64 {
	names, parts := byHost(bars)
	total := 0
	layout := make([][]int, len(parts))
	counts := make([]int, len(parts))
	for i, part := range parts {
		layout[i], counts[i] = rowsOf(part)
		total += counts[i]
	}
	height := min(11, max(1.2, max(88, 56*float64(len(parts)))/float64(total)))
	titled := longest(bars, mostTitled)
	d := barDrawing{axis: axis, height: height}
	for i, part := range parts {
		y = l.label(y, names[i], i)
		d.rows(l, y, part, layout[i], titled)
		y += float64(counts[i]) * height
	}
	if len(d.short) > 0 {
		l.Rest, l.RestTitle = d.rest.String(), shortTitle(l.Name, d.short)
	}
	if d.waits.Len() > 0 {
		l.Waits, l.WaitsTitle = d.waits.String(), waitsTitle(l.Name, bars)
	}
	return y
}

// label writes the name of the i-th host, if it has one, and returns where its
// part of the lane begins.
func (l *lane) label(y float64, name string, i int) float64 {
	if name == "" && i == 0 {
		return y
	}
	if i > 0 {
		y += hostGap
	}
	if name == "" {
		name = "unknown host"
	}
	l.Hosts = append(l.Hosts, hostLabel{px(y + hostHead - 4), name})
	return y + hostHead
}

// barDrawing draws bars in rows.
type barDrawing struct {
	axis        []session
	height      float64 // of a row
	rest, waits strings.Builder
	short       []Bar // those in rest
}

// rows draws the bars of a host from y down.
func (d *barDrawing) rows(l *lane, y float64, bars []Bar, rows []int, titled map[string]bool) {
	waits := make(map[int][]span)
	for i, b := range bars {
		s := sessionOf(d.axis, b)
		x := s.place(b.Start)
		width := max(0.5, s.place(b.end())-x)
		top, tall := y+float64(rows[i])*d.height, d.height*0.84
		if b.Wait != nil {
			waits[rows[i]] = append(waits[rows[i]], span{s.place(b.begin()), s.place(b.waited())})
		}
		if width >= leastTitled && titled[b.Unit] {
			l.Titled = append(l.Titled, drawnBar{px(x), px(top), px(width), px(tall), b.title()})
			continue
		}
		d.short = append(d.short, b)
		box(&d.rest, span{x, x + width}, top, tall)
	}
	for _, row := range slices.Sorted(maps.Keys(waits)) {
		for _, w := range merged(waits[row]) {
			box(&d.waits, w, y+float64(row)*d.height, d.height*0.84)
		}
	}
}

// box adds a rectangle to a path.
func box(path *strings.Builder, across span, top, tall float64) {
	width := px(across.to - across.from)
	fmt.Fprintf(path, "M%s %sh%sv%sh-%sz", px(across.from), px(top), width, px(tall), width)
}

// span is a stretch of the axis.
type span struct{ from, to float64 }

// merged are stretches that do not overlap, and cover the same.
func merged(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range all {
		if last := len(out) - 1; last >= 0 && s.from <= out[last].to {
			out[last].to = max(out[last].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// waited is when the unit's job left the queue.
func (b Bar) waited() time.Time {
	if b.Wait == nil {
		return b.Start
	}
	left := b.Wait.Submitted.Add(time.Duration(b.Wait.Seconds * float64(time.Second)))
	switch { // of the clocks of two machines
	case left.After(b.Start):
		return b.Start
	case left.Before(b.begin()):
		return b.begin()
	}
	return left
}

// waitsTitle is what the time in the queue says when pointed at.
func waitsTitle(stage string, bars []Bar) string {
	jobs, longest := make(map[string]bool), 0.0
	for _, b := range bars {
		if b.Wait != nil {
			jobs[b.Wait.Job] = true
			longest = max(longest, b.Wait.Seconds)
		}
	}
	return fmt.Sprintf("%s: %s in the queue, none longer than %s", stage, display.Count(len(jobs), "job", "jobs"), Duration(longest))
}

// rowsOf gives each bar a row that is free when it starts, that of its job if it can
// be; most is how many rows that takes. Bars are sorted by start.
func rowsOf(bars []Bar) (rows []int, most int) {
	var free []time.Time // by row: when its last bar ends
	jobs := make(map[string]int)
	for _, b := range bars {
		isFree := func(end time.Time) bool { return !end.After(b.Start) }
		row := -1
		if b.Wait != nil {
			if own, known := jobs[b.Wait.Job]; known && isFree(free[own]) {
				row = own
			}
		}
		if row < 0 {
			row = slices.IndexFunc(free, isFree)
		}
		if row < 0 {
			row = len(free)
			free = append(free, time.Time{})
		}
		free[row] = b.end()
		if b.Wait != nil {
			jobs[b.Wait.Job] = row
		}
		rows = append(rows, row)
	}
	return rows, len(free)
}
