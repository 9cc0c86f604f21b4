package formula

import "speceval/internal/measurement"

// Words on sums of runs.
const (
	runsWords = " Published rows are of ‹data/measurements.parquet›, the others of ‹" + measurement.File + "›, where a run is the mean over repeats."
	sdWords   = ": the standard deviation of a single execution of the whole suite, over its repeats in ‹" + measurement.RepeatsFile +
		"›; empty where the suite was executed once, as the published one was."

	provenanceWords = "Where the runs come from: published with the paper, executed by the simulated fleet, or measured on servers."
	settingsWords   = "The number of profiles that the sums are over: those with a run of every strategy that the table compares."
	repeatsWords    = "How many executions of the suite the runs are the mean of: those in ‹" + measurement.RepeatsFile + "› that cover the same profiles; published runs were executed once."

	normalizedWords = "with each run's time first rescaled to the useful FLOPs of Uniform on the same profile, «T·F_U/F¦T\\,F_{\\mathrm{U}}/F» (Section 4.3)"
)

// slowdownWords is how much longer a strategy takes than Uniform.
func slowdownWords(strategy string) string {
	return "How much longer " + strategy + " takes than Uniform: «ΣT/ΣT_U − 1¦\\sum_j T_j/\\sum_j T_{\\mathrm{U},j}-1», summed over the profiles first and divided once (Appendix B.5)"
}

// costWords are the columns that Tables 2 to 4 share, and the spread of each of
// the given ones.
func costWords(where string, columns map[string]string, replayed ...string) map[string]string {
	all := map[string]string{"budget": budgetWords, "provenance": provenanceWords, "profiles": settingsWords, "repeats": repeatsWords}
	isReplayed := map[string]bool{}
	for _, c := range replayed {
		isReplayed[c] = true
	}
	for c, words := range columns {
		all[c] = words
		for name, words := range fromPaper(where, c) {
			all[name] = words
		}
		if !isReplayed[c] {
			all[c+"_sd"] = "The spread of " + c + sdWords
		}
	}
	return all
}

var costFormulas = map[string]map[string]string{
	"table2_compute": costWords("Table 2", map[string]string{
		"extra_rollouts": "Rollouts of HBN-async beyond the accepted ones, completed and discarded or aborted while they ran, over the rollouts of Uniform; each summed over the profiles first (Appendix B.5)." + runsWords,
		"useful_flops": "The change of useful computation, the first term of Eq. 14: «ΣF_async/ΣF_U − 1¦\\sum_j F^{\\mathrm{useful}}_{\\mathrm{async},j}/\\sum_j F_{\\mathrm{U},j}-1», " +
			"with the FLOPs of accepted rollouts by the proxy of Eq. 23." + runsWords,
		"wasted_flops": "Computation of HBN-async that was thrown away, the second term of Eq. 14: «ΣW_async/ΣF_U¦\\sum_j F^{\\mathrm{waste}}_{\\mathrm{async},j}/\\sum_j F_{\\mathrm{U},j}», " +
			"with the FLOPs by the proxy of Eq. 23; of aborted rollouts what had been seen of them, so a lower bound." + runsWords,
		"actual_flops": "The change of all computation, the left side of Eq. 14: useful_flops + wasted_flops." + runsWords,
	}),
	"table3_time": costWords("Table 3", map[string]string{
		"sync_time":        slowdownWords("HBN-sync") + "." + runsWords,
		"async_time":       slowdownWords("HBN-async") + "." + runsWords,
		"delta_time":       "sync_time − async_time: what filling the barrier saves." + runsWords,
		"sync_normalized":  slowdownWords("HBN-sync") + ", " + normalizedWords + "." + runsWords,
		"async_normalized": slowdownWords("HBN-async") + ", " + normalizedWords + "." + runsWords,
		"delta_normalized": "sync_normalized − async_normalized." + runsWords,
	}),
	"table4_benefit": with(costWords("Table 4", map[string]string{
		"continuous_budget": "The Uniform budget that HBN's variance is worth: «Σ N_j·b/r_j / Σ N_j¦\\sum_j N_j(b/r_j)/\\sum_j N_j», the mean weighted by tasks, " +
			"with the hbn rows of ‹replay/ratios.parquet› at this budget (Section 4.3).",
		"rounded_budget": "The equivalent budget that was executed: «Σ N_j·B_j / Σ N_j¦\\sum_j N_jB_j/\\sum_j N_j», with the whole budget «B_j» of each uniform-equivalent run, " +
			"«⌊b/r⌋¦\\lfloor b/r\\rfloor» by the ratios that its schedule was made of (Appendix B.5)." + runsWords,
		"rounded_over_continuous": "rounded_budget / continuous_budget: the share of the equivalent rollouts that rounding down leaves.",
		"uniform_equivalent_time": slowdownWords("Uniform at the rounded equivalent budget") + "." + runsWords,
		"async_time":              slowdownWords("HBN-async") + "." + runsWords,
		"delta":                   "uniform_equivalent_time − async_time: what HBN-async saves at equal variance, as a share of the time of Uniform at the budget «b»." + runsWords,
	}, "continuous_budget", "rounded_budget", "rounded_over_continuous"), map[string]string{
		"continuous_budget_se": "The Monte Carlo standard error of continuous_budget: the errors of replay and design through the slope «d(b/r)/dr = −b/r²¦\\mathrm{d}(b/r)/\\mathrm{d}r=-b/r^2», weighted by tasks; designs are shared within a task count.",
		"rounded_budget_se": "The Monte Carlo standard error of rounded_budget: that of continuous_budget, and the jumps of «⌊b/r⌋¦\\lfloor b/r\\rfloor» by one, «N_j²·s_j/√π¦N_j^2s_j/\\sqrt{\\pi}» each in squares for an error «s_j» of «b/r». " +
			"It is 0 in published rows: that budget was executed whatever our replay says.",
		"rounded_over_continuous_se": "The Monte Carlo standard error of the quotient: the relative errors of both budgets added in squares.",
		"budgets_differing":          "In how many settings the executed budget is not the «⌊b/r⌋¦\\lfloor b/r\\rfloor» of the stored ratios: their noise, or another schedule's, moves it across a whole number.",
	}),
}
