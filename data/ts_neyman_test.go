package data_test

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"
)

// TestTheDefaultSearchAgreesWithTheLongOne reads what the best candidates of TS-Neyman
// were found to have at the paper's number of trajectories: with the control variate,
// without, and by the default search, within 3 standard errors.
func TestTheDefaultSearchAgreesWithTheLongOne(t *testing.T) {
	file, err := os.Open("ts_neyman_8192.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 5 {
		t.Fatalf("%d lines, want a head and four budgets", len(rows))
	}
	for _, row := range rows[1:] {
		of := map[string]float64{}
		for i, name := range rows[0] {
			if of[name], err = strconv.ParseFloat(row[i], 64); err != nil {
				t.Fatal(err)
			}
		}
		apart := func(a, aSE, b, bSE string) {
			if d := math.Abs(of[a] - of[b]); d > 3*math.Hypot(of[aSE], of[bSE]) {
				t.Errorf("b = %v: %s is %v, %s %v", of["b"], a, of[a], b, of[b])
			}
		}
		apart("mse", "mse_se", "raw", "raw_se")
		apart("mse", "mse_se", "default_mse", "default_se")
		if of["draws"] != 8192 || of["mse_se"] > 0.0002 {
			t.Errorf("b = %v: %v trajectories, standard error %v", of["b"], of["draws"], of["mse_se"])
		}
	}
}
