package text

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"speceval/internal/scoring/words"
)

// value is a number in a text.
type value struct {
	number  *big.Rat // with its sign; nil: it looks like one and cannot be read
	percent bool     // a percent sign stands behind it
	text    string   // around it
	from    int      // of it in the text
	to      int
}

// String is the number as it stands.
func (v value) String() string { return v.text[v.from:v.to] }

// rest is the text without the number.
func (v value) rest() string { return v.text[:v.from] + " " + v.text[v.to:] }

// Bounds of a number that is read.
const (
	mostDigits   = 400 // of a number
	mostExponent = 400 // of ten
)

// parse reads a text that is a number and nothing else, but for space around it:
// digits, which may be grouped in threes by commas, apostrophes, underscores, thin
// spaces or LaTeX's {,} and \,; a decimal point; an exponent, as e5, ×10^5, ×10⁵ or
// \times 10^{5}; a fraction, 2/3, \frac{2}{3}, ⅔, or a mixed one, 1 2/3; a minus
// sign, also U+2212; a percent sign; a currency sign. It is false for everything
// else: infinities, numbers of more than 400 digits or with exponents beyond ±400,
// and 1.2.3, 12:30, 1,23 and 1/0.
func parse(text string) (value, bool) {
	if len(text) > longest || !utf8.ValidString(text) {
		return value{}, false
	}
	all := scan(text)
	if len(all) != 1 || all[0].number == nil || strings.Trim(all[0].rest(), " \n\t\\$€£¥") != "" {
		return value{}, false
	}
	return all[0], true
}

const (
	separator = "(?:,|'|_|\u2019|\u2009|\u202f|\u00a0)"
	grouped   = `(?:\d{1,3}(?:` + separator + `\d{3})+|\d+)`
	decimal   = `(?:` + grouped + `(?:\.\d*)?|\.\d+)`
)

var (
	// run is what may be one number: digits, with what may stand between them.
	run = regexp.MustCompile(`\.?\d(?:\d|(?:` + separator + `|[.:]| ?[/⁄∕] ?)\d)*`)
	// plainRun is a run that is a number or a fraction of two.
	plainRun = regexp.MustCompile(`^(` + decimal + `)(?: ?[/⁄∕] ?(` + decimal + `))?$`)
	// scientific is a power of ten behind a number.
	scientific = regexp.MustCompile(`^(?:[eE]([+-]?\d+)|\s*(?:×|x|X|\*|·|\\times|\\cdot)\s*10\s*(?:\^\s*\{?\s*([+-]?\d+)\s*\}?|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)))`)
	// power is an exponent behind a number, of which it makes another one.
	power = regexp.MustCompile(`^\s*(?:\^\s*\{?\s*([+-]?\d+)\s*\}?|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)|\^|\*\*\s*[+-]?\d)`)
	// groups is what stands between groups of digits.
	groups = regexp.MustCompile(separator)
	// percentSign stands behind a number.
	percentSign = regexp.MustCompile(`^\s?(?:\\?%|(?i:per ?cent)\b)`)
	// multiple is a word behind a number that may multiply it: dozen.
	multiple = regexp.MustCompile(`^(?:\s|\\ )*(?:\\(?:text|mathrm)\{\s*)?(\p{L}+)`)
	// fraction is one of LaTeX, of plain numbers.
	fraction = regexp.MustCompile(`\\[dtc]?frac\s*(?:\{\s*(\d+(?:\.\d+)?)\s*\}\s*\{\s*(\d+(?:\.\d+)?)\s*\}|(\d)(\d))`)
	// before is what stands between the sign of a number and its digits, and the sign.
	before = regexp.MustCompile(`([-+]?)(\s*)(\\?[$€£¥]?\s?)$`)
	// mixed is the whole part of a mixed fraction, before that.
	mixed = regexp.MustCompile(`(?:^|[^\d.,])(\d{1,9}) ?$`)
)

// alike are characters that are read as others.
var alike = strings.NewReplacer(
	"\u2212", "-", "\ufe63", "-", "\uff0d", "-", `{,}`, ",", `\,`, "\u2009", `\!`, "", `^\circ`, "", `^{\circ}`, "",
	"½", " 1/2", "⅓", " 1/3", "⅔", " 2/3", "¼", " 1/4", "¾", " 3/4", "⅕", " 1/5", "⅖", " 2/5", "⅗", " 3/5", "⅘", " 4/5",
	"⅙", " 1/6", "⅚", " 5/6", "⅛", " 1/8", "⅜", " 3/8", "⅝", " 5/8", "⅞", " 7/8",
)

// scan finds the numbers of a text, in order. Those that are part of a name, as in
// x2, or an index or exponent of one are none.
func scan(text string) (all []value) {
	text = alike.Replace(text)
	text = fraction.ReplaceAllString(text, " $1$3/$2$4")
	for at := 0; at < len(text); {
		next := run.FindStringIndex(text[at:])
		if next == nil {
			break
		}
		from, to := at+next[0], at+next[1]
		if at = to; named(text[:from]) {
			continue
		}
		v, start, end := number(text, from, to)
		at = end
		v.text, v.from, v.to = text, start, end
		if n := len(all); n > 0 && v.number != nil && start <= all[n-1].from {
			all = all[:n-1] // the whole part of a mixed fraction
		}
		all = append(all, v)
	}
	return all
}

// named tells whether what follows a text continues with a name or its index or
// exponent.
func named(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, "{-+ "))
	last, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(last) || r == '^' || r == '_'
}

// number reads the run in a text from from to to, with its sign, power of ten and
// percent sign, and says where all that begins and ends.
func number(text string, from, to int) (v value, start, end int) {
	v.number = digits(text[from:to])
	start, end = from, to
	if m := scientific.FindStringSubmatchIndex(text[to:]); m != nil {
		end = to + m[1]
		v.number = scaled(v.number, submatch(text[to:], m))
	} else if m := power.FindStringSubmatchIndex(text[to:]); m != nil {
		end = to + m[1]
		base := v.number
		if v.number = nil; base != nil && base.Cmp(big.NewRat(10, 1)) == 0 {
			v.number = scaled(big.NewRat(1, 1), submatch(text[to:], m))
		}
	}
	if v.number != nil && strings.ContainsAny(text[from:to], "/⁄∕") && v.number.Cmp(big.NewRat(1, 1)) < 0 {
		start = mix(&v, text, from)
	}
	if m := multiple.FindStringSubmatchIndex(text[end:]); m != nil {
		factor, ok := words.Factor(strings.ToLower(text[end+m[2] : end+m[3]]))
		if end += m[1]; ok && v.number != nil {
			v.number.Mul(v.number, factor)
		} else if !ok {
			end -= m[1]
		}
	}
	if m := percentSign.FindStringIndex(text[end:]); m != nil {
		v.percent = true
		end += m[1]
	}
	if ten, is := strings.CutPrefix(text[end:], "_{10}"); is {
		end = len(text) - len(ten)
	} else if strings.HasPrefix(text[end:], "_{") { // in another base
		v.number = nil
	}
	negative, start := sign(text, start)
	if negative && v.number != nil {
		v.number.Neg(v.number)
	}
	return v, start, end
}

// ahead is how many bytes before a number are looked at.
const ahead = 40

// mix adds the whole part of a mixed fraction, where one stands before it, and
// says where the number begins then.
func mix(v *value, text string, from int) int {
	base := max(0, from-ahead)
	m := mixed.FindStringSubmatchIndex(text[base:from])
	if m == nil || named(text[:base+m[2]]) {
		return from
	}
	v.number.Add(v.number, digits(text[base+m[2]:base+m[3]]))
	return base + m[2]
}

// submatch is the group of a match that is there.
func submatch(text string, at []int) string {
	for i := 2; i+1 < len(at); i += 2 {
		if at[i] >= 0 {
			return text[at[i]:at[i+1]]
		}
	}
	return ""
}

// digits is a run as a number; nil if it is none.
func digits(text string) *big.Rat {
	parts := plainRun.FindStringSubmatch(text)
	if parts == nil || len(text) > mostDigits {
		return nil
	}
	n, ok := new(big.Rat).SetString(groups.ReplaceAllString(parts[1], ""))
	if !ok || parts[2] == "" {
		return n
	}
	below, ok := new(big.Rat).SetString(groups.ReplaceAllString(parts[2], ""))
	if !ok || below.Sign() == 0 {
		return nil
	}
	return n.Quo(n, below)
}

// superscripts are digits and signs as exponents have them.
var superscripts = strings.NewReplacer("⁺", "+", "⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9")

// scaled is a number times a power of ten; nil if that is out of bounds.
func scaled(n *big.Rat, exponent string) *big.Rat {
	e, err := strconv.Atoi(superscripts.Replace(exponent))
	if n == nil || err != nil || e < -mostExponent || e > mostExponent {
		return nil
	}
	factor := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(e, -e))), nil))
	if e < 0 {
		factor.Inv(factor)
	}
	return factor.Mul(factor, n)
}

// sign tells whether the number that begins at a place is negative, and where it
// begins with its sign and currency. A hyphen behind a digit, a letter or a bracket
// that closes is none, nor is one with a blank behind it but at the beginning of a
// formula.
func sign(text string, at int) (negative bool, start int) {
	base := max(0, at-ahead)
	near := text[base:at]
	m := before.FindStringSubmatchIndex(near)
	if m[3] == m[2] { // no sign
		if strings.TrimSpace(near[m[6]:m[7]]) == "" {
			return false, at
		}
		return false, base + m[6]
	}
	earlier := near[:m[2]]
	last, _ := utf8.DecodeLastRuneInString(earlier)
	far, _ := utf8.DecodeLastRuneInString(strings.TrimRight(earlier, " "))
	blank := m[5] > m[4] || strings.HasPrefix(near[m[6]:m[7]], " ")
	switch {
	case earlier != "" && (unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune(")]}", last)),
		blank && far != utf8.RuneError && !strings.ContainsRune("=:(,{[≈≤≥<>", far):
		return false, base + m[6]
	}
	return near[m[2]:m[3]] == "-", base + m[2]
}
