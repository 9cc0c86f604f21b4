package latex

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"speceval/internal/scoring/words"
)

// powers are words for a power of what is before them, and of the unit behind them.
var (
	powers       = map[string]int64{"squared": 2, "cubed": 3}
	powersBefore = map[string]string{"sq": "2", "square": "2", "cubic": "3"}
)

// siSymbols are symbols of units that may have one of the prefixes before them.
const siSymbols = " Hz W g m A V J N Pa L s eV mol bit B "

// prefixes are the factors of the prefixes of units.
var prefixes = map[byte]string{'k': "1e3", 'm': "1e-3", 'M': "1e6", 'c': "1e-2", 'n': "1e-9", 'G': "1e9"}

// prefixed spells a symbol of a unit with its prefix, whose case matters: MHz is
// not mHz. It is "" for what is none.
func prefixed(run string) string {
	if len(run) < 2 || prefixes[run[0]] == "" || !strings.Contains(siSymbols, " "+run[1:]+" ") {
		return ""
	}
	return run[:1] + strings.ToLower(run[1:])
}

// isPrefixed reports whether a word is a symbol as prefixed spells it, in lower case behind
// the prefix.
func isPrefixed(word string) bool {
	return len(word) > 1 && prefixes[word[0]] != "" && strings.Contains(strings.ToLower(siSymbols), " "+word[1:]+" ")
}

// scales are units as multiples of others.
var scales = map[string]struct {
	of     string
	factor int64
}{
	"min": {"s", 60}, "h": {"s", 3600}, "day": {"s", 86400}, "week": {"s", 604800}, "year": {"month", 12},
	"ft": {"in", 12}, "yd": {"in", 36}, "mi": {"in", 63360}, "lb": {"oz", 16}, "$": {"¢", 100},
}

// Scale is a unit as a multiple of another one, in which all of its kind are multiples: 3600 s for
// h, 1000/3600 m/s for km/h. A unit of a kind of its own is once itself.
func Scale(unit string) (of string, factor *big.Rat) {
	factor = big.NewRat(1, 1)
	parts := strings.Split(unit, "/")
	for i, part := range parts {
		base := strings.TrimRight(part, "123456789")
		power, name, scale := part[len(base):], base, big.NewRat(1, 1)
		if s, ok := scales[base]; ok {
			name, scale = s.of, big.NewRat(s.factor, 1)
		} else if isPrefixed(base) {
			name = base[1:]
			scale.SetString(prefixes[base[0]])
		}
		if i > 0 {
			scale.Inv(scale)
		}
		times, _ := strconv.Atoi(power)
		for range min(max(1, times), 9) {
			factor.Mul(factor, scale)
		}
		parts[i] = name + power
	}
	return strings.Join(parts, "/"), factor
}

// compass are the directions behind a latitude or a longitude.
var compass = map[string]string{"n": "north", "s": "south", "e": "east", "w": "west"}

// fillers are words behind a number that do not say what it counts.
const fillers = " of the a an in total all altogether exactly whole different distinct possible only them "

// isUnit reports whether a word may be a unit, or multiply the number before it.
func isUnit(word string) bool {
	_, named := words.Unit(word)
	_, multiplies := words.Factor(word)
	return named || multiplies
}

// noun gives a word that says what is counted one spelling; "" if it does not.
func noun(word string) string {
	if strings.Contains(fillers, " "+word+" ") {
		return ""
	}
	switch word {
	case "bce":
		return "bc"
	case "ce":
		return "ad"
	}
	if stem, ok := strings.CutSuffix(word, "ies"); ok {
		return stem + "y"
	}
	if stem, ok := strings.CutSuffix(word, "xes"); ok {
		return stem + "x"
	}
	if strings.HasSuffix(word, "ss") {
		return word
	}
	return strings.TrimSuffix(word, "s")
}

// sentenceWords do not follow the number of an answer.
const sentenceWords = " is are was were be the that this because since if when then which we so as by for therefore thus hence where with from but not has have can cannot "

// unit spells a unit from the words and operators that follow a number; the words
// that are none say what is counted, or where, and limit what else they say.
func unit(parts []string) (spelled string, nouns []string, limit string) {
	var b strings.Builder
	var phrase []string
	power := "" // of what comes next
	for i, part := range parts {
		name, known := words.Unit(part)
		switch {
		case name == "%", strings.Trim(part, "^/-0123456789") == "":
		case !known && !isPrefixed(part), part == "in", part == "per", part == "th":
			phrase = append(phrase, part)
		case power == "":
			phrase = append(phrase, "unit")
		}
		switch part {
		case "sq", "square", "cubic":
			power = powersBefore[part]
		case "squared", "cubed":
			fmt.Fprint(&b, powers[part])
		case "per", "/":
			if i+1 < len(parts) && parts[i+1] == "cent" {
				return "%", nil, ""
			}
			b.WriteString("/")
		case "^":
		default:
			if i > 0 && parts[i-1] == "^" {
				b.WriteString(strings.Trim(part, "-1")) // s^{-1} begins with a slash
				continue
			}
			if i+2 < len(parts) && parts[i+1] == "^" && strings.HasPrefix(parts[i+2], "-") {
				b.WriteString("/")
			}
			if !known && (len(part) == 1 || isPrefixed(part)) {
				name = part
			} else if n := noun(part); n == "unit" {
				if i+2 < len(parts) && parts[i+1] == "^" {
					power = parts[i+2]
				} else if i+1 < len(parts) && powers[parts[i+1]] > 0 {
					power = fmt.Sprint(powers[parts[i+1]])
				}
				nouns = append(nouns, n+power)
			} else if !known && n != "" {
				nouns = append(nouns, n)
			}
			b.WriteString(name)
			if name != "" {
				b.WriteString(power)
			}
			power = ""
		}
	}
	limit = words.Limit(phrase)
	if u := strings.ReplaceAll(b.String(), "°°", "°"); strings.Trim(u, "/23") != "" {
		return u, nouns, limit
	}
	return "", nouns, limit
}
