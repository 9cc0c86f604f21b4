package design_test

import (
	"math"
	"testing"

	"github.com/BurntSushi/toml"

	"speceval/data"
	"speceval/method/design"
)

// TestScheduleIsThePapers holds the designs against Table 5 of the paper. Risks
// are flat about the best pilot: the paper's must be as good as ours within five
// standard errors, and have the weight that is printed, to rounding and five
// standard errors of ours and of an estimate by the paper's 65,536 panels, whose
// risk is uncertain by 0.0025 at most.
func TestScheduleIsThePapers(t *testing.T) {
	var targets struct {
		Table5 struct {
			Tasks []int       `toml:"n_tasks"`
			M     [][]int     `toml:"m"`
			W     [][]float64 `toml:"w"`
		} `toml:"table5_hbn_schedule"`
	}
	if _, err := toml.Decode(string(data.PaperTargets()), &targets); err != nil {
		t.Fatal(err)
	}
	paper, same := targets.Table5, 0
	for i, tasks := range paper.Tasks {
		for j, budget := range []int{8, 16, 32, 64} {
			m, w := paper.M[i][j], paper.W[i][j]
			curve, err := design.Curve(t.Context(), design.Settings{Tasks: tasks, Budget: budget, Panels: 256})
			if err != nil {
				t.Fatal(err)
			}
			least := curve[0]
			for _, d := range curve {
				if d.Risk < least.Risk {
					least = d
				}
			}
			if least.Pilots == m {
				same++
			}
			at := curve[m-1]
			if at.Pilots != m || at.Risk-least.Risk > 5*at.RiskSE {
				t.Errorf("%d tasks, b = %d: the paper's pilot %d has %+v, the least is %+v", tasks, budget, m, at, least)
			}
			tolerance := 0.005 + 5*math.Hypot(at.RiskSE, 0.0025)*float64(m)/float64(budget)
			if math.Abs(at.Weight-w) > tolerance {
				t.Errorf("%d tasks, b = %d: weight %.4f ± %.4f, the paper has %v", tasks, budget, at.Weight, tolerance, w)
			}
		}
	}
	if same < 10 {
		t.Errorf("the pilot of %d designs of 20 is the paper's, want half and more", same)
	}
	t.Logf("the pilot of %d designs of 20 is the paper's", same)
}
