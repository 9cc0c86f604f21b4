package algebra

import "math/big"

// Bounds of sums and products of several terms: those beyond them have no value here.
const (
	maxSummed  = 10000 // terms
	maxWritten = 40000 // nodes of all terms
)

// Sum is the sum of body for whole numbers k between from and to, or their
// product.
func Sum(product bool, body *Expr, k string, from, to *Expr) *Expr {
	name := "sum"
	if product {
		name = "prod"
	}
	return Apply(name, body, Var(k), from, to)
}

func isSum(e *Expr) bool {
	return e.Op == Call && (e.Name == "sum" || e.Name == "prod") && len(e.Args) == 4 && e.Args[1].Op == Symbol
}

// HasSum reports whether e has a sum or a product of several terms in it, which
// takes much longer to compare than its size says.
func (e *Expr) HasSum() bool { return e.Any(isSum) }

// defined writes a function by others, and a sum by its terms; it is nil for a function
// that is not defined by others.
func defined(e *Expr) *Expr {
	switch e.Name {
	case "sqrt", "root", "abs", "ln", "sin", "cos", "floor":
		return nil
	case "sum", "prod":
		if isSum(e) {
			return terms(e)
		}
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

// terms writes a sum or a product out, nil if it is too long or has no terms.
func terms(e *Expr) *Expr {
	from, okFrom := Exact(e.Args[2])
	to, okTo := Exact(e.Args[3])
	if !okFrom || !okTo || !from.IsInt() || !to.IsInt() || !from.Num().IsInt64() || !to.Num().IsInt64() {
		return nil
	}
	first, last := from.Num().Int64(), to.Num().Int64()
	if last < first || last-first < 0 || last-first >= maxSummed || int(last-first+1)*e.Args[0].Size(maxNodes) > maxWritten {
		return nil
	}
	all := &Expr{Op: Add}
	if e.Name == "prod" {
		all.Op = Mul
	}
	for k := first; k <= last; k++ {
		all.Args = append(all.Args, substitute(e.Args[0], []binding{{e.Args[1].Name, big.NewRat(k, 1)}}))
	}
	return all
}

// binding is the value of a variable.
type binding struct {
	name  string
	value *big.Rat
}

// substitute is e with values for variables, except the variables of its sums.
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
	inner := values
	if isSum(e) {
		inner = without(values, e.Args[1].Name)
	}
	for i, arg := range e.Args {
		switch {
		case !isSum(e) || i > 1:
			next.Args[i] = substitute(arg, values)
		case i == 0:
			next.Args[i] = substitute(arg, inner)
		default:
			next.Args[i] = arg
		}
	}
	return &next
}

// without are the values of the other variables.
func without(values []binding, name string) []binding {
	var others []binding
	for _, b := range values {
		if b.name != name {
			others = append(others, b)
		}
	}
	return others
}
