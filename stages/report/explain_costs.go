package report

import (
	"fmt"
	"math"
	"strings"

	"speceval/internal/measurement"
	"speceval/internal/variance"
)

// quotient is how a number of Tables 2 to 4 is made of settings: the sum of
// above over the sum of below, of each setting with HBN's variance ratio r.
type quotient struct {
	numbers []string // stored numbers that of gives
	of      func(s measurement.Setting, r float64) (above, below float64, numbers []float64)
}

func seconds(s measurement.Setting, strategy string) float64 { return s.Runs[strategy].TimeSeconds }

// normalized is a run's time rescaled to Uniform's useful FLOPs.
func normalized(s measurement.Setting, strategy string) float64 {
	run := s.Runs[strategy]
	return run.TimeSeconds * s.Uniform().UsefulFLOPs / run.UsefulFLOPs
}

// beyondUniform is how much longer a strategy takes than Uniform.
func beyondUniform(strategy string, time func(measurement.Setting, string) float64, what string) quotient {
	return quotient{[]string{strategy + " " + what, "uniform " + what}, func(s measurement.Setting, _ float64) (float64, float64, []float64) {
		t, u := time(s, strategy), seconds(s, measurement.Uniform)
		return t - u, u, []float64{t, u}
	}}
}

// apartOverUniform is by how much longer one strategy takes than another, over Uniform's
// time.
func apartOverUniform(one, other string, time func(measurement.Setting, string) float64, what string) quotient {
	return quotient{[]string{one + " " + what, other + " " + what, "uniform " + what}, func(s measurement.Setting, _ float64) (float64, float64, []float64) {
		a, b, u := time(s, one), time(s, other), seconds(s, measurement.Uniform)
		return a - b, u, []float64{a, b, u}
	}}
}

const normalizedSeconds = "seconds, normalized"

// quotients are the numbers of Tables 2 to 4, by table and column.
var quotients = map[string]map[string]quotient{
	computeTable.base: {
		"extra_rollouts": {[]string{"extra rollouts", "uniform rollouts"}, func(s measurement.Setting, _ float64) (float64, float64, []float64) {
			extra, all := float64(s.Runs[measurement.HBNAsync].ExtraRollouts), float64(s.Uniform().AcceptedRollouts)
			return extra, all, []float64{extra, all}
		}},
		"useful_flops": {[]string{"useful FLOPs", "uniform FLOPs"}, func(s measurement.Setting, _ float64) (float64, float64, []float64) {
			f, u := s.Runs[measurement.HBNAsync].UsefulFLOPs, s.Uniform().UsefulFLOPs
			return f - u, u, []float64{f, u}
		}},
		"wasted_flops": {[]string{"wasted FLOPs", "uniform FLOPs"}, func(s measurement.Setting, _ float64) (float64, float64, []float64) {
			w, u := s.Runs[measurement.HBNAsync].WastedFLOPs, s.Uniform().UsefulFLOPs
			return w, u, []float64{w, u}
		}},
		"actual_flops": {[]string{"useful FLOPs", "wasted FLOPs", "uniform FLOPs"}, func(s measurement.Setting, _ float64) (float64, float64, []float64) {
			run, u := s.Runs[measurement.HBNAsync], s.Uniform().UsefulFLOPs
			return run.UsefulFLOPs + run.WastedFLOPs - u, u, []float64{run.UsefulFLOPs, run.WastedFLOPs, u}
		}},
	},
	timeTable.base: {
		"sync_time":        beyondUniform(measurement.HBNSync, seconds, "seconds"),
		"async_time":       beyondUniform(measurement.HBNAsync, seconds, "seconds"),
		"delta_time":       apartOverUniform(measurement.HBNSync, measurement.HBNAsync, seconds, "seconds"),
		"sync_normalized":  beyondUniform(measurement.HBNSync, normalized, normalizedSeconds),
		"async_normalized": beyondUniform(measurement.HBNAsync, normalized, normalizedSeconds),
		"delta_normalized": apartOverUniform(measurement.HBNSync, measurement.HBNAsync, normalized, normalizedSeconds),
	},
	benefitTable.base: {
		"continuous_budget": {[]string{"variance_ratio", "n_tasks"}, func(s measurement.Setting, r float64) (float64, float64, []float64) {
			n := float64(s.NTasks)
			return n * float64(s.Budget) / r, n, []float64{r, n}
		}},
		"rounded_budget": {[]string{"executed budget", "n_tasks"}, func(s measurement.Setting, _ float64) (float64, float64, []float64) {
			n, b := float64(s.NTasks), float64(s.Runs[measurement.UniformEquivalent].Budget)
			return n * b, n, []float64{b, n}
		}},
		"rounded_over_continuous": {[]string{"executed budget", "variance_ratio", "n_tasks"}, func(s measurement.Setting, r float64) (float64, float64, []float64) {
			n, b := float64(s.NTasks), float64(s.Runs[measurement.UniformEquivalent].Budget)
			return n * b, n * float64(s.Budget) / r, []float64{b, r, n}
		}},
		"uniform_equivalent_time": beyondUniform(measurement.UniformEquivalent, seconds, "seconds"),
		"async_time":              beyondUniform(measurement.HBNAsync, seconds, "seconds"),
		"delta":                   apartOverUniform(measurement.UniformEquivalent, measurement.HBNAsync, seconds, "seconds"),
	},
}

// takeCosts takes a cell of Table 2, 3 or 4 apart: the settings that are summed
// and, of runs that were repeated, the number in each repeat.
func takeCosts(kind costKind) func(*evidence, place) (dissected, error) {
	return func(e *evidence, p place) (d dissected, err error) {
		costs, err := e.runs()
		if err != nil {
			return d, err
		}
		provenance, b := p.fields["provenance"], p.budget()
		settings := measurement.Settings(costs.Runs, provenance, b, kind.strategies...)
		if len(settings) == 0 {
			return d, fmt.Errorf("there are no %s runs at budget %d any more", provenance, b)
		}
		of, suffix := p.noise()
		column := -1
		for i, c := range kind.columns {
			if c.name == of {
				column = i
			}
		}
		if d.repeats, err = repeated(kind, costs, provenance, b, column); err != nil {
			return d, err
		}
		switch {
		case column < 0:
			d.parts, err = countedSettings(kind, costs, settings, p)
			return d, err
		case suffix == "_se":
			return d, errNoParts
		case suffix == "_sd":
			return d, nil
		}
		ratios, err := settingRatios(kind, costs, settings)
		if err != nil {
			return d, err
		}
		d.parts = quotients[kind.base][of].parts(of, settings, ratios)
		d.parts.From = rowsOf(kind, settings)
		if kind.columns[column].replayed {
			d.errors, err = e.budgetErrors(p, settings, ratios)
		} else {
			d.errors = []ErrorOf{spreadError(p, of, len(d.repeats))}
		}
		return d, err
	}
}

// rowsOf says which stored rows the settings are.
func rowsOf(kind costKind, settings []measurement.Setting) string {
	file := measurement.File
	if settings[0].Provenance == measurement.Published {
		file = measurementsFile
	}
	return fmt.Sprintf("the %d %s rows of %s at reference_budget %d with the strategies %s",
		len(settings)*len(kind.strategies), settings[0].Provenance, file, settings[0].Budget, strings.Join(kind.strategies, ", "))
}

// settingRatios is HBN's ratio in each setting, for tables that come from the
// replay.
func settingRatios(kind costKind, costs Costs, settings []measurement.Setting) ([]variance.Ratio, error) {
	if !kind.replayed() {
		return make([]variance.Ratio, len(settings)), nil
	}
	return hbnRatios(costs, settings)
}

// parts are the settings of a quotient.
func (q quotient) parts(column string, settings []measurement.Setting, ratios []variance.Ratio) *Parts {
	var belows float64
	for i, s := range settings {
		_, below, _ := q.of(s, ratios[i].VarianceRatio)
		belows += below
	}
	var parts []Part
	for i, s := range settings {
		above, below, numbers := q.of(s, ratios[i].VarianceRatio)
		parts = append(parts, shared(s.Profile(), above/belows, append([]float64{above / below}, numbers...)...))
	}
	what := fmt.Sprintf("profiles, %s runs", settings[0].Provenance)
	return added(what, append([]string{column}, q.numbers...), parts)
}

// repeated is the number in a column as each execution of the suite gives it.
func repeated(kind costKind, costs Costs, provenance string, budget int32, column int) ([]float64, error) {
	if column < 0 || kind.columns[column].replayed {
		return nil, nil
	}
	var values []float64
	for _, suite := range measurement.Suites(costs.Repeats, provenance, budget, kind.strategies...) {
		figures, err := kind.figures(costs, suite)
		if err != nil {
			return nil, err
		}
		values = append(values, figures[column].Value)
	}
	return values, nil
}

// spreadError is the error of a number that was measured: its spread over
// executions, where there were several.
func spreadError(p place, column string, repeats int) ErrorOf {
	const cause = "chance of an execution"
	sd, ok := numberIn(p.fields[column+"_sd"])
	if !ok {
		return ErrorOf{Cause: cause, About: "not known: the suite was executed once"}
	}
	se := sd / math.Sqrt(float64(repeats))
	return ErrorOf{cause, &se, fmt.Sprintf("of the mean over %d executions of the suite; a single one has %.6f", repeats, sd)}
}

// budgetErrors are the errors of an equivalent budget, by cause.
func (e *evidence) budgetErrors(p place, settings []measurement.Setting, ratios []variance.Ratio) ([]ErrorOf, error) {
	se, _ := numberIn(p.fields[p.column+"_se"])
	switch {
	case p.column == "rounded_budget" && settings[0].Provenance == measurement.Published:
		return []ErrorOf{{replayCause, &se, "none: this budget was executed, whatever our replay says"}}, nil
	case p.column != "continuous_budget":
		return []ErrorOf{{replayCause + " and " + designCause, &se, "with the jumps of a budget that is rounded down"}}, nil
	}
	var tasks float64
	weights := make([]float64, len(ratios))
	for _, r := range ratios {
		tasks += float64(r.NTasks)
	}
	for i, r := range ratios {
		weights[i] = float64(r.NTasks) / tasks * float64(r.Budget) / (r.VarianceRatio * r.VarianceRatio)
	}
	return e.errorsOf(ratios, weights)
}

// countedSettings are the settings behind a column that counts.
func countedSettings(kind costKind, costs Costs, settings []measurement.Setting, p place) (*Parts, error) {
	var parts []Part
	switch p.column {
	case "budgets_differing":
		ratios, err := hbnRatios(costs, settings)
		if err != nil {
			return nil, err
		}
		for i, s := range settings {
			want, err := variance.EquivalentBudget(s.Budget, ratios[i].VarianceRatio)
			if err != nil {
				return nil, err
			}
			executed := s.Runs[measurement.UniformEquivalent].Budget
			parts = append(parts, option(s.Profile(), math.Abs(float64(want-executed)), float64(want), float64(executed), ratios[i].VarianceRatio))
		}
		return ranked("profiles", "those that differ are counted", []string{"differs by", "budget of the ratio", "executed budget", "variance_ratio"}, parts, true), nil
	case "profiles":
		for _, s := range settings {
			parts = append(parts, option(s.Profile(), float64(s.NTasks)))
		}
		return ranked("profiles", "all are counted", []string{"n_tasks"}, parts, true).makes(float64(len(parts))), nil
	}
	return nil, errNoParts
}
