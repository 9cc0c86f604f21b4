package code_test

import (
	"runtime"
	"strings"
	"testing"

	"speceval/internal/scoring/code"
)

func TestSameOutput(t *testing.T) {
	for _, test := range []struct {
		got, want string
		same      bool
	}{
		{"1 2\n3\n", "1 2\n3", true},
		{"\n 1 2 \r\n\t3\n\n", "1 2\n3", true},
		{"1  2", "1 2", true}, // as numbers
		{"a  b", "a b", false},
		{"1\n\n2", "1\n2", false},
		{"1\n2", "1\n2\n3", false},
		{"1.0", "1", true},
		{"1e2 -0 +5 .5", "100 0 5.00 0.5", true},
		{"1e-400 1E400", "0.1e-399 10e399", true},
		{"0.1", "0.10000000000000000001", false},
		{"100000000000000000000", "100000000000000000001", false},
		{"1e999999999", "1e999999998", false},
		{"1e99999999999999999999", "2e99999999999999999999", false},
		{"YES", "Yes", false},
		{"1 a", "1.0 a", false},
		{"-1", "1", false},
		{"1_0", "10", false},
		{"- . e1 1e", "- . e1 1e", true},
		{"-", "0", false},
		{".", "0", false},
		{"", "", true},
		{"", "\n", true},
		{"", "0", false},
		{"\xff", "\xff", true},
	} {
		if same := code.SameOutput(test.got, test.want); same != test.same {
			t.Errorf("%q, %q: %v", test.got, test.want, same)
		}
		if same := code.SameOutput(test.want, test.got); same != test.same {
			t.Errorf("%q, %q the other way round: %v", test.got, test.want, same)
		}
	}
}

func TestSameValue(t *testing.T) {
	for _, test := range []struct {
		got, want string
		same      bool
	}{
		{"1", "1", true},
		{"1", "1.0", true},
		{"-0.0", "0", true},
		{"true", "1", true},
		{"[false, 0]", "[0.0, false]", true},
		{"1", `"1"`, false},
		{"null", "0", false},
		{"null", "null", true},
		{`"a\u00e9"`, `"aé"`, true},
		{"[1, 2]", "[1,2]", true},
		{"[1, 2]", "[2, 1]", false},
		{"[1]", "[1, 1]", false},
		{"[]", "{}", false},
		{"[]", "null", false},
		{`{"a": 1, "b": [2]}`, `{"b": [2.0], "a": true}`, true},
		{`{"a": 1}`, `{"b": 1}`, false},
		{`{"a": 1}`, `{"a": 1, "b": 1}`, false},
		{"0.1", "0.10000000000000000001", true}, // the same floating-point number
		{"0.30000000000000004", "0.3", false},
		{"9007199254740993", "9007199254740992.0", false},
		{"9007199254740993", "9007199254740993.0", false}, // which is ...992
		{"1e22", "10000000000000000000000", true},
		{"1e23", "100000000000000000000000", false}, // as in Python
		{"123456789012345678901234567890", "123456789012345678901234567890", true},
		{"1e999", "1e998", true}, // both infinite
		{"1e400", "-1e400", false},
		{"", "null", false},
		{"nonsense", "nonsense", false},
		{"1 2", "1", false},
		{"[1] 2", "[1]", false},
		{"[1", "[1]", false},
		{"[1, 2]", "[1]", false},
		{`{"a": 1, "b": {}}`, `{"b": {}, "a": 1}`, true},
		{`"\ud800"`, `"\ud801"`, true}, // halves of characters are all one
		{strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "[]", false},
	} {
		if same := code.SameValue(test.got, test.want); same != test.same {
			t.Errorf("%.60q, %.60q: %v", test.got, test.want, same)
		}
		if same := code.SameValue(test.want, test.got); same != test.same {
			t.Errorf("%.60q, %.60q the other way round: %v", test.got, test.want, same)
		}
	}
}

// TestResultOfAnySize has results as long as programs may make them: comparing one
// takes little beside it.
func TestResultOfAnySize(t *testing.T) {
	const most = 4 << 20 // bytes; a tree of such a result takes hundreds of times as many
	long := strings.Repeat("[],", 2<<20)
	for _, test := range []struct{ got, want string }{
		{"[" + long + "[]]", "[1]"},
		{"[[[" + long + "[]]]]", "[[[], 1]]"},
		{`{"a": 1, "b": [` + long + "[]]}", `{"b": [[]], "a": 1}`},
		{strings.Repeat("[", 6<<20), "[]"},
		{strings.Repeat(`{"a":`, 2<<20), `{"a": {"a": 2}}`},
		{strings.Repeat("1 ", 2<<20), "1"},
		{strings.Repeat("1 ", 2<<20), strings.Repeat("1 ", 10) + "2"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if code.SameValue(test.got, test.want) || code.SameOutput(test.got, test.want) {
			t.Errorf("%.30q is the same as %.30q", test.got, test.want)
		}
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > most {
			t.Errorf("%.30q, %.30q: %d bytes", test.got, test.want, taken)
		}
	}
}

// FuzzCompare holds both comparisons to what any must do.
func FuzzCompare(f *testing.F) {
	f.Add("1.0 2\na", "1 2.00\na")
	f.Add(`{"a":[1e3,true]}`, `{"a":[1000,1]}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if !code.SameOutput(a, a) || code.SameOutput(a, b) != code.SameOutput(b, a) || code.SameValue(a, b) != code.SameValue(b, a) {
			t.Fatal("one way only")
		}
		if code.SameValue(a, b) && !code.SameValue(a, a) {
			t.Fatal("not the same as itself")
		}
		if !code.SameOutput(" "+a+"\r\n\n", a) {
			t.Fatal("white space at the end")
		}
	})
}
