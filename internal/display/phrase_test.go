package display

import "testing"

func TestDuration(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0.0 s", 0.04: "0.0 s", 1: "1.0 s", 9.94: "9.9 s", 9.96: "10 s", 59.4: "59 s", 59.6: "1 min 0 s",
		200: "3 min 20 s", 3599.6: "1 h 0 min", 9000: "2 h 30 min",
	} {
		if got := Duration(seconds); got != want {
			t.Errorf("Duration(%g) = %q, want %q", seconds, got, want)
		}
	}
}

func TestAmounts(t *testing.T) {
	for x, want := range map[float64]string{8_712_192: "8,712,192", 2.34e10: "23 billion", 5.43: "5.4", 0: "0", 12_345_678: "12 million"} {
		if got := Scaled(x); got != want {
			t.Errorf("Scaled(%v) = %q, want %q", x, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -100: "-100", -1234: "-1,234"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q, want %q", n, got, want)
		}
	}
}
func TestWithinCountsWhatDoesNotFit(t *testing.T) {
	for _, test := range []struct {
		columns int
		want    string
	}{
		{20, "alpha, beta, γάμμα"},
		{18, "alpha, beta, γάμμα"},
		{17, "alpha, and 2 more"},
		{16, "alp…, and 2 more"},
		{3, "…, and 2 more"},
	} {
		if got := Within([]string{"alpha", "beta", "γάμμα"}, test.columns); got != test.want {
			t.Errorf("within %d columns: %q, want %q", test.columns, got, test.want)
		}
	}
}

func TestAnd(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "8": {"8"}, "8 and 16": {"8", "16"}, "8, 16 and 32": {"8", "16", "32"}} {
		if got := And(words); got != want {
			t.Errorf("%q is %q, want %q", words, got, want)
		}
	}
}
