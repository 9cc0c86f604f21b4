package tables

import (
	"testing"

	"speceval/data"
	"speceval/internal/policy"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// blank is a table without stored rows.
func blank(of *model.Table) (*model.Sheet, error) {
	return of.Sheet(stored.NewSource(&stored.Settings{Architectures: data.Architectures()}, func(file string) (string, error) { return "", &dag.AbsentError{Output: file} }))
}

// Sizes is how many profiles HBN was replayed on, by budget.
var Sizes = &model.Table{
	Base: "sizes", Label: "tab:sizes",
	Reads: stored.Reads{Units: []dag.Ref{stored.DesignsRef, stored.RatiosRef}},
	Make:  makeSizes,
	Words: `
profiles  The profiles that HBN was replayed on.
hbn       HBN's entry of Table 1.
`,
}

type sizeRow struct {
	Budget   int32   `csv:"budget" head:"b|$b$"`
	Profiles int     `csv:"profiles" head:"Profiles"`
	HBN      float64 `csv:"hbn" head:"HBN" format:".1%"`
}

func makeSizes(src *stored.Source) (*model.Sheet, error) {
	all, err := stored.Standings(src)
	if err != nil {
		return nil, err
	}
	var rows []sizeRow
	for _, s := range all {
		if s.Policy == policy.HBN {
			rows = append(rows, sizeRow{s.Budget, len(s.Ratios), s.Value})
		}
	}
	return model.NewSheet("Profiles, and HBN's mean variance on them.", rows), nil
}

// TestTheExampleOfTheManual: docs/tables.md shows this table.
func TestTheExampleOfTheManual(t *testing.T) {
	s, err := blank(Sizes)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"budget", "profiles", "hbn"} {
		if s.Column(name) == nil {
			t.Errorf("the table of the manual has no column %q", name)
		}
	}
}
