package report

import (
	"strconv"
	"strings"
)

// costNumbers is a macro for every number of Tables 2 to 4, named after its
// provenance: \specPublishedAsyncTimeBSixFour is HBN-async's time beyond
// Uniform's at b = 64 over the published runs, in percent.
func costNumbers(costs Costs) ([]macro, error) {
	var out []macro
	for _, kind := range costKinds {
		rows, err := costRows(kind, costs)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			add := func(name, value string) {
				name = "spec" + capital(r.provenance) + name + "B" + spelled(r.budget)
				out = append(out, macro{name, strings.Replace(value, "-", "−", 1)})
			}
			for i, c := range kind.columns {
				if c.macro == "" {
					continue
				}
				f := c.format
				f.Signed = false
				add(c.macro, f.Print(r.cells[i].Value))
			}
			if kind.base == benefitTable.base {
				add("ExtraBudgetKept", points.Print(r.kept().Value))
				add("Executions", strconv.Itoa(r.repeats))
			}
		}
	}
	return out, nil
}

// capital is a word with a capital letter.
func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
