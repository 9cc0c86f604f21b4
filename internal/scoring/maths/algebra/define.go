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
	one, half := Int(1), Rational(big.NewRat(1, 2))
	exp := func(x *Expr) *Expr { return Make(Pow, Make(Euler), x) }
	sinh := func() *Expr { return Make(Mul, half, minus(exp(x), exp(Make(Neg, x)))) }
	cosh := func() *Expr { return Make(Mul, half, Make(Add, exp(x), exp(Make(Neg, x)))) }
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
	case "tan":
		return Make(Div, Apply("sin", x), Apply("cos", x))
	case "cot":
		return Make(Div, Apply("cos", x), Apply("sin", x))
	case "sec":
		return Make(Div, one, Apply("cos", x))
	case "csc":
		return Make(Div, one, Apply("sin", x))
	case "sinh":
		return sinh()
	case "cosh":
		return cosh()
	case "tanh":
		return Make(Div, sinh(), cosh())
	case "coth":
		return Make(Div, cosh(), sinh())
	case "sech":
		return Make(Div, one, cosh())
	case "csch":
		return Make(Div, one, sinh())
	case "arccos":
		return complement("arcsin")
	case "arccot":
		return complement("arctan")
	}
	return nil
}

func minus(a, b *Expr) *Expr { return Make(Add, a, Make(Neg, b)) }

// binding is the value of a variable.
type binding struct {
	name  string
	value *big.Rat
}

// substitute is e with values for variables.
func substitute(e *Expr, values []binding) *Expr {
	if e.Op == Symbol {
		for _, b := range values {
			if b.name == e.Name {
				return Rational(b.value)
			}
		}
	}
	if len(e.Args) == 0 {
		return e
	}
	next := *e
	next.Args = make([]*Expr, len(e.Args))
	for i, arg := range e.Args {
		next.Args[i] = substitute(arg, values)
	}
	return &next
}
