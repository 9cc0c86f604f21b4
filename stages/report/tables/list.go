package tables

import (
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// All is every table that the report knows, in its order.
var All = []*model.Table{Variance}

// Of is the tables that an experiment has.
func Of(s *stored.Settings) (tables []*model.Table) {
	for _, t := range All {
		if t.Has == nil || t.Has(s) {
			tables = append(tables, t)
		}
	}
	return tables
}

// Named is the table with that base name, nil if there is none.
func Named(base string) *model.Table {
	for _, t := range All {
		if t.Base == base {
			return t
		}
	}
	return nil
}
