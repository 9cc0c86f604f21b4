package main

import (
	"fmt"
	"math/big"
	"strings"
)

func scientific(d *dice) sample {
	mantissa, n := d.from(11, 9999), d.apart(-12, 15, 0, 1, -1)
	for mantissa%10 == 0 {
		mantissa++
	}
	digits := fmt.Sprint(mantissa)
	point := digits[:1] + "." + digits[1:]
	s := a(fmt.Sprintf(`%s \times 10^{%d}`, point, n))
	shift := n - len(digits) + 1
	s.equals(fmt.Sprintf(`%s \cdot 10^{%d}`, point, n), fmt.Sprintf(`%s\times10^{%d}`, point, n), fmt.Sprintf(`%s * 10^{%d}`, point, n),
		fmt.Sprintf(`%s \times 10^{%d}`, digits, shift), fmt.Sprintf(`10^{%d} \cdot %s`, n, point),
		fmt.Sprintf(`%s0 \times 10^{%d}`, point, n))
	r, _ := new(big.Rat).SetString(fmt.Sprintf("%se%d", point, n))
	exact, _ := r.FloatPrec()
	s.equals(r.FloatString(exact))
	if n > 0 {
		s.equals(fmt.Sprintf(`%s + %s \times 10^{%d}`, "0", point, n))
	} else {
		s.equals(fmt.Sprintf(`\frac{%s}{10^{%d}}`, point, -n))
	}
	s.misses(fmt.Sprintf(`%s \times 10^{%d}`, point, n+1), fmt.Sprintf(`%s \times 10^{%d}`, point, n-1),
		fmt.Sprintf(`%s \times 10^{%d}`, point, -n), point, fmt.Sprintf(`-%s \times 10^{%d}`, point, n),
		fmt.Sprintf(`%d.%s \times 10^{%d}`, mantissa%9+1, strings.Repeat("3", 4), n), fmt.Sprintf(`%s \times 10 \times %d`, point, n))
	return s
}

// largePowers are whole numbers that no floating-point number tells from their
// neighbours.
func largePowers(d *dice) sample {
	base, n, k := pick(d, 2, 3, 5, 6, 7, 10, 12), d.from(20, 110), d.from(2, 9)
	value := new(big.Int).Exp(big.NewInt(int64(base)), big.NewInt(int64(n)), nil)
	s := a(fmt.Sprintf(`%d^{%d}`, base, n))
	s.equals(value.String(), grouped(value, ","), fmt.Sprintf(`%d^{%d} \cdot %d^{%d}`, base, n-k, base, k),
		fmt.Sprintf(`%d \cdot %d^{%d}`, base, base, n-1), fmt.Sprintf(`\frac{%d^{%d}}{%d^{%d}}`, base, n+k, base, k))
	if n%2 == 0 {
		s.equals(fmt.Sprintf(`%d^{%d}`, base*base, n/2), fmt.Sprintf(`\left(%d^{%d}\right)^2`, base, n/2))
	}
	if d.chance(0.3) { // one less, to gold and all
		s.gold += "-1"
		for i := range s.same {
			s.same[i] += "-1"
		}
		s.equals(plus(value, -1).String())
		value = plus(value, -1)
	}
	s.misses(plus(value, 1).String(), plus(value, -1).String(), fmt.Sprintf(`%d^{%d}`, base, n+1), fmt.Sprintf(`%d^{%d}`, base, n-1),
		fmt.Sprintf(`%d^{%d}`, base+1, n), fmt.Sprintf(`%d \cdot %d`, base, n), s.gold+"+1",
		fmt.Sprintf(`%d^{%d} + %d^{%d}`, base, n-1, base, n-k), new(big.Float).SetInt(times(value, 3)).Text('f', 0))
	float := strings.Split(new(big.Float).SetInt(value).Text('e', 3), "e+")
	s.misses(fmt.Sprintf(`%s \times 10^{%s}`, float[0]+"1", float[1]))
	return s
}

func exponentials(d *dice) sample {
	base, k, j, v := pick(d, 2, 3, 5, 7), d.from(1, 4), d.from(1, 3), pick(d, "n", "x", "k", "t")
	power := 1
	for range j {
		power *= base
	}
	kv := term(k, v)[1:]
	s := a(fmt.Sprintf(`%d^{%s+%d}`, base, kv, j))
	s.equals(fmt.Sprintf(`%d \cdot %d^{%s}`, power, base, kv), fmt.Sprintf(`%d^{%d} \cdot %d^{%s}`, base, j, base, kv),
		fmt.Sprintf(`%d^{%d+%s}`, base, j, kv), fmt.Sprintf(`%d \left(%d^{%s}\right)^{%d}`, power, base, v, k),
		fmt.Sprintf(`\frac{%d^{%s+%d}}{%d}`, base, kv, j+1, base), fmt.Sprintf(`%d^{%s} \times %d`, base, kv, power))
	s.misses(fmt.Sprintf(`%d^{%s}+%d`, base, kv, power), fmt.Sprintf(`%d^{%s+%d}`, base, kv, j+1), fmt.Sprintf(`%d^{%s-%d}`, base, kv, j),
		fmt.Sprintf(`%d^{%s+%d}`, base+1, kv, j), fmt.Sprintf(`%d^{%s} \cdot %d^{%s}`, base, kv, base, v), fmt.Sprintf(`%d^{%s}`, base, kv),
		fmt.Sprintf(`%d^{%s+%d}`, base, "m", j))
	return s
}

// counting has factorials and binomial coefficients.
func counting(d *dice) sample {
	n := d.from(4, 20)
	if d.chance(0.4) {
		s := a(fmt.Sprintf(`%d!`, n))
		value := new(big.Int).MulRange(1, int64(n))
		s.equals(value.String(), grouped(value, ","), fmt.Sprintf(`%d \cdot %d!`, n, n-1), fmt.Sprintf(`\frac{%d!}{%d}`, n+1, n+1),
			fmt.Sprintf(`%d \cdot %d \cdot %d!`, n, n-1, n-2))
		s.misses(fmt.Sprintf(`%d!`, n-1), fmt.Sprintf(`%d!`, n+1), plus(value, 1).String(), fmt.Sprint(n), fmt.Sprintf(`\frac{%d!}{2}`, n),
			fmt.Sprintf(`%d! - 1`, n))
		return s
	}
	k := d.from(2, n-2)
	value := new(big.Int).Binomial(int64(n), int64(k))
	s := a(value.String())
	s.equals(fmt.Sprintf(`\binom{%d}{%d}`, n, k), fmt.Sprintf(`\dbinom{%d}{%d}`, n, n-k), fmt.Sprintf(`\frac{%d!}{%d!\,%d!}`, n, k, n-k),
		fmt.Sprintf(`{%d \choose %d}`, n, k), fmt.Sprintf(`\binom{%d}{%d} + \binom{%d}{%d}`, n-1, k, n-1, k-1))
	s.misses(fmt.Sprintf(`\binom{%d}{%d}`, n+1, k), fmt.Sprintf(`\frac{%d!}{%d!}`, n, n-k), fmt.Sprintf(`\binom{%d}{%d} + 1`, n, k),
		fmt.Sprintf(`\frac{%d}{%d}`, n, k), plus(value, 1).String())
	return s
}

// complexNumbers are a + bi of whole numbers, other than 0.
func complexNumbers(d *dice) sample {
	p, q := d.apart(-15, 15, 0), d.apart(-15, 15, 0)
	s := a(sum(term(p, ""), term(q, "i")))
	k := d.from(2, 5)
	s.equals(sum(term(q, "i"), term(p, "")), fmt.Sprintf(`%d %s %d \cdot i`, p, sign(q), max(q, -q)),
		fmt.Sprintf(`\frac{%s}{%d}`, sum(term(k*p, ""), term(k*q, "i")), k), fmt.Sprintf(`%d + (%d)i`, p, q),
		fmt.Sprintf(`i(%s)`, sum(term(q, ""), term(-p, "i"))), fmt.Sprintf(`(1+i)(%s)`, over(sum(term(p+q, ""), term(q-p, "i")), 2)),
		fmt.Sprintf(`\frac{%s}{1+i}`, sum(term(p-q, ""), term(p+q, "i"))), fmt.Sprintf(`%s\mathrm{i}`, fmt.Sprintf(`%d%+d`, p, q)))
	s.misses(sum(term(p, ""), term(-q, "i")), sum(term(-p, ""), term(q, "i")), sum(term(p+1, ""), term(q, "i")),
		sum(term(p, ""), term(q-1, "i")), fmt.Sprint(p), term(q, "i"), fmt.Sprintf(`%d%+d`, p, q), fmt.Sprint(p*p+q*q+1))
	if p != q {
		s.misses(sum(term(q, ""), term(p, "i")))
	}
	return s
}
