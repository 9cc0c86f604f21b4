package design_test

import (
	"context"
	"testing"

	"speceval/method/design"
)

// FuzzCompute takes settings of any size: an error or a design within its bounds,
// and never a panic. Large ones are cut off by their context.
func FuzzCompute(f *testing.F) {
	f.Add(2, 2, 1, 1, 1, 1)
	f.Add(100, 32, 8, 2, 16, 0)
	f.Add(65_535, 4096, 0, 0, 0, 0)
	f.Add(3, 100, 5, 3, 2, 9)
	f.Add(-1, 1<<40, -7, 1<<50, 99, -2)
	f.Fuzz(func(t *testing.T, tasks, budget, panels, replicates, order, workers int) {
		s := design.Settings{Tasks: tasks, Budget: budget, Panels: panels, Replicates: replicates, QuadratureOrder: order, Workers: workers}
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
