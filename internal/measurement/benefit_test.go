package measurement_test

import (
	"os"
	"path/filepath"
	"testing"

	"speceval/internal/measurement"
	"speceval/internal/policy"
)

// timed is one policy in two repeats, worth 10 rollouts a task, with its Uniforms.
func timed() (all []measurement.Benefit) {
	for _, r := range repeated(setting(measurement.Simulated), 2) {
		of := measurement.Of{Policy: measurement.Uniform, Donors: "none", Equivalent: r.Budget}
		switch r.Strategy {
		case measurement.HBNSync:
			continue
		case measurement.HBNAsync:
			of = measurement.Of{Policy: policy.Staged.Name, Donors: "none", Equivalent: 9}
		}
		all = append(all, measurement.Benefit{Of: of, Repeat: r})
	}
	return all
}

func TestBenefitIsGroupedWithItsUniforms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.parquet")
	if err := os.WriteFile(path, encode(t, timed()), 0o644); err != nil {
		t.Fatal(err)
	}
	rows, err := measurement.ReadBenefit(path)
	if err != nil {
		t.Fatal(err)
	}
	strategies := []string{measurement.Uniform, measurement.HBNAsync, measurement.UniformEquivalent}
	groups, err := measurement.BenefitGroups(rows, policy.Staged.Key(), strategies...)
	if err != nil || len(groups) != 1 || groups[0].Budget != 8 || groups[0].Repeats() != 2 {
		t.Fatalf("%+v, %v", groups, err)
	}
	s := groups[0].Settings[0]
	if s.Runs[measurement.UniformEquivalent].Budget != 9 || s.Uniform().Budget != 8 || s.Uniform().TimeSeconds != 2 {
		t.Errorf("means over 1.5 and 2.5 seconds: %+v", s.Runs)
	}
	if groups, err := measurement.BenefitGroups(rows, policy.LOO.Key(), strategies...); err != nil || len(groups) != 0 {
		t.Errorf("a policy that was not executed: %+v, %v", groups, err)
	}
	rows[1].Equivalent = 10
	_, err = measurement.BenefitGroups(rows, policy.Staged.Key(), strategies...)
	wantError(t, err, "systems/benefit.parquet: b__model=m at budget 8 has no execution of uniform-equivalent at 10 for hbn_staged in repeat 0")
}

func TestUnsoundBenefitIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.parquet")
	for want, spoil := range map[string]func(rows []measurement.Benefit) []measurement.Benefit{
		"the same execution as row 2":          func(rows []measurement.Benefit) []measurement.Benefit { return append(rows, rows[1]) },
		"repeat -1 is negative":                func(rows []measurement.Benefit) []measurement.Benefit { rows[1].Repeat.Repeat = -1; return rows },
		"accepted_rollouts 1 is not n_tasks ×": func(rows []measurement.Benefit) []measurement.Benefit { rows[1].AcceptedRollouts = 1; return rows },
	} {
		if err := os.WriteFile(path, encode(t, spoil(timed())), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := measurement.ReadBenefit(path)
		wantError(t, err, path+": row ", want)
	}
}
