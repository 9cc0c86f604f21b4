package latex

import "strings"

// unitNames gives units one spelling each. A name that maps to "" may follow a
// number, but says nothing to be compared.
var unitNames = names(map[string]string{
	"cm":  "cm centimeter centimeters centimetre centimetres",
	"mm":  "mm millimeter millimeters millimetre millimetres",
	"km":  "km kilometer kilometers kilometre kilometres",
	"m":   "meter meters metre metres",
	"in":  "in inch inches",
	"ft":  "ft foot feet",
	"yd":  "yd yard yards",
	"mi":  "mi mile miles",
	"g":   "gram grams",
	"kg":  "kg kilogram kilograms",
	"mg":  "mg milligram milligrams",
	"lb":  "lb lbs pound pounds",
	"oz":  "oz ounce ounces",
	"s":   "sec secs second seconds",
	"min": "min mins minute minutes",
	"h":   "hr hrs hour hours",
	"day": "day days", "week": "week weeks", "month": "month months", "year": "year years yr yrs",
	"l": "liter liters litre litres", "ml": "ml milliliter milliliters", "gal": "gallon gallons",
	"mi/h": "mph", "km/h": "kph kmph",
	"$": "dollar dollars usd bucks", "¢": "cent cents",
	"°": "degree degrees deg",
	"€": "euro euros eur", "°C": "celsius", "°F": "fahrenheit", "Ω": "ohm ohms",
	"rad": "radian radians rad",
	"hz":  "hz", "pa": "pa", "j": "joule joules", "n": "newton newtons", "w": "watt watts", "mol": "mol mole moles", "kj": "kj", "v": "volt volts", "kw": "kw", "ev": "ev",
	"":   "unit units sq square cubic squared cubed per each ways way people students apples st nd rd th",
	"am": "am", "pm": "pm",
	"%": "percent percents percentage",
	"@": "million billion trillion thousand hundred",
})

func names(lists map[string]string) map[string]string {
	all := make(map[string]string)
	for name, list := range lists {
		for _, n := range strings.Fields(list) {
			all[n] = name
		}
	}
	return all
}

// multiples are number words that multiply what is before them.
var multiples = map[string]int{"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}

// sentenceWords do not follow the number of an answer.
const sentenceWords = " is are was were be the that this because since if when then which we so as by for therefore thus hence where with from but not has have can cannot "

// unit spells a unit from the words and operators that follow a number, with
// nothing for those that are not known.
func unit(parts []string) string {
	var b strings.Builder
	power := "" // of what comes next
	for i, part := range parts {
		switch part {
		case "sq", "square":
			power = "2"
		case "cubic":
			power = "3"
		case "squared":
			b.WriteString("2")
		case "cubed":
			b.WriteString("3")
		case "per", "/":
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
			name, known := unitNames[part]
			if !known && len(part) == 1 {
				name = part
			}
			b.WriteString(name)
			if name != "" {
				b.WriteString(power)
			}
			power = ""
		}
	}
	if u := strings.ReplaceAll(b.String(), "°°", "°"); strings.Trim(u, "/23") != "" {
		return u
	}
	return ""
}
