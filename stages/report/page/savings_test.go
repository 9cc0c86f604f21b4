package page

import (
	"testing"

	"speceval/internal/results/variance"
)

// TestASavingIsJudgedAsPrinted: no loss that is printed as zero is called one.
func TestASavingIsJudgedAsPrinted(t *testing.T) {
	for ratio, want := range map[float64]string{1.00001: "", 1.001: "needs more", 0.999: "", 1.0000001: "uncertain"} {
		if got := saved(variance.Ratio{VarianceRatio: ratio}, 1e-6); got.Word != want {
			t.Errorf("a ratio of %v is %q, want %q: %+v", ratio, got.Word, want, got)
		}
	}
}
