package tsneyman

// The window follows the scores as they fall. Any rule is right that does not
// look ahead; this one is cheap. With T as in the package's comment, it keeps T
// at the first level below high and T at the level stride further down above
// low, and lets the even cells reach down to where T is at least few, but not
// waste more than half of them on where T exceeds many.
const (
	high     = unit
	low      = unit * 2 / 5
	few      = unit
	many     = 4 * unit
	manyStep = 6
	finest   = 40    // resolution, for the precision of depths
	coarsest = -1060 // resolution, for their range
)

// wanted says into which direction the window should move, if at all.
//
// Moves come to an end. Higher is taken while T at the first level exceeds high,
// and no other move makes it do so again: lower starts where T is below low,
// finer keeps the first level, and coarser does not put it deeper. Once the even
// cells reach few they stay there: lower makes them reach further, and finer is
// taken only where half of them reach many.
func (r *race) wanted() (direction int, move bool) {
	var sums masses
	sum := uint64(0)
	for l, m := range &r.total {
		sum += m
		sums[l] = sum
	}
	p := &r.table.windows[r.window].place
	switch {
	case sums[0] > high:
		return higher, true
	case sums[steps] < few && p.resolution > coarsest:
		return coarser, true
	case sums[stride] < low:
		return lower, true
	case sums[manyStep] > many && p.resolution < finest:
		return finer, true
	}
	return 0, false
}

// follow moves the window to where it is wanted.
func (r *race) follow() {
	for {
		direction, move := r.wanted()
		if !move {
			return
		}
		r.window = r.table.window(r.table.windows[r.window].beside(direction))
		for i, row := range r.at {
			r.beside[i] = r.table.rows[row].beside[direction] // in a loop of its own, for loads that overlap
		}
		for i, row := range r.beside {
			if row == 0 {
				row = r.table.besideRow(r.at[i], direction, r.window)
			}
			r.at[i], r.tasks[i] = row, r.table.rows[row].mass
		}
		r.sum()
	}
}
