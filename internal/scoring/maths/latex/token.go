package latex

import (
	"strings"

	"speceval/internal/scoring/words"
)

type tokenKind uint8

const (
	number   tokenKind = iota // digits, with a point perhaps, or a repeating decimal like 0.1(6)
	symbol                    // a variable or a constant
	function                  // sin, ln, sqrt
	word                      // of prose, or a unit
	operator                  // all else: + ( \frac \in
	nothing                   // before the first token, or behind the last
)

type token struct {
	kind  tokenKind
	text  string
	space bool   // there is space before it
	run   string // the letters that it is read of; "" if they are text
}

// commands gives LaTeX commands that are operators one spelling each.
var commands = words.ByWord(map[string]string{
	"*": "cdot ast bullet", "×": "times", "/": "div", "±": "pm", "∓": "mp", "≤": "le leq leqslant leqq", "≥": "ge geq geqslant geqq", "<": "lt", ">": "gt",
	"≠": "ne neq", "≈": "approx simeq cong", "≡": "equiv", "mod": "bmod pmod mod pod", "∉": "notin", "∈": "in", "∪": "cup bigcup", "∩": "cap bigcap",
	"∖": "setminus backslash", "∨": "lor vee", "∧": "wedge land", `\{`: "lbrace {", `\}`: "rbrace }", "[": "lbrack", "]": "rbrack", "(": "langle lparen",
	")": "rangle rparen", "|": "vert mid", "‖": "| Vert", "‖(": "lVert", "‖)": "rVert", "|(": "lvert", "|)": "rvert", "⌊": "lfloor", "⌋": "rfloor", "⌈": "lceil",
	"⌉": "rceil", "∅": "emptyset varnothing", "%": "%", "$": "$ dollar", "£": "pounds", "€": "euro", "°": "degree", "∘": "circ", "'": "prime", ":": "colon", "&": "&",
	`\\`: `\ newline`, `\frac`: "frac dfrac tfrac cfrac nicefrac sfrac fracd", `\binom`: "binom dbinom tbinom", `\over`: "over", `\choose`: "choose",
	`\bar`: "overline bar overleftrightarrow overarc", `\vec`: "overrightarrow vec", `\hat`: "hat widehat", `\tilde`: "tilde", `\dot`: "dot", `\ddot`: "ddot",
	`\sum`: "sum", `\prod`: "prod", `\angle`: "angle measuredangle", `\triangle`: "triangle", `\square`: "square", `\mathbb`: "mathbb mathds",
})

// functions are the names of functions, as commands and as plain words, and
// what the algebra calls them.
var functions = words.ByWord(map[string]string{
	"sin": "sin", "cos": "cos", "tan": "tan tg", "cot": "cot ctg", "sec": "sec", "csc": "csc cosec", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "coth": "coth",
	"sech": "sech", "csch": "csch", "arcsin": "arcsin asin", "arccos": "arccos acos", "arctan": "arctan atan arctg", "arccot": "arccot", "ln": "ln", "log": "log",
	"lg": "lg", "exp": "exp", "sqrt": "sqrt", "abs": "abs", "floor": "floor", "ceil": "ceil", "max": "max", "min": "min", "gcd": "gcd", "lcm": "lcm", "det": "det",
	"cis": "cis", "re": "Re", "im": "Im", "arg": "arg",
})

// constants are words for constants.
var constants = words.ByWord(map[string]string{"π": "pi varpi", "∞": "infty infinity inf oo", "e": "e", "i": "i"})

// greek returns the letter that a command names, and whether it names one. Variants are the
// same letter.
func greek(name string) (string, bool) {
	name = strings.TrimPrefix(name, "var")
	among := func(names, name string) bool { return strings.Contains(names, " "+name+" ") }
	switch {
	case among(" alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega ", strings.ToLower(name)),
		among(" ell hbar nabla partial infty aleph star ", name):
		return `\` + name, true
	case among(" ldots dots cdots dotsc dotsb ", name):
		return `\ldots`, true
	}
	return "", false
}
