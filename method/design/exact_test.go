package design_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/BurntSushi/toml"

	"speceval/data"
	"speceval/method/design"
)

// The design for 100 tasks and 32 rollouts a task on average, and the standard
// error that it promises of a benchmark whose tasks are as the prior expects.
func Example() {
	d, err := design.Compute(context.Background(), design.Settings{Tasks: 100, Budget: 32})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d pilots of every task, then %d continuations among them\n", d.Pilots, d.Tasks*(d.Budget-d.Pilots))
	fmt.Printf("the pilot weighs %.2f\n", d.Weight)
	fmt.Printf("%.2f of Uniform's variance\n", d.Risk)
	// Output:
	// 10 pilots of every task, then 2200 continuations among them
	// the pilot weighs 0.29
	// 0.91 of Uniform's variance
}

// The risk of every pilot size at a small budget: few pilots say little of where
// the variance is, many leave little to give.
func ExampleCurve() {
	curve, err := design.Curve(context.Background(), design.Settings{Tasks: 50, Budget: 6})
	if err != nil {
		panic(err)
	}
	for _, d := range curve {
		fmt.Printf("m = %d: w = %.2f, risk %.3f\n", d.Pilots, d.Weight, d.Risk)
	}
	// Output:
	// m = 1: w = 0.17, risk 0.992
	// m = 2: w = 0.33, risk 0.981
	// m = 3: w = 0.49, risk 0.978
	// m = 4: w = 0.66, risk 0.986
	// m = 5: w = 0.83, risk 1.000
}

// FuzzCompute takes settings of any size: an error or a design within its bounds,
// and never a panic. Large ones are cut off by their context.
func FuzzCompute(f *testing.F) {
	f.Add(2, 2, 1, 1)
	f.Add(100, 32, 8, 2)
	f.Add(65_535, 4096, 0, 0)
	f.Add(3, 100, 5, 3)
	f.Add(-1, 1<<40, -7, 1<<50)
	f.Fuzz(func(t *testing.T, tasks, budget, panels, replicates int) {
		s := design.Settings{Tasks: tasks, Budget: budget, Panels: panels, Replicates: replicates}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		small := tasks < 200 && budget < 200 && panels > 0 && panels < 20 && replicates > 0 && replicates < 4
		if !small {
			cancel()
		}
		d, err := design.Compute(ctx, s)
		switch {
		case err != nil:
			if d != (design.Design{}) {
				t.Errorf("%+v: %+v beside %v", s, d, err)
			}
		case !small:
			t.Errorf("%+v: a design after the context has ended", s)
		case d.Tasks != tasks || d.Budget != budget || d.Pilots < 1 || d.Pilots >= budget || !(d.Weight > 0 && d.Weight < 1 && d.Risk > 0):
			t.Errorf("%+v: %+v", s, d)
		}
	})
}

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
			curve := must(design.Curve(t.Context(), design.Settings{Tasks: tasks, Budget: budget, Panels: 256}))
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
