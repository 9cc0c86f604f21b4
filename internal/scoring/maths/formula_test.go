package maths_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row is a kind of answer as a value: what is drawn, and how the answer and what is
// close to it are written. In texts, «n+1» is the value of an expression of Go over
// the drawn values, with exact numbers: / is a fraction. A form that begins «n>9?»
// is there if that holds.
type row struct {
	kind  string
	draw  string // "n = 2..9 ; q = 2..20 not n ; v = x | y ; k = n*q": ranges, choices, expressions
	gold  string
	same  []string
	near  []string
	open  []string
	round string // a number whose roundings are near misses, or left open

	whole bool // as those of a sample
	only  bool
}

// separator is between the values of a row.
var separator = regexp.MustCompile(`\s;\s+`)

// make draws the values of a row and writes its forms.
func (r row) make(d *dice) sample {
	s := scope{d: d, values: map[string]constant.Value{}, elements: map[string]sample{}}
	for _, let := range separator.Split(r.draw, -1) {
		if names, how, ok := strings.Cut(let, " = "); ok {
			s.let(strings.Split(names, ","), how)
		}
	}
	gold, _ := s.write(r.gold)
	made := sample{gold: gold, same: s.all(r.same), near: s.all(r.near), open: s.all(r.open), whole: r.whole, only: r.only}
	if r.round != "" {
		made.rounded(rational(s.value(r.round)))
	}
	return made
}

// scope has the values that were drawn for one pair.
type scope struct {
	d        *dice
	values   map[string]constant.Value
	elements map[string]sample // those that have forms of their own
}

// let draws values: a range, a choice of texts or numbers (with commas between if
// there are several names), an element, a text with «», or an expression.
func (s scope) let(names []string, how string) {
	how, not, _ := strings.Cut(how, " not ")
	low, high, isRange := strings.Cut(how, "..")
	first := names[0]
	for {
		switch {
		case how == "element" || how == "positive":
			e := element(s.d)
			for how == "positive" && (e.gold[0] == '-' || e.gold == "0") {
				e = element(s.d)
			}
			s.elements[first], s.values[first] = e, constant.MakeString(e.gold)
		case isRange:
			s.values[first] = constant.MakeInt64(int64(s.d.from(whole(s.value(low)), whole(s.value(high)))))
		case strings.Contains(how, "|"):
			chosen := strings.TrimSpace(pick(s.d, strings.Split(how, "|")...))
			for i, text := range strings.SplitN(chosen, ",", len(names)) {
				text, _ = s.write(text)
				s.values[names[i]] = constant.MakeString(text)
				if n, err := strconv.ParseInt(text, 10, 64); err == nil {
					s.values[names[i]] = constant.MakeInt64(n)
				}
			}
		case strings.Contains(how, "«"):
			text, _ := s.write(how)
			s.values[first] = constant.MakeString(text)
		default:
			s.values[first] = s.value(how)
		}
		if not == "" || !slices.ContainsFunc(strings.Split(not, ","), func(other string) bool {
			return constant.Compare(s.values[first], token.EQL, s.value(other))
		}) {
			return
		}
	}
}

// all writes the forms whose conditions hold.
func (s scope) all(forms []string) []string {
	var all []string
	for _, form := range forms {
		if text, ok := s.write(form); ok {
			all = append(all, text)
		}
	}
	return all
}

// write puts values into a text; false if the text begins with a condition that does
// not hold.
func (s scope) write(text string) (form string, ok bool) {
	var b strings.Builder
	for {
		before, rest, more := strings.Cut(text, "«")
		b.WriteString(before)
		if !more {
			return b.String(), true
		}
		expression, after, _ := strings.Cut(rest, "»")
		if condition, is := strings.CutSuffix(expression, "?"); !is {
			b.WriteString(written(s.value(expression)))
		} else if !constant.BoolVal(s.value(condition)) {
			return "", false
		}
		text = after
	}
}

// value is that of an expression. Mistakes in the table panic.
func (s scope) value(expression string) constant.Value {
	x, err := parser.ParseExpr(expression)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", expression, err))
	}
	return s.eval(x)
}

func (s scope) eval(x ast.Expr) constant.Value {
	switch x := x.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(x.Value, x.Kind, 0)
	case *ast.Ident:
		if v := s.values[x.Name]; v != nil {
			return v
		}
	case *ast.ParenExpr:
		return s.eval(x.X)
	case *ast.UnaryExpr:
		return constant.UnaryOp(x.Op, s.eval(x.X), 0)
	case *ast.BinaryExpr:
		left, right := s.eval(x.X), s.eval(x.Y)
		if (left.Kind() == constant.String) != (right.Kind() == constant.String) {
			panic(fmt.Sprintf("%v and %v", left, right))
		}
		switch x.Op {
		case token.EQL, token.NEQ, token.LSS, token.GTR:
			return constant.MakeBool(constant.Compare(left, x.Op, right))
		case token.REM:
			left, right = constant.ToInt(left), constant.ToInt(right)
		}
		return normal(constant.BinaryOp(left, x.Op, right))
	case *ast.CallExpr:
		name := x.Fun.(*ast.Ident).Name
		var args []constant.Value
		for _, arg := range x.Args {
			if e, ok := s.elements[fmt.Sprint(arg)]; ok && name == "form" {
				return constant.MakeString(e.form(s.d))
			} else if ok && name == "miss" {
				return constant.MakeString(e.miss(s.d))
			}
			args = append(args, s.eval(arg))
		}
		return s.call(name, args)
	}
	panic(fmt.Sprintf("no value: %v", x))
}

// normal is a number as an integer if it is one.
func normal(v constant.Value) constant.Value {
	if whole := constant.ToInt(v); whole.Kind() == constant.Int {
		return whole
	}
	return v
}

func whole(v constant.Value) int {
	n, exact := constant.Int64Val(constant.ToInt(v))
	if !exact {
		panic(fmt.Sprintf("%v is no small integer", v))
	}
	return int(n)
}

func rational(v constant.Value) *big.Rat {
	r, ok := new(big.Rat).SetString(v.ExactString())
	if !ok {
		panic(fmt.Sprintf("%v is no number", v))
	}
	return r
}

// written writes a value: a text as it is, a fraction with its sign in front.
func written(v constant.Value) string {
	switch v.Kind() {
	case constant.String:
		return constant.StringVal(v)
	case constant.Int:
		return v.ExactString()
	}
	return fraction(rational(v))
}

// functions are those of expressions. Arguments are converted to the types of the
// parameters; dice are passed without being written.
var functions = map[string]any{
	"abs":  func(r *big.Rat) *big.Rat { return new(big.Rat).Abs(r) },
	"num":  (*big.Rat).Num,
	"den":  (*big.Rat).Denom,
	"fact": func(n int) *big.Int { return new(big.Int).MulRange(1, int64(n)) },
	"binom": func(n, k int) *big.Int {
		return new(big.Int).Binomial(int64(n), int64(k))
	},
	"pow": func(base, n int) *big.Rat {
		power := new(big.Int).Exp(big.NewInt(int64(base)), big.NewInt(int64(max(n, -n))), nil)
		if n < 0 {
			return new(big.Rat).SetFrac(big.NewInt(1), power)
		}
		return new(big.Rat).SetInt(power)
	},
	"gcd":    gcd,
	"sqrt":   func(n int) *big.Rat { return new(big.Rat).SetFloat64(math.Sqrt(float64(n))) },
	"pi":     func() *big.Rat { return new(big.Rat).SetFloat64(math.Pi) },
	"number": (*dice).number,
	"ratio":  (*dice).ratio,
	"length": func(text string) int { return len(text) },
	"prec": func(r *big.Rat) int { // digits behind the point; 99 if they do not end
		if digits, exact := r.FloatPrec(); exact {
			return digits
		}
		return 99
	},

	"sign":    func(r *big.Rat) string { return "-"[:max(0, -r.Sign())] },
	"dec":     (*big.Rat).FloatString,
	"padded":  func(n, digits int) string { return fmt.Sprintf("%0*d", digits, n) },
	"signed":  func(n int) string { return fmt.Sprintf("%+d", n) },
	"point":   func(digits string) string { return digits[:1] + "." + digits[1:] }, // behind the first
	"group":   grouped,
	"swap":    swapped,
	"sum":     sum,
	"over":    over,
	"surd":    func(a, b, c, n int) string { return over(sum(a, "", b, fmt.Sprintf(`\sqrt{%d}`, c)), n) },
	"sine":    sine,
	"radians": radians,
	"words":   inWords,
	"pick":    func(d *dice, from ...string) string { return pick(d, from...) },
	"between": between,
	"replace": strings.ReplaceAll,
	"upper":   func(word string) string { return strings.ToUpper(word[:1]) + word[1:] },
	"lower":   strings.ToLower,
	"digits": func(d *dice, base, n int) string { // of a number in a base
		text := fmt.Sprint(d.from(1, base-1))
		for range n - 1 {
			text += fmt.Sprint(d.below(base))
		}
		return text
	},
}

// call calls one of the functions.
func (s scope) call(name string, args []constant.Value) constant.Value {
	f := reflect.ValueOf(functions[name])
	var in []reflect.Value
	if f.Type().NumIn() > 0 && f.Type().In(0) == reflect.TypeFor[*dice]() {
		in = append(in, reflect.ValueOf(s.d))
	}
	for _, arg := range args {
		parameter := f.Type().In(min(len(in), f.Type().NumIn()-1))
		if f.Type().IsVariadic() && len(in) >= f.Type().NumIn()-1 {
			parameter = parameter.Elem()
		}
		switch parameter {
		case reflect.TypeFor[int]():
			in = append(in, reflect.ValueOf(whole(arg)))
		case reflect.TypeFor[*big.Int]():
			in = append(in, reflect.ValueOf(rational(arg).Num()))
		case reflect.TypeFor[*big.Rat]():
			in = append(in, reflect.ValueOf(rational(arg)))
		case reflect.TypeFor[any](): // of a sum: numbers and symbols
			if arg.Kind() == constant.String {
				in = append(in, reflect.ValueOf(written(arg)))
			} else {
				in = append(in, reflect.ValueOf(whole(arg)))
			}
		default:
			in = append(in, reflect.ValueOf(written(arg)))
		}
	}
	switch result := f.Call(in)[0].Interface().(type) {
	case int:
		return constant.MakeInt64(int64(result))
	case string:
		return constant.MakeString(result)
	default:
		return normal(constant.Make(result))
	}
}
