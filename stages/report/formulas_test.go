package report

import (
	"strings"
	"testing"

	"speceval/stages/report/formula"
)

// contractual are the columns of tables that no made-up sheet has here.
var contractual = map[string]string{
	"table8_ts_neyman": "budget,alpha,m0,ts,ts_se,hbn,hbn_se,delta,draws,hbn_se,delta_se,raw,raw_se,candidates,ties,paper_alpha,paper_m0,paper_ts,paper_hbn,paper_delta",
}

func TestEveryColumnHasAFormula(t *testing.T) {
	paper := paperTargets(t)
	columns := map[string][]string{}
	for base, all := range contractual {
		columns[base] = strings.Split(all, ",")
	}
	for _, s := range sheets(t, smallStudy(), smallCosts(smallStudy()), &paper) {
		for _, c := range s.Data.Columns {
			columns[s.Base] = append(columns[s.Base], c.Name)
		}
	}
	for _, kind := range (Settings{Published: true}).tables() {
		if columns[kind.base] == nil {
			t.Errorf("%s: no sheet to hold its formulas against", kind.base)
		}
	}
	for base, names := range columns {
		for _, name := range names {
			f, ok := formula.Of(base, name)
			if !ok || f.Plain == "" || f.TeX == "" {
				t.Errorf("%s: column %s has no formula", base, name)
			}
		}
	}
	if _, ok := formula.Of("table1_variance", "no_such_column"); ok {
		t.Error("a column that no table has got a formula")
	}
}
