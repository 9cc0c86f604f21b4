package tables

import (
	"strings"
	"testing"

	"speceval/stages/report/model"
)

// TestTablesHaveTheirColumnsWithoutRows: explain and diff read the roles of columns
// from tables of which nothing is stored.
func TestTablesHaveTheirColumnsWithoutRows(t *testing.T) {
	for _, of := range All {
		s, err := of.Blank()
		if err != nil {
			t.Errorf("%s: %v", of.Base, err)
			continue
		}
		if s.Rows != 0 || len(model.Keys(s.Columns)) == 0 {
			t.Errorf("%s has %d rows, and the keys %v", of.Base, s.Rows, model.Keys(s.Columns))
		}
		for _, c := range s.Columns {
			named := strings.HasSuffix(c.Name, "_se") || strings.HasSuffix(c.Name, "_sd")
			if c.Name != "" && !c.Virtual && (c.Words == "" || c.Role.IsNoise() != named) {
				t.Errorf("%s: %s has the role %d and the words %q", of.Base, c.Name, c.Role, c.Words)
			}
			if (c.Role == model.Error || c.Role == model.Spread) && s.Column(c.Of) == nil {
				t.Errorf("%s: %s is of %q, which is no column", of.Base, c.Name, c.Of)
			}
			if p := s.StoredColumn(model.PaperPrefix + c.Name); (p != nil) != (c.Rule != nil && !c.Virtual) || p != nil && (p.Role != model.Paper || p.Of != c.Name || p.Words == "") {
				t.Errorf("%s: %s beside the paper's: %+v", of.Base, c.Name, p)
			}
		}
	}
}
