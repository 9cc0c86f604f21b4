package text

import (
	"math/big"
	"os"
	"strings"
	"testing"

	"speceval/internal/scoring"
	"speceval/internal/scoring/maths"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"42": "42", " 42\n": "42", "-7": "-7", "+7": "7", "\u22127": "-7", "3.14": "3.14", ".5": "0.5", "007": "7",
		"1,234": "1234", "1,234,567.89": "1234567.89", "1'234": "1234", "1_000_000": "1000000", "1\u202f234": "1234", `1{,}234`: "1234", `1\,234`: "1234",
		"6.02e23": "602000000000000000000000", "1E-3": "0.001", `6\times 10^{2}`: "600", "6×10^2": "600", "6 x 10^-2": "0.06", "6·10⁻²": "0.06", "10^3": "1000", "10⁵": "100000", `10^{-2}`: "0.01",
		"1/2": "0.5", "3 / 4": "0.75", `\frac{1}{2}`: "0.5", `-\frac{1}{2}`: "-0.5", `\dfrac12`: "0.5", "½": "0.5", "1½": "1.5", "1 1/2": "1.5", `2\frac{3}{4}`: "2.75", "-1 1/2": "-1.5", "1⁄4": "0.25", "4/2": "2",
		"$5": "5", `\$1,000`: "1000", "-$5": "-5", "€5": "5", "$-5": "-5",

		"": "", "abc": "", "NaN": "", "inf": "", "∞": "", "-inf": "", "1.2.3": "", "12:30": "", "1,23": "", "1,2345": "", "1,2,3": "", "1/0": "",
		"1 2": "", "5 km": "", "x = 5": "", "x2": "", "1e5000000000000000000": "", "0x1F": "", "1e": "", "٣": "", strings.Repeat("9", 6001): "",
	} {
		v, ok := parse(text)
		got, percent := v.Value, v.Percent
		exact, is := new(big.Rat).SetString(want)
		if ok != is || percent || ok && got.Cmp(exact) != 0 {
			t.Errorf("%.40q: %v, %t, want %q", text, got, ok, want)
		}
	}
	if v, ok := parse(`12.5\%`); !ok || !v.Percent || v.Value.Cmp(big.NewRat(25, 2)) != 0 {
		t.Errorf("%+v, %t", v, ok)
	}
}

// TestOtherLanguages has answers in other languages, which math reads alike.
func TestOtherLanguages(t *testing.T) {
	cases, err := os.ReadFile("../maths/testdata/languages.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(cases)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if v, _ := NewNumber(f[0], "").Score(t.Context(), scoring.Response{Text: f[1]}); v.Correct() != (f[2] == "true") {
			t.Errorf("%q for %s: read %q (%s), want %s", f[1], f[0], v.Answer, v.Note, f[2])
		}
	}
}

func TestNumber(t *testing.T) {
	for _, test := range []struct {
		gold, tolerance, text string
		right                 bool
	}{
		{"42", "", `\boxed{42}`, true},
		{"42", "", "Therefore, 42 remain.", true}, {"42", "", `The answer is not \boxed{42}.`, false},
		{"42", "", `\boxed{42.0}`, true},
		{"42", "", `\boxed{43}`, false},
		{"42", "", `41 or \boxed{x = 42 \text{ km}}`, true},
		{"42", "", `\boxed{42\,\mathrm{m/s^2}}`, true},
		{"42", "", `\boxed{x_1 = 42}`, true},
		{"42", "", `\boxed{42^\circ}`, true},
		{"42", "", `\boxed{\$42}`, true},
		{"42", "", `\boxed{42 or 43}`, false},
		{"42", "", `\boxed{not 42}`, false},
		{"42", "", `\boxed{42\pi}`, false},
		{"42", "", `\boxed{\sqrt{42}}`, false},
		{"42", "", `\boxed{42 million}`, false},
		{"42", "", `\boxed{42 + x}`, false},
		{"42", "", `\boxed{\infty}`, false},
		{"2", "", `\boxed{\frac{\pi}{2}}`, false},
		{"42", "", "It is 42.", true},
		{"15.5", "", "She pays $15 and 50 cents.", true},
		{"15", "", "Pears are $10 and apples $5, $15 in total.", true},
		{"64", "", "She pays 3*8=24, 8*5=40, total $64.", true},
		{"2.5", "", "2 hours, 30 minutes", true},
		{"0.25", "", "The chance is 1 in 4.", true},
		{"5", "", `\boxed{5} or 6`, false},
		{"0.33", "", `\boxed{\frac13} or 0.33`, true},
		{"42", "", "First 7, then 42", true},
		{"42", "", "So it is **42**", true}, // of Markdown
		{"42", "", "**Answer:** $\\mathbf{42}$", true},
		{"42", "", "#### 42", true}, // of GSM8K
		{"18", "", "A: 18 eggs", true}, {"18", "", "Q: 18", false}, {"18", "", "9 * 2 = 18", true}, {"18", "", "#### 9*2=18", true}, {"18", "", "So she makes 9 * 2 = $18.", true},
		{"18", "", "That is 6 + 3 * 4 = 6 + 12 = 18 dollars every day.", true}, {"5", "", `\boxed{m + n = 5}`, true},
		{"15", "", "So he spent $10 and then $5, a total of $15.", true}, {"5", "", "So he spent $10 and then $5, a total of $15.", false},
		{"100", "", "The answer is one hundred.", true}, {"100", "", "The answer is not one hundred.", false},
		{"7", "", "\\boxed{7 (or 7.0)}", true}, {"7", "", "\\boxed{7 (or 8)}", false},
		{"5.5", "", "5.5 hours (330 minutes)", true}, {"330", "", "5.5 hours (330 minutes)", true}, {"5.5", "", "5.5 hours (300 minutes)", false},
		{"8", "", "Answer: 8\nConfidence: 95%", true}, {"95", "", "Answer: 8\nConfidence: 95%", false},
		{"18", "", "9 * 2 = 19", false}, {"19", "", "9 * 2 = 19", false}, {"7", "", "Answer: 2x = 7", false}, // no value of x
		{"3.14", "0.01", `\boxed{22 / 7 \approx 3.1}`, true}, {"18", "", "9 * 2 < 18", false},
		{"42", "", "2**42", false},
		{"42", "", "42, of 100", false}, // the last one is read
		{"42", "", "no digits at all", false},
		{"42", "", "", false},
		{"42", "", "at 12:42", false},
		{"3", "", "on 2/3/2020 there were 3", true},
		{"-5", "", `\boxed{-5}`, true},
		{"-5", "", "x=\u22125", true},
		{"5", "", "x = 10-5", true},
		{"-5", "", "it is -5", true},
		{"-5", "", "it is 5", false},
		{"8", "", "10 - 2", true},
		{"1234.5", "", `\boxed{1,234.50}`, true},
		{"2/3", "", `\boxed{\frac{2}{3}}`, true},
		{"2/3", "", `\boxed{0.667}`, false},
		{"2/3", "0.001", `\boxed{0.667}`, true},

		{"3.14", "0.01", `\boxed{3.15}`, true}, // both ends count
		{"3.14", "0.01", `\boxed{3.13}`, true},
		{"3.14", "0.01", `\boxed{3.1299}`, false},
		{"200", "1%", `\boxed{202}`, true},
		{"200", "1%", `\boxed{198}`, true},
		{"200", "1%", `\boxed{202.1}`, false},
		{"-200", "1%", `\boxed{-202}`, true},
		{"6.02e23", "0.5%", `\boxed{6.022 \times 10^{23}}`, true},
		{"0", "0.1", `\boxed{-0.1}`, true},

		{"50%", "", `\boxed{50\%}`, true},
		{"50%", "", `\boxed{50}`, true},
		{"50%", "", `\boxed{0.5}`, true},
		{"50%", "", `\boxed{5}`, false},
		{"50", "", `\boxed{50\%}`, true},
		{"50", "", "It is 50 percent.", true},
		{"0.5", "", `\boxed{50\%}`, true},
		{"0.5", "", `\boxed{0.5\%}`, false},
		{"0.5%", "", `\boxed{0.5\%}`, true},
		{"0.5%", "", `\boxed{0.5}`, false},
		{"2.5", "", `\boxed{250\%}`, true},
		{"101", "", `\boxed{101_{2}}`, false},
		{"101", "", `\boxed{101_{10}}`, true},

		{"42", "", `\boxed{NaN}`, false},
		{"42", "", `\boxed{1e99999}`, false},
		{"nan", "", `\boxed{nan}`, false},
		{"inf", "", `\boxed{inf}`, false},
		{"42", "-1", `\boxed{42}`, false},
		{"0", "1%", `\boxed{0}`, false},
	} {
		v, err := NewNumber(test.gold, test.tolerance).Score(t.Context(), scoring.Response{Text: test.text})
		if err != nil || v.Correct() != test.right {
			t.Errorf("%s ± %s, %q: %+v, %v", test.gold, test.tolerance, test.text, v, err)
		}
	}
	for text, right := range map[string]bool{`\boxed{42}, and`: true, "42": false, `\boxed{4`: false} {
		if v, _ := NewNumber("42", "").Score(t.Context(), scoring.Response{Text: text, Cut: true}); v.Correct() != right {
			t.Errorf("cut %q: %+v", text, v)
		}
	}
	if v := check(NewNumber("42", ""), strings.Repeat("é", 5000)+" 42. "+strings.Repeat("é", 5000)); !v.Correct() {
		t.Errorf("%+v", v)
	}
}

func TestFaults(t *testing.T) {
	for _, test := range []struct {
		gold, tolerance, want string
	}{
		{"42", "", ""},
		{"42", "0", ""},
		{"42", "0.5", ""},
		{"42", "1e-3", ""},
		{"42", "1%", ""},
		{"42", "-1", "must be a number from 0 on"},
		{"42", "x", "must be a number from 0 on"},
		{"42", "nan", "must be a number from 0 on"},
		{"42", "1/3%", "without a fraction"},
		{"0", "1%", "a share of 0 is nothing"},
	} {
		if got := ToleranceFault(test.gold, test.tolerance); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s ± %s: %q, want %q", test.gold, test.tolerance, got, test.want)
		}
	}
	for gold, fault := range map[string]bool{"x": false, " ": true, "": true, "\u00a0\n": true} {
		if (ExactFault(gold) != "") != fault {
			t.Errorf("%q: %q", gold, ExactFault(gold))
		}
	}
	for gold, fault := range map[string]bool{"1,234": false, "2/3": false, "about 5": true, "5 apples": true, "5 million": true, "50 percent": false, "": true, "inf": true} {
		if (NumberFault(gold) != "") != fault {
			t.Errorf("%q: %q", gold, NumberFault(gold))
		}
	}
}

func FuzzNumber(f *testing.F) {
	for _, seed := range [][3]string{
		{"1,234.5", "1%", `\boxed{1 2/3 \times 10^{5}\%}`}, {"-2/3", "0.1", "x=\u22121½ or 1e999"}, {"50%", "", "$-5^{2}$ per cent"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, gold, tolerance, text string) {
		v, err := NewNumber(gold, tolerance).Score(t.Context(), scoring.Response{Text: text})
		if err != nil || v.Reward != 0 && v.Reward != 1 || len(v.Answer) > 500 || len(v.Note) > 500 {
			t.Fatalf("%q, %q, %q: %+v, %v", gold, tolerance, text, v, err)
		}
		if v.Correct() && (NumberFault(gold) != "" || ToleranceFault(gold, tolerance) != "") {
			t.Fatalf("%q, %q, %q is right", gold, tolerance, text)
		}
		if v, ok := parse(gold); ok && !v.Percent && v.Value.IsInt() && len(v.Value.Num().String()) < 100 && !check(NewNumber(gold, ""), `\boxed{`+v.Value.Num().String()+`}`).Correct() {
			t.Fatalf("%q is not %s", gold, v.Value.Num())
		}
	})
}

// TestTimeOfNumbers would take hours if any of these took quadratic time in the text.
func TestTimeOfNumbers(*testing.T) {
	for _, piece := range []string{"1 ", "1/2 ", "-$ 1 ", "1,", `\frac{1}{2}`, "1e9 ", "1 1/2", `\text{`, "½", "x2 ", "          1"} {
		for _, text := range []string{strings.Repeat(piece, 1<<20/len(piece)), `\boxed{` + strings.Repeat(piece, 1900/len(piece)) + "}"} {
			check(NewNumber("1", ""), text)
		}
	}
}

// phrases stand around a number in a box, at #. Those of the first list make it another
// number, or none.
var phrases = [2]string{
	`# doubled|# halved|# tripled|# quartered|# squared|# cubed|# reversed|# inverted|# negated|# rounded up|# truncated|# factorial|# double factorial|# subfactorial|# choose two|# plus one|# plus a half|# minus three|
	# times ten|# divided by two|# over three|# to the fourth|# to the power of two|# mod five|# base eight|# in binary|# dozen|# gross|# score|# hundred|# thousand|# million|# lakh|# crore|# quarters|# thirds|
	# fifths|# percent of ten|# at most|# at least|# at best|# or more|# or less|# or so|# or eight|# and up|# and a half|# plus or minus one|# more or less|# max|# maximum|# tops|# exclusive of zero|# not included|
	# excluded|# negative|# even|# irrational|# imaginary|# impossible|# undefined|# invalid|# wrong|# false|# not|# never|# rejected|# maybe|# probably not|# unlikely|# if odd|# unless zero|# when odd|# more|# fewer|
	# more than eight|# less than eight|# short of ten|# away from ten|# off|# too many|# below zero|# fold|# repeating|# times itself|# out of ten|# in ten|# to one|# except one|# excluding zero|# is wrong|
	# is too small|# is not the answer|# would be wrong|# can be excluded|# as an upper bound|# lower bound|# limit|# reciprocal|# conjugate|# inverse|# root|# apples (wrong)|# apples at most|# apples or more|
	at most #|at least #|less than #|not #|half of #|twice #|the answer is not #|answer is at most #|up to #|over #|between 6 and #|maybe #|wrong: #|No: #|all but #|anything but #|undefined at #|Problem #`,
	`# apples|# ways|# people|# positive integers|# distinct values|# different ways|# possible values|# ordered pairs|# more apples|# red balls|# minutes|# square units|# units|# square inches|# cm|# feet per second|
	# miles per hour|# students|# divisors|# digits|# prime numbers|# odd integers|# times|# points|# of them|# altogether|# in total|# exactly|# only|# real roots|# triangles|# games played|# tiles used|# dollars|# years old|
	# multiples of three|# non-empty subsets|# additional cookies|# light-years|# ft-lb|# g/mol|# km north|# apples (in total)|exactly #|The answer is #|Answer: #|The number of ways is #|Total: #|about #`,
}

// TestPhrases holds that a number with words around it is another number, or none, for
// both scorers that read one.
func TestPhrases(t *testing.T) {
	for list, right := range []bool{false, true} {
		for _, phrase := range strings.Split(phrases[list], "|") {
			for _, gold := range []string{"7", "540", "-12", "2.5"} {
				before, behind, _ := strings.Cut(strings.TrimSpace(phrase), "#")
				text := `\boxed{\text{` + before + "} " + gold + `\text{` + behind + "}}"
				if v := check(NewNumber(gold, ""), text); v.Correct() != right {
					t.Errorf("number: gold %s, %q: %+v", gold, text, v)
				}
				if v := check(maths.New(gold), text); v.Correct() != right {
					t.Errorf("math: gold %s, %q: %+v", gold, text, v)
				}
			}
		}
	}
}
