package paper

import "testing"

func TestNumbersOfThePaper(t *testing.T) {
	for base, want := range map[string]string{"table1_variance": "Table 1", "figure2_case_study": "Figure 2", "table12_x": "Table 12", "robustness": "", "mytable1_x": ""} {
		if n, name := Number(base); name != want || (n > 0) != (want != "") {
			t.Errorf("%s is %q, number %d; want %q", base, name, n, want)
		}
	}
}
