package tsneyman

import (
	"math"
	"math/bits"

	"speceval/internal/seed"
)

// unit is the hazard 1. Hazards are whole multiples of 1/unit, so that sums of
// them are exact in whatever order tasks are added and taken away.
const unit = 1 << fraction

const fraction = 36

// ziggurat draws exponential numbers as multiples of 1/unit: 256 layers of equal
// area below exp(−x) (Marsaglia and Tsang, The ziggurat method, 2000). In layer
// i, the abscissa is width[i]·u for a uniform u, and below exp(−x) for certain
// if u < inside[i].
type ziggurat struct {
	inside [256]uint64 // of 2^56
	width  [256]uint64 // in 1/unit, times 2^20
	edge   [257]float64
	end    uint64
}

// tail is where the lowest layer's rectangle ends, and area is that of a layer.
const tail, area = 7.69711747013104972, 0.0039496598225815571993

func newZiggurat() *ziggurat {
	z := new(ziggurat)
	z.edge[0], z.edge[1] = area/math.Exp(-tail), tail
	z.end = uint64(z.edge[1] * unit)
	for i := 1; i < 255; i++ {
		z.edge[i+1] = -math.Log(math.Exp(-z.edge[i]) + area/z.edge[i])
	}
	for i := range z.inside {
		z.inside[i] = uint64(z.edge[i+1] / z.edge[i] * (1 << 56))
		z.width[i] = uint64(math.Ldexp(z.edge[i], fraction+20))
	}
	return z
}

// draw returns an exponential number of mean unit.
func (z *ziggurat) draw(random *seed.Stream) uint64 {
	word := random.Uint64()
	layer, u := word&255, word>>8
	x, _ := bits.Mul64(u<<8, z.width[layer])
	if u < z.inside[layer] {
		return x >> 20
	}
	return z.rare(layer, float64(u)*0x1p-56, random)
}

// rare is what draw does once in ninety: at the rim of a layer, or in the tail.
func (z *ziggurat) rare(layer uint64, u float64, random *seed.Stream) uint64 {
	if layer == 0 {
		return z.end + z.draw(random)
	}
	x := u * z.edge[layer]
	low, high := math.Exp(-z.edge[layer]), math.Exp(-z.edge[layer+1])
	if low+random.Float64()*(high-low) < math.Exp(-x) {
		return uint64(x * unit)
	}
	return z.draw(random)
}
