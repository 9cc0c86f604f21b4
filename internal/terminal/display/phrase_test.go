package display

import (
	"errors"
	"slices"
	"testing"
)

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

func TestNearest(t *testing.T) {
	known := []string{"run", "plan", "replay", "report", "keep-going"}
	tests := map[string]string{
		"reply": "replay", "repot": "report", "rum": "run", "rnu": "run", "pln": "plan",
		"rep":        "replay", // abbreviates two: the first
		"keep":       "keep-going",
		"keepgoing":  "keep-going",
		"run":        "run",
		"xyz":        "",
		"":           "",
		"completely": "",
	}
	for word, want := range tests {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistanceIsSymmetric(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"froce", "force", 1}}
	for _, test := range tests {
		if d, e := Distance(test.a, test.b), Distance(test.b, test.a); d != test.want || e != test.want {
			t.Errorf("Distance(%q, %q) = %d and %d, want %d", test.a, test.b, d, e, test.want)
		}
	}
}

func TestClosest(t *testing.T) {
	known := []string{"oracle", "tuned_en", "tuned_ibn", "hbn", "hbn_se"}
	for word, want := range map[string][]string{
		"hbm":    {"hbn", "hbn_se"},
		"ibn":    {"tuned_ibn", "hbn"},
		"orakel": {"oracle", "hbn"},
	} {
		if got := Closest(word, known, 2); !slices.Equal(got, want) {
			t.Errorf("Closest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Closest("tabel7", []string{"table3_time", "table7_flop_coefficients", "robustness"}, 1); got[0] != "table7_flop_coefficients" {
		t.Errorf("by its beginning: %q", got)
	}
	if got := Closest("x", nil, 3); got != nil {
		t.Errorf("of nothing: %q", got)
	}
}

func TestLocate(t *testing.T) {
	known := []string{"N=19 b=8", "N=19 b=16", "Tuned EN", "tuned_ibn", "tuned_en", "t1_a", "t10_a"}
	for word, want := range map[string]int{"N=19 b=8": 0, "19 8": 0, "n=19 16": 1, "TUNED_IBN": 3, "tuned e": 2, "t1": 5, "t10": 6} {
		if i, err := Locate("row", word, known); err != nil || i != want {
			t.Errorf("%q is %d (%v), want %d", word, i, err, want)
		}
	}
	for word, want := range map[string]string{
		"tuned_":   `"tuned_" could be more than one row: tuned_ibn, tuned_en`,
		"19":       `"19" could be more than one row: "N=19 b=8", "N=19 b=16"`,
		"t":        `"t" could be more than one row: "Tuned EN", tuned_ibn, tuned_en, t1_a, t10_a`,
		"tuned_xn": `there is no row "tuned_xn"; the nearest are tuned_en, tuned_ibn, "Tuned EN", t1_a, t10_a`,
	} {
		_, err := Locate("row", word, known)
		var name *NameError
		if !errors.As(err, &name) || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := Locate("row", "x", nil); err == nil || err.Error() != `there is no row "x", nor any other` {
		t.Errorf("error %v", err)
	}
}
func TestShellWords(t *testing.T) {
	for text, want := range map[string]string{"a/b-1.csv": "a/b-1.csv", "http://h:1,key_env=K": "http://h:1,key_env=K", "": "''", "a b": "'a b'", "o'k": `'o'\''k'`, "$(x)": "'$(x)'", "a\n": "'a\n'"} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
