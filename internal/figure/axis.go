package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// margin is the part of an axis beyond the data, at either end.
const margin = 0.04

// limits is where an axis begins and ends; a logarithmic one is above zero, also
// where it has no values.
func (a Axis) limits(values []float64) (low, high float64) {
	low, high = span(append(values[:len(values):len(values)], a.Cover...))
	switch {
	case low > high && a.Log:
		return 1, 2
	case low > high:
		return 0, 1
	}
	if a.Log {
		low, high = math.Log2(low), math.Log2(high)
	}
	if low == high { // one value is shown in the middle
		reach := 0.5
		if !a.Log && low != 0 {
			reach = math.Abs(low) / 10
		}
		low, high = low-reach, high+reach
	} else if !a.Tight {
		room := margin * (high - low)
		low, high = low-room, high+room
	}
	if a.Log {
		return math.Exp2(low), math.Exp2(high)
	}
	if a.Zero {
		low = min(0, high-1e-9)
	}
	return low, high
}

// set puts limits and ticks on an axis of gonum/plot.
func (a Axis) set(to *plot.Axis, low, high float64) {
	to.Min, to.Max = low, high
	if a.Log {
		to.Scale = plot.LogScale{}
	}
	to.Label.Text = a.Label
	ticks := a.Ticks
	if ticks == nil {
		ticks = niceTicks(low, high, a.Log)
	}
	var marks plot.ConstantTicks
	for _, t := range ticks {
		marks = append(marks, plot.Tick{Value: t.At, Label: t.Label})
	}
	to.Tick.Marker = marks
	if a.Blank {
		to.Tick.Marker, to.Width = plot.ConstantTicks{}, 0
	}
}

// niceTicks is four to seven ticks at multiples of one, two or five times a
// power of ten; powers of two on a logarithmic axis.
func niceTicks(low, high float64, log bool) []Tick {
	var out []Tick
	if log {
		for e := math.Ceil(math.Log2(low)); e <= math.Log2(high); e++ {
			out = append(out, Tick{math.Exp2(e), strconv.FormatFloat(math.Exp2(e), 'g', -1, 64)})
		}
		return out
	}
	step, decimals := niceStep((high - low) / 5)
	if step == 0 {
		return nil
	}
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*step; k++ {
		v := k * step
		if decimals >= 0 {
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
		}
		out = append(out, Tick{v, tickLabel(v, decimals)})
		if len(out) > 20 {
			return nil // numbers so close that steps are lost in rounding
		}
	}
	return out
}

// niceStep is the nice step next to a rough one, and its decimals.
func niceStep(rough float64) (step float64, decimals int) {
	if !(rough > 0) || math.IsInf(rough, 0) {
		return 0, 0
	}
	e := int(math.Floor(math.Log10(rough)))
	factor, unit := 10.0, math.Pow(10, float64(e))
	for _, f := range []float64{1, 2, 5} {
		if rough <= f*unit*1.0001 {
			factor = f
			break
		}
	}
	if factor == 10 {
		factor, e = 1, e+1
	}
	decimals = max(0, -e)
	if decimals > 12 || e > 12 {
		decimals = -1
	}
	return factor * math.Pow(10, float64(e)), decimals
}

// tickLabel is a number with a real minus sign.
func tickLabel(v float64, decimals int) string {
	format := byte('f')
	if decimals < 0 {
		format = 'g'
		decimals = 3
	}
	s := strconv.FormatFloat(v, format, decimals, 64)
	if s[0] == '-' && strings.Trim(s, "-0.") == "" {
		return s[1:]
	}
	if s[0] == '-' {
		s = "−" + s[1:]
	}
	return s
}
