package data_test

import (
	"fmt"
	"math"
	"math/big"
	"math/cmplx"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"speceval/internal/benchmark"
)

// TestMathAnswers works out every answer in another way than the problem was
// made.
func TestMathAnswers(t *testing.T) {
	whole := func(n int64) *big.Int { return big.NewInt(n) }
	// fraction is a rational number as the answers write it.
	fraction := func(r *big.Rat) string {
		sign := ""
		if r.Sign() < 0 {
			sign = "-"
		}
		return fmt.Sprintf(`%s\frac{%d}{%d}`, sign, new(big.Int).Abs(r.Num()), r.Denom())
	}
	// surd is the square root of n with its square factors taken out.
	surd := func(n int) string {
		for k := n; ; k-- {
			if n%(k*k) == 0 {
				return fmt.Sprintf(`%d\sqrt{%d}`, k, n/(k*k))
			}
		}
	}
	answers := map[string]func() string{
		"math-product":   func() string { return new(big.Int).Mul(whole(347), whole(286)).String() },
		"math-remainder": func() string { return new(big.Int).Exp(whole(7), whole(100), whole(13)).String() },
		"math-even-sum": func() string {
			sum := 0
			for n := 2; n <= 1000; n += 2 {
				sum += n
			}
			return strconv.Itoa(sum)
		},
		"math-digits": func() string {
			return strconv.Itoa(len(new(big.Int).Lsh(whole(1), 200).String()))
		},
		"math-zeros": func() string {
			digits := new(big.Int).MulRange(1, 125).String()
			return strconv.Itoa(len(digits) - len(strings.TrimRight(digits, "0")))
		},
		"math-choose":  func() string { return new(big.Int).Binomial(18, 5).String() },
		"math-divisor": func() string { return new(big.Int).GCD(nil, nil, whole(4368), whole(2772)).String() },
		"math-fraction": func() string {
			sum := new(big.Rat).Add(big.NewRat(5, 12), big.NewRat(7, 18))
			return fraction(sum.Sub(sum, big.NewRat(1, 4)))
		},
		"math-linear": func() string { return fraction(big.NewRat(-4-11, 7-3)) },
		"math-dice": func() string {
			good := int64(0)
			for a := 1; a <= 6; a++ {
				for b := 1; b <= 6; b++ {
					if a*b%6 == 0 {
						good++
					}
				}
			}
			return fraction(big.NewRat(good, 36))
		},
		"math-discount": func() string {
			return new(big.Rat).Mul(big.NewRat(46, 1), big.NewRat(1000-125, 1000)).FloatString(2)
		},
		"math-diagonal": func() string { return surd(4*4 + 10*10) },
		"math-roots": func() string {
			// The sum has the form k√3 if its square is 3k².
			sum := math.Sqrt(75) + math.Sqrt(48) - math.Sqrt(12)
			return surd(int(math.Round(sum * sum)))
		},
		"math-ring": func() string { return fmt.Sprintf(`%d\pi`, 9*9-5*5) },
		"math-zeros-of-cubic": func() string {
			var zeros []string
			for x := -100; x <= 100; x++ {
				if x*x*x-4*x*x-7*x+10 == 0 {
					zeros = append(zeros, strconv.Itoa(x))
				}
			}
			return `\{` + strings.Join(zeros, ",") + `\}`
		},
		"math-system": func() string {
			for x := -100; x <= 100; x++ {
				if y := 5*x - 5; 3*x+2*y == 16 {
					return fmt.Sprintf("(%d,%d)", x, y)
				}
			}
			return ""
		},
		"math-interval": func() string {
			var inside []int
			for x := -100; x <= 100; x++ {
				if math.Abs(float64(2*x-3)) <= 7 {
					inside = append(inside, x)
				}
			}
			first, last := inside[0], inside[len(inside)-1]
			if math.Abs(float64(2*first-3)) != 7 || math.Abs(float64(2*last-3)) != 7 {
				return "" // the ends are not whole numbers
			}
			return fmt.Sprintf("[%d,%d]", first, last)
		},
		"math-expand": func() string {
			f := func(x int) int { return (x+3)*(x-5) + (x-2)*(x-2) }
			a, c := (f(1)+f(-1)-2*f(0))/2, f(0)
			b := f(1) - a - c
			return strings.ReplaceAll(fmt.Sprintf("%dx^2+%dx+%d", a, b, c), "+-", "-")
		},
		"math-line": func() string {
			m := (7 - -1) / (6 - 2)
			return strings.ReplaceAll(fmt.Sprintf("y=%dx+%d", m, 7-6*m), "+-", "-")
		},
		"math-complex": func() string {
			z := complex(3, 2) * complex(1, -4)
			if cmplx.Abs(z-complex(math.Round(real(z)), math.Round(imag(z)))) > 0 {
				return ""
			}
			return strings.ReplaceAll(fmt.Sprintf("%d+%di", int(real(z)), int(imag(z))), "+-", "-")
		},
		"math-base": func() string { return strconv.FormatInt(201, 6) + "_6" },
	}
	for _, task := range smallTasks(t) {
		if task.Scorer != "math" {
			continue
		}
		work := answers[task.ID]
		if work == nil {
			t.Errorf("%s is not worked out here", task.ID)
			continue
		}
		if got := work(); got != task.Answer {
			t.Errorf("%s: the answer is %s, the file says %s", task.ID, got, task.Answer)
		}
	}
}

// TestChoiceAnswers finds the one option of every choice that fits its rule.
func TestChoiceAnswers(t *testing.T) {
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	sorted := func(word string) string {
		letters := strings.Split(word, "")
		slices.Sort(letters)
		return strings.Join(letters, "")
	}
	// greatest makes the rule that an option has the greatest value of all.
	greatest := func(value func(option string) float64) func(string, []string) bool {
		return func(option string, all []string) bool {
			return !slices.ContainsFunc(all, func(other string) bool { return value(other) > value(option) })
		}
	}
	each := func(fits func(option string) bool) func(string, []string) bool {
		return func(option string, _ []string) bool { return fits(option) }
	}
	rules := map[string]func(option string, all []string) bool{
		"choice-prime": each(func(o string) bool { return big.NewInt(int64(number(o))).ProbablyPrime(20) }),
		"choice-fraction": greatest(func(o string) float64 {
			r, _ := new(big.Rat).SetString(o)
			value, _ := r.Float64()
			return value
		}),
		"choice-letters": each(func(o string) bool { return len(slices.Compact(strings.Split(sorted(o), ""))) == len(o) }),
		"choice-binary": each(func(o string) bool {
			bits := strings.Split(strconv.FormatInt(int64(number(o)), 2), "")
			back := slices.Clone(bits)
			slices.Reverse(back)
			return slices.Equal(bits, back)
		}),
		"choice-weekday": each(func(o string) bool {
			wednesday := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
			return wednesday.Weekday() == time.Wednesday && wednesday.AddDate(0, 0, 100).Weekday().String() == o
		}),
		"choice-month": greatest(func(o string) float64 {
			first, err := time.Parse("January 2006", o+" 2025")
			if err != nil {
				t.Error(err)
			}
			return first.AddDate(0, 1, 0).Sub(first).Hours()
		}),
		"choice-dictionary": func(o string, all []string) bool { return o == slices.Max(all) },
		"choice-square": each(func(o string) bool {
			root := int(math.Round(math.Sqrt(float64(number(o)))))
			return root*root == number(o)
		}),
		"choice-length": greatest(func(o string) float64 {
			var value float64
			var unit string
			if _, err := fmt.Sscan(o, &value, &unit); err != nil {
				t.Error(err)
			}
			return value * map[string]float64{"km": 1000, "m": 1, "dm": 0.1, "cm": 0.01}[unit]
		}),
		"choice-roman":   greatest(func(o string) float64 { return float64(roman(o)) }),
		"choice-anagram": each(func(o string) bool { return sorted(o) == sorted("master") }),
		"choice-clock": each(func(o string) bool {
			hour := number(strings.TrimSuffix(o, ":00"))
			return hour*30 == 90 || hour*30 == 270
		}),
		"choice-pair": each(func(o string) bool {
			a, b, _ := strings.Cut(o, " and ")
			return (number(a)+number(b))%11 == 0
		}),
		"choice-hexadecimal": each(func(o string) bool {
			n, err := strconv.ParseInt(o, 16, 64)
			return err == nil && n == 200
		}),
	}
	for _, task := range smallTasks(t) {
		if task.Scorer != "choice" {
			continue
		}
		rule := rules[task.ID]
		if rule == nil {
			t.Errorf("%s has no rule here", task.ID)
			continue
		}
		checkChoice(t, task, rule)
	}
}

func checkChoice(t *testing.T, task benchmark.Task, rule func(option string, all []string) bool) {
	t.Helper()
	fitting := ""
	for i, option := range task.OptionTexts {
		if rule(option, task.OptionTexts) {
			fitting += string(rune('A' + i))
		}
	}
	if fitting != task.Answer {
		t.Errorf("%s: the options that fit are %q, the file says %s", task.ID, fitting, task.Answer)
	}
}

// roman is the value of a Roman numeral.
func roman(text string) int {
	values := map[byte]int{'I': 1, 'V': 5, 'X': 10, 'L': 50, 'C': 100, 'D': 500, 'M': 1000}
	total := 0
	for i := range len(text) {
		value := values[text[i]]
		if i+1 < len(text) && value < values[text[i+1]] {
			value = -value
		}
		total += value
	}
	return total
}

// TestQuestionsHaveShortAnswers keeps the reference of a judge short and out of
// the question.
func TestQuestionsHaveShortAnswers(t *testing.T) {
	word := regexp.MustCompile(`\w+`)
	for _, task := range smallTasks(t) {
		if task.Scorer != "judge" {
			continue
		}
		if n := len(word.FindAllString(task.Answer, -1)); n == 0 || n > 20 {
			t.Errorf("%s: the answer has %d words", task.ID, n)
		}
		if strings.Contains(strings.ToLower(task.Prompt), strings.ToLower(task.Answer)) {
			t.Errorf("%s gives its answer away", task.ID)
		}
	}
}
