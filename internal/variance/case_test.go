package variance_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/variance"
)

// TestHalfWidths has two tasks of even odds: Σ p(1−p) is a half.
func TestHalfWidths(t *testing.T) {
	c := variance.Case{Profile: profile.Profile{TestedK: 2, TaskIDs: []string{"a", "b"}, PassCounts: []int{1, 1}}}
	if got, want := c.HalfWidth(1, 32), 1.96/16; math.Abs(got-want) > 1e-5 { // √(0.5/(2²·32)) is a sixteenth
		t.Errorf("%v, want %v", got, want)
	}
	if got := c.HalfWidth(0.25, 32) / c.HalfWidth(1, 128); math.Abs(got-1) > 1e-12 {
		t.Errorf("a quarter of the variance is worth %v of four times the budget", got)
	}
}

func TestDamagedDistributionsAreNamed(t *testing.T) {
	good := make([]variance.Estimates, 5)
	for i := range good {
		good[i] = variance.Estimates{Low: float64(i), High: float64(i + 1), Count: 2, Repetitions: 10, Expected: 0.1}
	}
	read := func(rows []variance.Estimates) error {
		path := filepath.Join(t.TempDir(), "e.parquet")
		var b bytes.Buffer
		if err := rowfile.Write(&b, rows, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := variance.ReadEstimates(path)
		return err
	}
	if err := read(good); err != nil {
		t.Error(err)
	}
	for i, damage := range []func(*variance.Estimates){
		func(e *variance.Estimates) { e.High = e.Low }, func(e *variance.Estimates) { e.Count = -1 }, func(e *variance.Estimates) { e.SD = math.NaN() },
		func(e *variance.Estimates) { e.Mean = math.NaN() }, func(e *variance.Estimates) { e.Repetitions = 0 },
	} {
		rows := slices.Clone(good)
		damage(&rows[3])
		if err := read(rows); err == nil || !strings.Contains(err.Error(), "e.parquet: row 4: ") {
			t.Errorf("damage %d: error %v", i, err)
		}
	}
}
