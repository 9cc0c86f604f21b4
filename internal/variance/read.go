package variance

import (
	"fmt"

	"speceval/internal/rowfile"
)

// ReadDesigns reads a file of designs and checks each: a pilot within the
// budget, a weight within (0, 1). Errors name the file and the row.
func ReadDesigns(path string) ([]Design, error) {
	rows, _, err := rowfile.ReadFile[Design](path)
	if err != nil {
		return nil, err
	}
	for i, d := range rows {
		if !(d.W > 0 && d.W < 1) || d.M < 1 || d.M >= d.Budget || !(d.RiskSE >= 0) {
			return nil, fmt.Errorf("%s: row %d: m = %d, w = %v, risk_se = %v are no design for budget %d",
				path, i+1, d.M, d.W, d.RiskSE, d.Budget)
		}
	}
	return rows, nil
}
