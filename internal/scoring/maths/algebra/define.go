package algebra

// definitions write functions of one argument by others.
var definitions = map[string]func(x *Expr) *Expr{
	"exp":     exponential,
	"log":     func(x *Expr) *Expr { return Make(Div, Apply("ln", x), Apply("ln", Int(10))) },
	"degrees": func(x *Expr) *Expr { return Make(Div, Make(Mul, x, Make(Pi)), Int(180)) },
	"ceil":    func(x *Expr) *Expr { return Make(Neg, Apply("floor", Make(Neg, x))) },
	"gcd":     itself, "lcm": itself, "max": itself, "min": itself,
	"sinh":   func(x *Expr) *Expr { return Make(Div, minus(exponential(x), exponential(Make(Neg, x))), Int(2)) },
	"cosh":   func(x *Expr) *Expr { return Make(Div, Make(Add, exponential(x), exponential(Make(Neg, x))), Int(2)) },
	"arccos": complement("arcsin"), "arccot": complement("arctan"),
	"tan": quotient("sin", "cos"), "cot": quotient("cos", "sin"), "sec": inverse("cos"), "csc": inverse("sin"),
	"tanh": quotient("sinh", "cosh"), "coth": quotient("cosh", "sinh"), "sech": inverse("cosh"), "csch": inverse("sinh"),
}

func itself(x *Expr) *Expr { return x }

func exponential(x *Expr) *Expr { return Make(Pow, Make(Euler), x) }

func complement(name string) func(x *Expr) *Expr {
	return func(x *Expr) *Expr { return minus(Make(Div, Make(Pi), Int(2)), Apply(name, x)) }
}

func quotient(above, below string) func(x *Expr) *Expr {
	return func(x *Expr) *Expr { return Make(Div, Apply(above, x), Apply(below, x)) }
}

func inverse(name string) func(x *Expr) *Expr {
	return func(x *Expr) *Expr { return Make(Div, Int(1), Apply(name, x)) }
}

// defined writes a function by others; it is nil for a function that is not defined by others.
func defined(e *Expr) *Expr {
	if definition := definitions[e.Name]; len(e.Args) == 1 && definition != nil {
		return definition(e.Args[0])
	} else if len(e.Args) != 2 {
		return nil
	}
	a, b := e.Args[0], e.Args[1]
	switch e.Name {
	case "log":
		return Make(Div, Apply("ln", a), Apply("ln", b))
	case "max":
		return Make(Div, Make(Add, a, b, Apply("abs", minus(a, b))), Int(2))
	case "min":
		return Make(Div, Make(Add, a, b, Make(Neg, Apply("abs", minus(a, b)))), Int(2))
	}
	return nil
}

func minus(a, b *Expr) *Expr { return Make(Add, a, Make(Neg, b)) }
