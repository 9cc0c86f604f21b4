package main

import (
	"fmt"
	"math/big"
)

// sines are those of the angles of the first quadrant that have simple ones.
var sines = map[int]string{0: "0", 30: `\frac{1}{2}`, 45: `\frac{\sqrt{2}}{2}`, 60: `\frac{\sqrt{3}}{2}`, 90: "1"}

// sine is that of an angle in degrees, a multiple of 30 or of 45.
func sine(degrees int) string {
	degrees = (degrees%360 + 360) % 360
	if degrees >= 180 {
		if value := sine(degrees - 180); value != "0" {
			return "-" + value
		}
		return "0"
	}
	return sines[min(degrees, 180-degrees)]
}

// radians writes an angle given in degrees.
func radians(degrees int) string {
	r := big.NewRat(int64(degrees), 180)
	if r.IsInt() {
		return fmt.Sprintf(`%s\pi`, r.Num())
	}
	return fmt.Sprintf(`\frac{%s\pi}{%s}`, r.Num(), r.Denom())
}

func trigonometry(d *dice) sample {
	n := pick(d, 30, 45, 60, 120, 135, 150, 210, 225, 240, 300, 315, 330)
	value := sine(n)
	s := a(value)
	s.equals(fmt.Sprintf(`\sin %d^\circ`, n), fmt.Sprintf(`\sin(%d^{\circ})`, n), fmt.Sprintf(`\sin %s`, radians(n)),
		fmt.Sprintf(`\sin\left(%s\right)`, radians(n+360)), fmt.Sprintf(`\cos %d^\circ`, 450-n),
		fmt.Sprintf(`\cos\left(%s\right)`, radians(450-n)), fmt.Sprintf(`-\sin %s`, radians(n+180)),
		fmt.Sprintf(`2 \cdot %s - (%s)`, value, value))
	for _, other := range []int{n + 90, n + 180, n + 60, n + 30} {
		if (other%30 == 0 || other%45 == 0) && sine(other) != value {
			s.misses(sine(other), fmt.Sprintf(`\sin %s`, radians(other)))
		}
	}
	s.misses(fmt.Sprintf(`\sin %s`, radians(n)+"+1"), fmt.Sprintf(`\tan %s`, radians(n)), radians(n))
	s.leaves(fmt.Sprintf(`\sin %d`, n)) // degrees that were forgotten
	return s
}

func degrees(d *dice) sample {
	n := d.from(2, 179)
	s := a(fmt.Sprintf(`%d^\circ`, n))
	s.equals(fmt.Sprint(n), fmt.Sprintf(`%d^{\circ}`, n), fmt.Sprintf(`%d°`, n), fmt.Sprintf(`%d\text{ degrees}`, n),
		fmt.Sprintf(`%d \text{ degrees}`, n), fmt.Sprintf(`\frac{%d}{2}^\circ`, 2*n), fmt.Sprintf(`%d.0^\circ`, n),
		fmt.Sprintf(`%d\,^\circ`, n))
	s.misses(fmt.Sprintf(`%d^\circ`, n+1), fmt.Sprintf(`%d^\circ`, 180-n+360), fmt.Sprintf(`%d^{\circ}`, n-1), fmt.Sprint(10*n),
		fmt.Sprintf(`%d.5^\circ`, n), fmt.Sprintf(`-%d^\circ`, n))
	s.leaves(radians(n))
	return s
}
