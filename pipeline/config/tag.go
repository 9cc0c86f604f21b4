package config

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/terminal/display"
)

// The configuration is its structs: a field has its key in the tag toml, and in the tag want
// what a value of it must be:
//
//	numbers           "2 to 2^20", "above 0 to 1"
//	lists of numbers  the same of each, in the order given; "set of" them: different, at least one
//	texts             "filled", "id", "price", "variable", the choices "a|b"; without it any text
//	lists of texts    "urls", the choices "a|b"; without it any texts
//
// A struct is a table, a list of structs an array of tables.

// bind reads every key of a table into the fields of a struct. Keys that are left out leave
// them as they are.
func (t *table) bind(target any) {
	for field, value := range fields(reflect.ValueOf(target).Elem()) {
		key := field.Tag.Get("toml")
		switch {
		case value.Kind() == reflect.Struct:
			t.table(key).bind(value.Addr().Interface())
		case isTables(value):
			t.bindList(key, value)
		default:
			t.read(key, field.Tag.Get("want"), value)
		}
	}
}

// fields are the fields of a struct that are keys, in their order.
func fields(s reflect.Value) func(yield func(reflect.StructField, reflect.Value) bool) {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for i := range s.NumField() {
			field := s.Type().Field(i)
			if _, isKey := field.Tag.Lookup("toml"); isKey && !yield(field, s.Field(i)) {
				return
			}
		}
	}
}

func isTables(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct
}

// bindList reads an array of tables, which replaces the default one whole. The first field
// of a table is its name, which no two may share.
func (t *table) bindList(key string, list reflect.Value) {
	t.known = append(t.known, key)
	value, given := t.content[key]
	contents, ok := value.([]map[string]any)
	if !ok {
		if given {
			t.fault(key, "must be an array of tables: write [[%s]] before the keys of each", key)
		}
		return
	}
	list.Set(reflect.MakeSlice(list.Type(), len(contents), len(contents)))
	seen := map[string]bool{}
	for i, content := range contents {
		sub := t.at(fmt.Sprintf("%s[%d]", t.join(key), i), content)
		sub.bind(list.Index(i).Addr().Interface())
		name := list.Index(i).Field(0).String()
		if seen[name] && name != "" {
			sub.fault(sub.known[0], "is there twice")
		}
		seen[name] = true
	}
}

// read reads the value of a key.
func (t *table) read(key, want string, target reflect.Value) {
	t.known = append(t.known, key)
	value, given := t.content[key]
	path := t.join(key)
	switch must := secret(want, value); {
	case !given && want == "id":
		t.fault(key, "is missing")
	case given && must != "":
		t.faultAt(path, path+": "+must)
		t.wrong = append(t.wrong, path)
	case given:
		if typed, override := t.sets[path]; override {
			value = retyped(value, typed, want, target)
		}
		if must := store(value, want, target); must != "" {
			t.fault(key, "must be %s", must)
			t.wrong = append(t.wrong, path)
		}
	}
}

// retyped is the value of an override for a text or a list of choices: a text may look like a
// number or a date, and choices may stand between commas without brackets.
func retyped(value any, typed, want string, target reflect.Value) any {
	text, isText := value.(string)
	switch target.Interface().(type) {
	case string:
		if !isText {
			return typed
		}
	case []string:
		if isText && strings.Contains(want, "|") {
			parts := []any{}
			for part := range strings.SplitSeq(text, ",") {
				parts = append(parts, strings.TrimSpace(part))
			}
			return parts
		}
	}
	return value
}

// store puts a value in a field, or returns what it must be.
func store(value any, want string, target reflect.Value) (must string) {
	low, high := bounds(want)
	integer := func(value any) (int, bool) {
		n, ok := value.(int64)
		return int(n), ok && float64(n) >= low && float64(n) <= high
	}
	real := func(value any) (float64, bool) {
		x, ok := value.(float64)
		if n, isInteger := value.(int64); isInteger { // 1 for 1.0
			x, ok = float64(n), true
		}
		return x, ok && x >= low && x <= high
	}
	integers := fmt.Sprintf("integers from %.0f to %.0f", low, high)
	switch to := target.Addr().Interface().(type) {
	case *uint64:
		n, ok := value.(int64)
		return put(to, uint64(n), ok && n >= 0, fmt.Sprintf("an integer from 0 to %d", int64(math.MaxInt64)))
	case *int:
		n, ok := integer(value)
		return put(to, n, ok, fmt.Sprintf("an integer from %.0f to %.0f", low, high))
	case *float64:
		x, ok := real(value)
		return put(to, x, ok, "a number "+span(low, high))
	case *bool:
		yes, ok := value.(bool)
		return put(to, yes, ok, "true or false")
	case *string:
		must, test := textRule(want)
		text, ok := value.(string)
		return put(to, text, ok && test(text), must)
	case *[]int:
		list, ok := listOf(value, integer)
		if strings.HasPrefix(want, "set of ") {
			ok = ok && isSet(list)
			integers = "different " + integers + ", at least one"
		}
		return put(to, list, ok, "a list of "+integers)
	case *[]float64:
		list, ok := listOf(value, real)
		return put(to, list, ok && isSet(list), fmt.Sprintf("a list of different numbers %s, at least one", span(low, high)))
	case *[]string:
		must, test := textRule(want)
		if must = strings.TrimPrefix(must, "one of "); want == "" {
			must = "texts"
		}
		list, ok := listOf(value, func(element any) (string, bool) {
			text, ok := element.(string)
			return text, ok && test(text)
		})
		switch {
		case strings.Contains(want, "|"):
			ok = ok && (len(list) == 0 || isSet(list))
		case want == "urls":
			ok = ok && (len(list) == 0 || isSet(slices.Clone(list)))
		}
		return put(to, list, ok, "a list of "+must)
	}
	panic(fmt.Sprintf("config: a field of type %s", target.Type()))
}

func put[V any](to *V, value V, ok bool, must string) string {
	if !ok {
		return must
	}
	*to = value
	return ""
}

// listOf reads the elements of a list.
func listOf[V any](value any, read func(any) (V, bool)) (list []V, ok bool) {
	elements, ok := value.([]any)
	for _, element := range elements {
		v, sound := read(element)
		list, ok = append(list, v), ok && sound
	}
	return list, ok
}

// isSet sorts a list, and reports whether its elements are different and at least one.
func isSet[V int | float64 | string](list []V) bool {
	slices.Sort(list)
	return len(list) > 0 && len(slices.Compact(slices.Clone(list))) == len(list)
}

const smallest = math.SmallestNonzeroFloat64 // the range begins after 0

// bounds reads a range: "2 to 2^20", "above 0 to 1".
func bounds(want string) (low, high float64) {
	from, to, isRange := strings.Cut(strings.TrimPrefix(want, "set of "), " to ")
	if !isRange {
		return 0, 0
	}
	if from == "above 0" {
		return smallest, bound(to)
	}
	return bound(from), bound(to)
}

func bound(text string) float64 {
	if power, isPower := strings.CutPrefix(text, "2^"); isPower {
		n, _ := strconv.Atoi(power)
		return math.Ldexp(1, n)
	}
	x, _ := strconv.ParseFloat(text, 64)
	return x
}

func span(low, high float64) string {
	if low == smallest {
		return fmt.Sprintf("above 0, up to %v", high)
	}
	return fmt.Sprintf("from %v to %v", low, high)
}

// VariableName is what names of environment variables with keys are like. Keys themselves
// have other letters, mostly, so that one in the place of its name is refused untold.
var VariableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// prices matches the prices of prompts and answers, or nothing where they are not known.
var prices = regexp.MustCompile(`^([0-9]+([.][0-9]+)?/[0-9]+([.][0-9]+)?)?$`)

var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)

// textRule is the rule for a text, or the texts of a list, in words, and the test of each.
func textRule(want string) (must string, test func(string) bool) {
	switch {
	case want == "filled":
		return "a text, not empty", func(s string) bool { return strings.TrimSpace(s) != "" }
	case want == "price":
		return `a text of two prices, such as "0.15/0.60"`, prices.MatchString
	case want == "urls":
		return "different http or https addresses", isURL
	case want == "id":
		return "a name of letters, digits, and . _ + -", plainName.MatchString
	case strings.Contains(want, "|"):
		choices := strings.Split(want, "|")
		return "one of " + canonical(choices), func(s string) bool { return slices.Contains(choices, s) }
	}
	return "a text", func(string) bool { return true }
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// secret says how to write a value that may be a key or have a password, without repeating
// it; "" where nothing is wrong.
func secret(want string, value any) string {
	switch want {
	case "variable":
		if text, ok := value.(string); !ok || text != "" && !VariableName.MatchString(text) {
			return "must be the name of an environment variable, in capital letters, and not the key itself"
		}
	case "urls":
		list, _ := value.([]any)
		for _, element := range list {
			if address, _ := element.(string); display.HasCredentials(address) {
				return "has an address with a user or a password: leave them out; a key is taken from the environment variable that key_env names"
			}
		}
	}
	return ""
}

// record notes the canonical text of every key below a path. A list of tables is one key.
func record(values map[string]string, path string, s reflect.Value) {
	for field, value := range fields(s) {
		key := join(path, field.Tag.Get("toml"))
		switch {
		case value.Kind() == reflect.Struct:
			record(values, key, value)
		case value.Kind() == reflect.Slice && value.Len() == 0 && !isTables(value):
			values[key] = "[]"
		default:
			values[key] = canonical(value.Interface())
		}
	}
}

// canonical is the JSON of a value: one text for one value.
func canonical(value any) string {
	text, err := json.Marshal(value)
	if err != nil { // NaN and infinities, in messages only
		return fmt.Sprint(value)
	}
	return string(text)
}
