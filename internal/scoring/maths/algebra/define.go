package algebra

import "math/big"

// defined writes a function by others; it is nil for a function that is not defined by others.
func defined(e *Expr) *Expr {
	switch e.Name {
	case "sqrt", "root", "abs", "ln", "sin", "cos", "floor":
		return nil
	}
	if len(e.Args) == 2 && (e.Name == "max" || e.Name == "min") {
		size := Apply("abs", minus(e.Args[0], e.Args[1]))
		if e.Name == "min" {
			size = Make(Neg, size)
		}
		return Make(Div, Make(Add, e.Args[0], e.Args[1], size), Int(2))
	} else if len(e.Args) == 2 && e.Name == "log" {
		return Make(Div, Apply("ln", e.Args[0]), Apply("ln", e.Args[1]))
	} else if len(e.Args) != 1 {
		return nil
	}
	x := e.Args[0]
	exp := func(x *Expr) *Expr { return Make(Pow, Make(Euler), x) }
	complement := func(name string) *Expr { return minus(Make(Div, Make(Pi), Int(2)), Apply(name, x)) }
	switch e.Name {
	case "exp":
		return exp(x)
	case "log":
		return Make(Div, Apply("ln", x), Apply("ln", Int(10)))
	case "degrees":
		return Make(Div, Make(Mul, x, Make(Pi)), Int(180))
	case "ceil":
		return Make(Neg, Apply("floor", Make(Neg, x)))
	case "gcd", "lcm", "max", "min":
		return x
	case "sinh":
		return Make(Div, minus(exp(x), exp(Make(Neg, x))), Int(2))
	case "cosh":
		return Make(Div, Make(Add, exp(x), exp(Make(Neg, x))), Int(2))
	case "arccos":
		return complement("arcsin")
	case "arccot":
		return complement("arctan")
	}
	parts, ok := quotients[e.Name]
	if !ok {
		return nil
	}
	above := Int(1)
	if parts[0] != "" {
		above = Apply(parts[0], x)
	}
	return Make(Div, above, Apply(parts[1], x))
}

// quotients are functions that are the quotient of two others, or one over another.
var quotients = map[string][2]string{
	"tan": {"sin", "cos"}, "cot": {"cos", "sin"}, "sec": {"", "cos"}, "csc": {"", "sin"},
	"tanh": {"sinh", "cosh"}, "coth": {"cosh", "sinh"}, "sech": {"", "cosh"}, "csch": {"", "sinh"},
}

func minus(a, b *Expr) *Expr { return Make(Add, a, Make(Neg, b)) }

// binding is the value of a variable.
type binding struct {
	name  string
	value *big.Rat
}

// substitute is e with values for variables.
func substitute(e *Expr, values []binding) *Expr {
	return Rewrite(e, func(e *Expr) *Expr {
		for _, b := range values {
			if e.Op == Symbol && b.name == e.Name {
				return Rational(b.value)
			}
		}
		return nil
	})
}
