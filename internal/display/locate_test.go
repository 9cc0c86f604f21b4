package display

import (
	"errors"
	"testing"
)

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
