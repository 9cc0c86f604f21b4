package algebra

import (
	"math/big"
	"slices"
)

// Op is the kind of a node of an expression.
type Op uint8

// The kinds of nodes.
const (
	Number    Op = iota // Num
	Symbol              // a variable called Name
	Pi                  // the ratio of a circle's circumference to its diameter
	Euler               // the base of natural logarithms
	Imaginary           // the square root of -1
	Infinity            // positive infinity
	Add                 // the sum of Args
	Mul                 // the product of Args
	Div                 // Args[0] over Args[1]
	Pow                 // Args[0] to the power of Args[1]
	Neg                 // the negative of Args[0]
	Call                // the function Name of Args
)

// Expr is a node of an expression. It is not changed once it is made, and parts
// may be shared.
type Expr struct {
	Op      Op
	Num     *big.Rat
	Name    string
	Args    []*Expr
	Decimal bool // a Number that was written with a decimal point
	Places  int  // of a Decimal: digits after the point
}

// Int is the number n.
func Int(n int64) *Expr { return &Expr{Op: Number, Num: big.NewRat(n, 1)} }

// Rational is the number r.
func Rational(r *big.Rat) *Expr { return &Expr{Op: Number, Num: r} }

// Var is the variable called name.
func Var(name string) *Expr { return &Expr{Op: Symbol, Name: name} }

// Make is a node with arguments.
func Make(op Op, args ...*Expr) *Expr { return &Expr{Op: op, Args: args} }

// Apply is the function called name of args. Functions are named as in LaTeX
// (sin, arctan, ln, binom), and root(x, n), log(x, base), degrees, abs, floor, ceil,
// factorial, and gcd, lcm, max, min of two; a function that is not known has no value.
func Apply(name string, args ...*Expr) *Expr { return &Expr{Op: Call, Name: name, Args: args} }

// Size counts the nodes of e, no further than limit.
func (e *Expr) Size(limit int) int {
	n := 1
	for _, arg := range e.Args {
		if n >= limit {
			break
		}
		n += arg.Size(limit - n)
	}
	return n
}

// Any reports whether is holds for a node of e.
func (e *Expr) Any(is func(*Expr) bool) bool {
	return is(e) || slices.ContainsFunc(e.Args, func(arg *Expr) bool { return arg.Any(is) })
}

// has reports whether a variable is in e.
func (e *Expr) has(name string) bool {
	return e.Any(func(e *Expr) bool { return e.Op == Symbol && e.Name == name })
}

// Variables are the names of the variables of e.
func Variables(e *Expr) (names []string) {
	e.Any(func(e *Expr) bool {
		if e.Op == Symbol && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
		return false
	})
	return names
}

// Same reports whether a and b are written alike, node by node.
func Same(a, b *Expr) bool {
	return a.Op == b.Op && a.Name == b.Name && (a.Op != Number || a.Num.Cmp(b.Num) == 0) && slices.EqualFunc(a.Args, b.Args, Same)
}

// Rewrite is e with other nodes for some, from the leaves on; nil leaves one as it is.
func Rewrite(e *Expr, by func(e *Expr) *Expr) *Expr {
	if len(e.Args) > 0 {
		next := *e
		next.Args = make([]*Expr, len(e.Args))
		for i, arg := range e.Args {
			next.Args[i] = Rewrite(arg, by)
		}
		e = &next
	}
	if other := by(e); other != nil {
		return other
	}
	return e
}

// Infinite is the sign of an infinity, and 0 for any other expression.
func Infinite(e *Expr) int {
	switch {
	case e.Op == Infinity:
		return 1
	case e.Op == Neg:
		return -Infinite(e.Args[0])
	}
	return 0
}
