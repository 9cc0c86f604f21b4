package latex

import "speceval/internal/scoring/maths/algebra"

// function reads a function with its power, its base and its argument.
func (p *parser) function(name string) Answer {
	if name == "sqrt" {
		return p.sqrt()
	}
	var exponent, base *algebra.Expr
	for !p.failed {
		if p.accept("^") {
			exponent = p.expr(p.group())
		} else if p.accept("_") {
			base = p.expr(p.group())
		} else {
			break
		}
	}
	arg := p.functionArgument()
	if exponent != nil && exponent.Op == algebra.Neg && algebra.Same(exponent.Args[0], algebra.Int(1)) && len(name) == 3 {
		name, exponent = "arc"+name, nil // sin^{-1}
	}
	e := p.apply(name, base, arg)
	if exponent != nil {
		e = algebra.Make(algebra.Pow, e, exponent)
	}
	return value(e)
}

func (p *parser) apply(name string, base *algebra.Expr, arg Answer) *algebra.Expr {
	switch {
	case arg.Kind == Tuple || arg.Kind == List || arg.Kind == Set:
		if base != nil {
			p.fail()
		}
		var args []*algebra.Expr
		for _, item := range arg.Items {
			args = append(args, p.expr(item))
		}
		switch name {
		case "gcd", "lcm", "max", "min":
			for len(args) > 2 {
				args = append([]*algebra.Expr{algebra.Apply(name, args[0], args[1])}, args[2:]...)
			}
		}
		return algebra.Apply(name, args...)
	case name == "log" && base != nil:
		return algebra.Apply("log", p.expr(arg), base)
	case name == "cis":
		return algebra.Make(algebra.Pow, algebra.Make(algebra.Euler), algebra.Make(algebra.Mul, algebra.Make(algebra.Imaginary), p.expr(arg)))
	case name == "lg":
		return algebra.Apply("log", p.expr(arg), algebra.Int(10))
	case base != nil:
		p.fail()
	}
	return algebra.Apply(name, p.expr(arg))
}

// functionArgument reads what a function applies to: a group in brackets, or a
// product up to the next sign, bracket or function.
func (p *parser) functionArgument() Answer {
	if p.peek() == "(" || p.peek() == "[" || p.peek() == "{" || p.peek() == `\{` || p.peek() == "|(" {
		return p.primary()
	}
	minus := p.accept("-")
	a := p.power()
	for !p.failed && p.juxtaposed() && !p.next(function) && p.peek() != "(" && p.peek() != "[" {
		if p.next(number) && p.endsInNumber() {
			return p.fail()
		}
		a = p.times(a, p.power())
	}
	if minus {
		a = value(algebra.Make(algebra.Neg, p.expr(a)))
	}
	return a
}

func (p *parser) sqrt() Answer {
	if p.accept("[") {
		n := p.expr(p.inner())
		p.expect("]")
		return value(algebra.Apply("root", p.expr(p.group()), n))
	}
	return value(algebra.Apply("sqrt", p.expr(p.group())))
}

// several reads a sum or a product of several terms, which has no value here.
func (p *parser) several(name string) Answer {
	for script := p.peek(); script == "_" || script == "^"; script = p.peek() {
		p.pos++
		name += script + p.raw()
	}
	return value(algebra.Apply(name, p.expr(p.product())))
}
