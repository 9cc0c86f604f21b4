package page

import (
	"testing"

	"speceval/internal/agreement"
	"speceval/internal/table"
)

func TestDecimalsFollowErrors(t *testing.T) {
	for _, c := range []struct {
		value, se float64
		want      string
	}{{0.8724716, 0.000205, "0.87247"}, {0.8724716, 0, "0.8725"}, {107.2758, 0.0975, "107.276"}, {0.13, 0, "0.13"}, {0.000053999, 0, "0.000054"}, {0, 0, "0"}} {
		v := Values{Obtained: []table.Cell{table.Number(c.value)}, Errors: []table.Cell{table.Number(c.se)}, Judged: make([]*agreement.Comparison, 1)}
		if got := v.Cells()[0]; got.Text != c.want {
			t.Errorf("%v ± %v prints %s, want %s", c.value, c.se, got.Text, c.want)
		}
	}
}

func TestHeadings(t *testing.T) {
	for column, want := range map[string]string{
		"tuned_en": "Tuned EN", "ibn_alpha": "IBN α", "n_tasks": "N", "wasted_flops": "Wasted FLOPs", "variance_ratio": "Variance ratio", "m0": "m₀",
	} {
		if got := Heading(column); got != want {
			t.Errorf("%s is headed %q, want %q", column, got, want)
		}
	}
}
