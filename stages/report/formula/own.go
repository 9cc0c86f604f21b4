package formula

import "speceval/internal/variance"

var errorFormulas = map[string]map[string]string{
	"error_split": {
		"budget": budgetWords, "policy": policyWords,
		"variance_ratio": "The variance of the policy over that of Uniform, " + meanForm + ": its entry of Table 1, or of Table 8 for TS-Neyman. Of ‹replay/ratios.parquet›.",
		"replay_se":      "The part of its error that comes from the finite number of draws of the replay: «(1/J)·√(Σ_j s_j²)¦J^{-1}(\\sum_j s_j^2)^{1/2}», with ratio_se of ‹replay/ratios.parquet›; profiles draw independently.",
		"design_se": "The part that comes from the estimation of the design: «(1/J)·√(Σ_N (Σ_{j of N} (dr_j/dw)·s_w)²)¦J^{-1}\\bigl(\\sum_N(\\sum_{j:N_j=N}(\\partial r_j/\\partial w)\\,s_w)^2\\bigr)^{1/2}», " +
			"with the error «s_w» of the stage weight that all profiles with one task count share. Of ‹replay/designs.parquet›; 0 for a policy without a design.",
		"profile_se": "The part that no longer replay would make smaller: the profiles are estimates, of K rollouts per task. «(1/J)·√(Σ_j t_j²)¦J^{-1}(\\sum_j t_j^2)^{1/2}», with the standard deviation «t_j» of the ratio " +
			"over profiles redrawn by the binomial law of their pass counts (profile_se of ‹" + variance.ErrorsFile + "›). Profiles are taken to err independently, as their rollouts were.",
		"shift": "By how much the mean ratio over redrawn profiles is above the ratio of the profiles themselves, «(1/J)·Σ_j d_j¦J^{-1}\\sum_j d_j»: an estimate of the bias that redrawing adds once more, " +
			"and so of the one that the finite K has given the table already. Of ‹" + variance.ErrorsFile + "›.",
		"shift_se":  "The Monte Carlo standard error of shift, «(1/J)·√(Σ_j e_j²)¦J^{-1}(\\sum_j e_j^2)^{1/2}», with shift_se of ‹" + variance.ErrorsFile + "›.",
		"resamples": "How many times each profile was redrawn. Of ‹" + variance.ErrorsFile + "›.",
	},
	"paired_differences": {
		"budget": budgetWords, "policy": "The policy that HBN is held against.",
		"difference":      "By how much the policy's variance ratio is above HBN's: «(1/J)·Σ_j (r_j − r_j^HBN)¦J^{-1}\\sum_j(r_j-r_j^{\\mathrm{HBN}})»; above 0 HBN has the lower variance. Of ‹" + variance.DifferencesFile + "›.",
		"difference_se":   "Its Monte Carlo standard error, «(1/J)·√(Σ_j e_j²)¦J^{-1}(\\sum_j e_j^2)^{1/2}», with the error «e_j» of each difference over the pilot vectors that both policies were replayed on, given both designs. Of ‹" + variance.DifferencesFile + "›.",
		"independent_se":  "What the error would be if the two were replayed on draws of their own: «(1/J)·√(Σ_j (s_j² + s_j,HBN²))¦J^{-1}\\bigl(\\sum_j(s_j^2+s_{j,\\mathrm{HBN}}^2)\\bigr)^{1/2}», with ratio_se of ‹replay/ratios.parquet›.",
		"profiles_better": "On how many profiles HBN has the lower ratio beyond noise: a difference above 1.96 of its standard errors.",
		"profiles_worse":  "On how many profiles HBN has the higher ratio beyond noise: a difference below −1.96 of its standard errors.",
		"profiles":        "The number of profiles that both policies were replayed on at this budget.",
	},
	"budget_equivalents": {
		"benchmark": benchmarkWords, "model": modelWords, "n_tasks": tasksWords, "budget": budgetWords,
		"hbn":               "HBN's variance ratio «r» on this profile: " + ratioForm + ". The hbn row of ‹replay/ratios.parquet›.",
		"equivalent_budget": "The rollouts per task that Uniform would need for HBN's variance: «b/r» (Section 4.3).",
		"equivalent_se":     "The Monte Carlo standard error of equivalent_budget: «b·s/r²¦b\\,s/r^2», with the error «s» of «r» by replay and by the design's weight.",
		"rounded":           "The whole budget «⌊b/r⌋¦\\lfloor b/r\\rfloor» that would be executed (Appendix B.5).",
	},
}
