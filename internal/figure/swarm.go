package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Swarm is points about one x, moved aside as far as it takes for none to cover
// another, but no further than Half. Where there are too many for that, some do.
type Swarm struct {
	Name  string
	Style Style
	X     float64
	Half  float64 // in values of x
	At    []Point // X of each is not read
}

func (s Swarm) key() (string, Style, bool) { return s.Name, s.Style, false }
func (s Swarm) check() error {
	if !(s.Half >= 0) {
		return fmt.Errorf("a swarm %v wide", s.Half)
	}
	return nil
}
func (s Swarm) extent() (xs, ys []float64) {
	if len(s.At) == 0 {
		return nil, nil
	}
	_, ys = split(s.At)
	return []float64{s.X - s.Half, s.X + s.Half}, ys
}
func (s Swarm) draw(c canvas) {
	ys := make([]float64, len(s.At))
	for i, p := range s.At {
		ys[i] = c.y(p.Y)
	}
	half := c.x(s.X+s.Half) - c.x(s.X)
	for i, aside := range swarm(ys, 2*s.Style.size(), half) {
		c.marker(s.Style, c.x(s.X)+aside, ys[i], s.At[i].Title)
	}
}

// swarm is how far aside each of some discs goes, given their heights and their
// diameter. They are placed from the lowest up, each as near the middle as those
// before it allow, to the right and to the left by turns.
func swarm(ys []float64, diameter, half float64) []float64 {
	order := make([]int, len(ys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ys[a], ys[b]) })
	aside := make([]float64, len(ys))
	first := 0 // of those placed that a disc may touch
	for k, i := range order {
		for ys[i]-ys[order[first]] >= diameter {
			first++
		}
		near := order[first:k]
		side := float64(1 - 2*(k%2))
		aside[i] = roomiest(near, aside, ys, i, diameter, half, side)
	}
	return aside
}

// roomiest is the place of disc i nearest the middle that touches none of those
// near it; where there is none, the place that is furthest from them all.
func roomiest(near []int, aside, ys []float64, i int, diameter, half, side float64) float64 {
	places := []float64{0}
	for _, j := range near {
		dy := ys[i] - ys[j]
		dx := math.Sqrt(max(0, float64(diameter*diameter)-float64(dy*dy)))
		for _, x := range []float64{aside[j] + side*dx, aside[j] - side*dx} {
			if math.Abs(x) <= half+1e-6 {
				places = append(places, x)
			}
		}
	}
	slices.SortStableFunc(places, func(a, b float64) int { return cmp.Compare(rounded(math.Abs(a)), rounded(math.Abs(b))) })
	best, most := 0.0, math.Inf(-1)
	tried := [2]float64{math.NaN(), math.NaN()} // many points of one height leave the same places
	for _, x := range append(places, side*half, -side*half) {
		if rounded(x) == rounded(tried[0]) || rounded(x) == rounded(tried[1]) {
			continue
		}
		tried = [2]float64{tried[1], x}
		room := math.Inf(1)
		for k := len(near) - 1; k >= 0 && room > most+1e-6; k-- {
			dx, dy := x-aside[near[k]], ys[i]-ys[near[k]]
			room = min(room, math.Sqrt(float64(dx*dx)+float64(dy*dy)))
		}
		if room >= diameter-1e-6 {
			return x
		}
		if room > most+1e-6 {
			best, most = x, room
		}
	}
	return best
}
