package tsneyman

// row holds the hazards of one state of a task in a window. The state is the
// number of rollouts n and the smaller of passes and failures: p(1−p) has the
// same law if passes and failures change places.
type row struct {
	mass [levels]uint64 // hazard of each cell
	posterior
	splits  [levels]int32     // of each cell; 0: not known yet
	next    [2]int32          // rows after one more rollout, by what it adds to less; 0: not known yet
	beside  [directions]int32 // rows of the state in the windows beside; 0: not known yet
	n, less int32
	window  int32
}

// table keeps the rows and splits that have been needed so far. What they hold
// depends on the prior strength, the state and the window only.
type table struct {
	alpha   float64
	windows []window
	places  map[place]int32
	rows    []row   // from 1
	splits  []split // from 1
	byState index
}

// mostRows and mostSplits bound the table: above, it is emptied and fills again.
// A row has 312 bytes, and 20 in the index, a split 64.
const mostRows, mostSplits = 1 << 16, 1 << 17

func newTable(alpha float64) *table {
	return &table{
		alpha: alpha, places: make(map[place]int32), byState: newIndex(),
		rows:   make([]row, 1, mostRows+mostRows/16), // all at once: growing, it would lie there twice
		splits: make([]split, 1, mostSplits+1),
	}
}

// empty forgets rows and splits, but not windows.
func (t *table) empty() {
	t.rows, t.splits = t.rows[:1], t.splits[:1]
	t.byState.empty()
}

// window is the number of a window.
func (t *table) window(p place) int32 {
	if w, ok := t.places[p]; ok {
		return w
	}
	t.windows = append(t.windows, newWindow(p))
	w := int32(len(t.windows) - 1)
	t.places[p] = w
	return w
}

// row finds the row of a state.
func (t *table) row(window, n, less int32) int32 {
	hash := hash(window, n, less)
	for at := hash; ; at++ {
		i := t.byState.get(at)
		if i == 0 {
			break
		}
		if r := &t.rows[i]; r.n == n && r.less == less && r.window == window {
			return i
		}
	}
	r := row{n: n, less: less, window: window, posterior: newPosterior(t.alpha, n, less)}
	above := uint64(0)
	for l, depth := range t.windows[window].depth {
		h := max(r.hazard(r.at(depth)), above)
		r.mass[l], above = h-above, h
	}
	t.rows = append(t.rows, r)
	i := int32(len(t.rows) - 1)
	t.byState.put(hash, i)
	return i
}

// after is the row after one more rollout of the state of row i, which adds more
// to the smaller count.
func (t *table) after(i, more int32) int32 {
	r := &t.rows[i]
	if j := r.next[more&1]; j != 0 {
		return j
	}
	j := t.row(r.window, r.n+1, r.less+more)
	t.rows[i].next[more&1] = j
	return j
}

// besideRow is the row of the state of row i in the window beside.
func (t *table) besideRow(i int32, direction int, window int32) int32 {
	r := &t.rows[i]
	j := t.row(window, r.n, r.less)
	t.rows[i].beside[direction] = j
	return j
}

// index is a hash table of numbers above 0, with linear probing.
type index struct {
	slots  []int32
	hashes []uint64 // by number
}

func newIndex() index { return index{make([]int32, 4096), make([]uint64, 1, 1024)} }

func (x *index) empty() {
	clear(x.slots)
	x.hashes = x.hashes[:1]
}

func (x *index) get(at uint64) int32 { return x.slots[at&uint64(len(x.slots)-1)] }

// put adds the number that follows the last one.
func (x *index) put(hash uint64, number int32) {
	x.hashes = append(x.hashes, hash)
	if 2*len(x.hashes) > len(x.slots) {
		x.slots = make([]int32, 2*len(x.slots))
		for i, h := range x.hashes[1:] {
			x.place(h, int32(i+1))
		}
		return
	}
	x.place(hash, number)
}

func (x *index) place(at uint64, number int32) {
	for x.get(at) != 0 {
		at++
	}
	x.slots[at&uint64(len(x.slots)-1)] = number
}

func hash(a, b, c int32) uint64 {
	h := (uint64(a)<<42 ^ uint64(b)<<21 ^ uint64(c)) * 0x9e3779b97f4a7c15
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}
