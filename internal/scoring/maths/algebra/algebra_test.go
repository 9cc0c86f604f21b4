package algebra_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	a "speceval/internal/scoring/maths/algebra"
)

var (
	x, y, n = a.Var("x"), a.Var("y"), a.Var("n")
	i, pi   = a.Make(a.Imaginary), a.Make(a.Pi)
	e       = a.Make(a.Euler)
)

func add(args ...*a.Expr) *a.Expr { return a.Make(a.Add, args...) }
func mul(args ...*a.Expr) *a.Expr { return a.Make(a.Mul, args...) }
func div(p, q *a.Expr) *a.Expr    { return a.Make(a.Div, p, q) }
func pow(p, q *a.Expr) *a.Expr    { return a.Make(a.Pow, p, q) }
func neg(p *a.Expr) *a.Expr       { return a.Make(a.Neg, p) }
func sqrt(p *a.Expr) *a.Expr      { return a.Apply("sqrt", p) }
func num(k int64) *a.Expr         { return a.Int(k) }

func TestEqual(t *testing.T) {
	for _, test := range []struct {
		name string
		p, q *a.Expr
		want bool
	}{
		{"1/2 + 1/3", add(div(num(1), num(2)), div(num(1), num(3))), div(num(5), num(6)), true},
		{"2^99", pow(num(2), num(99)), mul(num(2), pow(num(2), num(98))), true},
		{"2^99 and one more", pow(num(2), num(99)), add(num(1), pow(num(2), num(99))), false},
		{"cancellation", add(mul(pow(num(10), num(25)), sqrt(num(2))), sqrt(num(3)), neg(mul(pow(num(10), num(25)), sqrt(num(2))))), sqrt(num(3)), true},
		{"a fraction to a negative power", pow(div(num(2), num(3)), num(-2)), div(num(9), num(4)), true},
		{"√12", sqrt(num(12)), mul(num(2), sqrt(num(3))), true},
		{"√3 and a convergent", sqrt(num(3)), div(num(3650401), num(2107560)), false},
		{"nested roots", sqrt(add(num(7), mul(num(4), sqrt(num(3))))), add(num(2), sqrt(num(3))), true},
		{"a near miss of π", pi, a.Rational(big.NewRat(884279719003555, 281474976710656)), false},
		{"Ramanujan's near integer", a.Apply("exp", mul(pi, sqrt(num(163)))), num(262537412640768744), false},
		{"e^(iπ)", pow(e, mul(i, pi)), num(-1), true},
		{"(1+i)^2", pow(add(num(1), i), num(2)), mul(num(2), i), true},
		{"√−4", sqrt(num(-4)), mul(num(2), i), true},
		{"cube root", a.Apply("root", num(-8), num(3)), num(-2), true},
		{"power of a negative number", pow(num(-8), div(num(1), num(3))), num(-2), true},
		{"sin 60°", a.Apply("sin", a.Apply("degrees", num(60))), div(sqrt(num(3)), num(2)), true},
		{"arctan 1", a.Apply("arctan", num(1)), div(pi, num(4)), true},
		{"log without a base", a.Apply("log", num(100)), num(2), true},
		{"log without a base is not the natural one", a.Apply("log", x), a.Apply("ln", x), false},
		{"log to base two", a.Apply("log", num(8), num(2)), num(3), true},
		{"5!", a.Apply("factorial", num(5)), num(120), true},
		{"floor of minus a half", a.Apply("floor", div(num(-1), num(2))), num(-1), true},
		{"gcd", a.Apply("gcd", num(12), num(-18)), num(6), true},
		{"lcm", a.Apply("lcm", num(4), num(6)), num(12), true},
		{"max", a.Apply("max", num(4), div(num(9), num(2))), div(num(9), num(2)), true},
		{"floor of √2", a.Apply("floor", sqrt(num(2))), num(1), true},
		{"ceil of √2", a.Apply("ceil", sqrt(num(2))), num(2), true},

		{"binomial formula", pow(add(x, y), num(2)), add(pow(x, num(2)), mul(num(2), x, y), pow(y, num(2))), true},
		{"freshman's dream", pow(add(x, y), num(2)), add(pow(x, num(2)), pow(y, num(2))), false},
		{"a small constant", pow(x, num(2)), add(pow(x, num(2)), pow(num(10), num(-12))), false},
		{"double angle", a.Apply("sin", mul(num(2), x)), mul(num(2), a.Apply("sin", x), a.Apply("cos", x)), true},
		{"removable", div(add(pow(x, num(2)), num(-1)), add(x, num(-1))), add(x, num(1)), true},
		{"root of a square", sqrt(pow(x, num(2))), x, false},
		{"root of a square, absolute", sqrt(pow(x, num(2))), a.Apply("abs", x), true},
		{"root of a product", sqrt(mul(x, y)), mul(sqrt(x), sqrt(y)), true},
		{"ln |x|", a.Apply("ln", a.Apply("abs", x)), a.Apply("ln", x), false},
		{"x and y", x, y, false},
		{"alternating sign", pow(num(-1), n), pow(num(-1), add(n, num(2))), true},
		{"alternating sign, off by one", pow(num(-1), n), pow(num(-1), add(n, num(1))), false},
		{"binomial coefficient", a.Apply("binom", n, num(2)), div(mul(n, add(n, num(-1))), num(2)), true},
		{"a higher power", add(pow(x, num(100)), num(1)), add(num(1), pow(x, num(100))), true},
		{"a higher power and more", add(pow(x, num(100)), num(1)), add(num(2), pow(x, num(100))), false},
		{"exponents", pow(num(7), add(mul(num(3), x), num(1))), mul(num(7), pow(pow(num(7), x), num(3))), true},
		{"high power", pow(add(x, num(1)), num(50)), pow(add(num(1), x), num(50)), true},

		{"infinity", a.Make(a.Infinity), a.Make(a.Infinity), true},
		{"infinities", a.Make(a.Infinity), neg(a.Make(a.Infinity)), false},
		{"infinity and a number", a.Make(a.Infinity), pow(num(10), num(100)), false},
		{"undefined", div(num(1), num(0)), div(num(2), num(0)), false},
		{"undefined, alike", div(num(1), num(0)), div(num(1), num(0)), true},
		{"an unknown function", a.Apply("zeta", num(2)), num(1), false},
		{"too large", pow(num(9), pow(num(9), pow(num(9), num(9)))), pow(num(8), pow(num(9), pow(num(9), num(9)))), false},
		{"too large, alike", pow(num(9), pow(num(9), pow(num(9), num(9)))), pow(num(9), pow(num(9), pow(num(9), num(9)))), true},
		{"tan of a right angle", a.Apply("tan", div(pi, num(2))), num(0), false},
	} {
		if got := a.Equal(test.p, test.q); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if got := a.Equal(test.q, test.p); got != test.want {
			t.Errorf("%s, exchanged: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestElementaryFunctions compares with the standard library, at points where
// arguments are reduced, tiny or large.
func TestElementaryFunctions(t *testing.T) {
	functions := map[string]func(float64) float64{
		"exp": math.Exp, "ln": math.Log, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "arctan": math.Atan, "sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
		"arcsin": math.Asin, "arccos": math.Acos, "sqrt": math.Sqrt,
	}
	for name, f := range functions {
		for _, at := range []float64{1e-9, 0.1, 0.5, 0.999, 1.5, 3, 20, 101.5, -0.25, -2, -30, 12345.5} {
			want := f(at)
			if math.IsNaN(want) || math.IsInf(want, 0) || want == 0 || at > 1000 && strings.HasSuffix(name, "h") {
				continue
			}
			tolerance := new(big.Rat).SetFloat64(math.Abs(want) * 1e-13)
			value := a.Apply(name, a.Rational(new(big.Rat).SetFloat64(at)))
			if !a.Near(value, new(big.Rat).SetFloat64(want), tolerance) {
				t.Errorf("%s(%g) is not near %g", name, at, want)
			}
			if a.Near(value, new(big.Rat).SetFloat64(want*(1+1e-9)), tolerance) {
				t.Errorf("%s(%g) is near something else", name, at)
			}
		}
	}
}

// TestRandomExpressions rewrites random expressions by laws that keep their
// value, and then changes one number in them.
func TestRandomExpressions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 100 {
		p := random(r, 4)
		q := rewritten(r, p)
		if !a.Equal(p, q) {
			if a.Equal(p, add(p, num(0))) { // defined, that is
				t.Fatalf("expression %d is not what it was", trial)
			}
			continue
		}
		if a.Equal(p, add(q, a.Rational(big.NewRat(1, 1_000_000_007)))) {
			t.Fatalf("expression %d is equal to a little more", trial)
		}
	}
}

// random is an expression of no more than the given depth.
func random(r *rand.Rand, depth int) *a.Expr {
	if depth == 0 {
		return []*a.Expr{x, y, pi, num(r.Int64N(20) - 5), a.Rational(big.NewRat(r.Int64N(9)+1, 7))}[r.IntN(5)]
	}
	p, q := random(r, depth-1), random(r, depth-1)
	switch r.IntN(7) {
	case 0, 1:
		return add(p, q)
	case 2, 3:
		return mul(p, q)
	case 4:
		return div(p, q)
	case 5:
		return pow(p, num(r.Int64N(4)))
	}
	return a.Apply([]string{"sin", "cos", "abs", "arctan"}[r.IntN(4)], p)
}

// rewritten applies commutativity, distributivity and the like all over.
func rewritten(r *rand.Rand, p *a.Expr) *a.Expr {
	args := make([]*a.Expr, len(p.Args))
	for k, arg := range p.Args {
		args[k] = rewritten(r, arg)
	}
	switch p.Op {
	case a.Add, a.Mul:
		if p.Op == a.Mul && args[1].Op == a.Add && len(args[1].Args) == 2 && r.IntN(2) == 0 {
			return add(mul(args[0], args[1].Args[0]), mul(args[1].Args[1], args[0]))
		}
		return a.Make(p.Op, args[1], args[0])
	case a.Div:
		return mul(args[0], pow(args[1], num(-1)))
	case a.Call:
		if p.Name == "sin" {
			return a.Apply("cos", add(div(pi, num(2)), neg(args[0])))
		}
		return a.Apply(p.Name, args...)
	case a.Number:
		return add(p, num(7), num(-7))
	case a.Pow:
		return a.Make(a.Pow, args...)
	}
	return p
}
