package words

import "strings"

// unitNames gives units one spelling each. A name that maps to "" may follow a
// number, but says nothing to be compared.
var unitNames = ByWord(map[string]string{
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
	"":   "sq square cubic squared cubed per each ways way people st nd rd th",
	"am": "am", "pm": "pm",
	"%": "percent percents percentage pct",
})

// Unit spells a unit in lower case: cm for centimeters. It is false for every other
// word.
func Unit(name string) (spelled string, ok bool) {
	spelled, ok = unitNames[name]
	return spelled, ok
}

// ByWord turns lists of words round.
func ByWord[T comparable](lists map[T]string) map[string]T {
	all := map[string]T{}
	for of, list := range lists {
		for _, word := range strings.Fields(list) {
			all[word] = of
		}
	}
	return all
}
