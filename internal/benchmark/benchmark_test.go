package benchmark_test

import (
	"fmt"
	"strings"
	"testing"

	"speceval/internal/benchmark"
)

func TestFaultsNameFileAndRow(t *testing.T) {
	const header = "benchmark,n_tasks,scorer,family,title\n"
	cases := map[string]string{
		header:                                   "b.csv: there are no rows",
		"benchmark\n":                            "b.csv: column n_tasks is missing",
		header + "a,2,s,math,A\na,2,s,math,A\n":  `b.csv: row 2: benchmark "a" is empty or there twice`,
		header + "a,1,s,math,A\n":                `b.csv: row 1: n_tasks "1" is not an integer of at least 2`,
		header + "a,x,s,math,A\n":                `b.csv: row 1: n_tasks "x" is not`,
		header + "a,2,s,maths,A\n":               `b.csv: row 1: family "maths" is none of`,
		header + "a,2,,math,A\nb,2,s,choice,B\n": "b.csv: row 1: scorer or title is empty",
	}
	for text, want := range cases {
		if _, err := benchmark.Parse([]byte(text), "b.csv"); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: error %q, want one with %q", text, fmt.Sprint(err), want)
		}
	}
}
