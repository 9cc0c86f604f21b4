package display

import (
	"slices"
	"testing"
)

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
		if d, e := distance(test.a, test.b), distance(test.b, test.a); d != test.want || e != test.want {
			t.Errorf("distance(%q, %q) = %d and %d, want %d", test.a, test.b, d, e, test.want)
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
