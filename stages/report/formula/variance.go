package formula

// Words on means of variance ratios and their errors.
const (
	ratioForm = "«r = b·{w²/m + (1−w)²·E[Σ v_i/L_i(S)]/Σ v_i}" +
		`¦r=b\bigl\{w^2/m+(1-w)^2\,\mathrm{E}[\sum_i v_i/L_i(S)]/\sum_i v_i\bigr\}»` +
		", with «v_i = p_i(1−p_i)¦v_i=p_i(1-p_i)» (Eq. 9 over the variance of Uniform)"
	meanForm = "the mean «(1/J)·Σ_j r_j¦J^{-1}\\sum_j r_j» over the «J» profiles, all alike in weight"

	meanErrorWords = "The Monte Carlo standard error of the mean: «(1/J)·√(Σ_j s_j² + Σ_N (Σ_{j of N} (dr_j/dw)·s_w)²)" +
		`¦J^{-1}\bigl(\sum_j s_j^2+\sum_N(\sum_{j:N_j=N}(\partial r_j/\partial w)\,s_w)^2\bigr)^{1/2}»` +
		". Profiles are replayed on draws of their own (errors «s_j», ratio_se in ‹replay/ratios.parquet›); those with one task count " +
		"share a design whose weight was estimated («s_w = s_risk·m/b¦s_w=s_{\\mathrm{risk}}\\,m/b» from risk_se in ‹replay/designs.parquet›), so there the derivatives add before they are squared."
)

// meanWords is the entry of a policy in a table of means.
func meanWords(policy, scores string) string {
	return "The variance of " + policy + " over that of Uniform, " + meanForm + ". On each profile " + ratioForm +
		"; " + scores + ". Of the rows of that policy and budget in ‹replay/ratios.parquet›."
}

var varianceFormulas = map[string]map[string]string{
	"table1_variance": with(fromPaper("Table 1", "oracle", "tuned_en", "tuned_ibn", "hbn"), map[string]string{
		"budget": budgetWords,
		"oracle": "The variance of the Oracle over that of Uniform, " + meanForm + ". The Oracle knows the profile and takes the exact integer allocation «n*¦n^*» of Eq. 2, so that " +
			"«r = b·Σ(v_i/n*_i)/Σ v_i¦r=b\\sum_i(v_i/n_i^*)/\\sum_i v_i», without Monte Carlo error. Of the oracle rows in ‹replay/ratios.parquet›.",
		"tuned_en":     meanWords("Tuned EN", "«L» is the exact integer allocation (Eq. 8) of the empirical scores (Eq. 16), «(m, w)¦(m,w)» those of Table 6"),
		"tuned_en_se":  meanErrorWords,
		"tuned_ibn":    meanWords("Tuned IBN", "«L» is the exact integer allocation (Eq. 8) of the scores under Beta(α, α) priors (Eq. 15) with the strength in ibn_alpha, «(m, w)¦(m,w)» designed under that prior (Eqs. 20 and 21)"),
		"tuned_ibn_se": meanErrorWords,
		"ibn_alpha": "The prior strength of IBN: the one of the grid whose mean ratio over the profiles is least at this budget (Eq. 22), the smaller of equals. " +
			"Of the means over ‹replay/ibn_candidates.parquet›.",
		"hbn":             meanWords("HBN", "«L» is the exact integer allocation (Eq. 8) of the posterior scores (Eqs. 6 and 7), «(m, w)¦(m,w)» those of Table 5"),
		"hbn_se":          meanErrorWords,
		"paper_ibn_alpha": "The prior strength that the paper's search selects (Appendix B.3), as ‹data/paper_targets.toml› has it.",
	}),
	"table8_ts_neyman": with(fromPaper("Table 8", "alpha", "m0", "ts", "hbn", "delta"), map[string]string{
		"budget": budgetWords,
		"alpha":  "The prior strength of TS-Neyman: with m0 the candidate whose mean over the profiles is least at this budget, among those that ran all trajectories (Appendix C.3). Of ‹replay/ts_candidates.parquet›.",
		"m0":     "The warm start of TS-Neyman, rollouts of every task before the sequential choices begin; selected together with alpha (Appendix C.3). Of ‹replay/ts_candidates.parquet›.",
		"ts": "The mean squared error of TS-Neyman over that of Uniform, «V_U = Σ v_i/(N²b)¦V_{\\mathrm{U}}=\\sum_i v_i/(N^2b)», " +
			"the mean over the profiles at the selected candidate: of whole sequential trajectories by Eq. 24, less a control variate of known mean. The row of ‹replay/ts_candidates.parquet› that is selected at this budget.",
		"ts_se":      "The Monte Carlo standard error of ts, from the spread over trajectories; the choice of the candidate by the same trajectories is not in it.",
		"hbn":        "HBN's entry of Table 1, which is its mean squared error as well, since it has no bias. Of the hbn rows in ‹replay/ratios.parquet›.",
		"hbn_se":     meanErrorWords,
		"delta":      "TS-Neyman minus HBN: «ts − hbn¦\\mathrm{ts}-\\mathrm{hbn}».",
		"delta_se":   "The Monte Carlo standard error of delta: those of ts and of hbn, which share no draws, added in squares.",
		"raw":        "The same mean squared error without the control variate: the plain mean of squared errors. The row of ‹replay/ts_candidates.parquet› that is selected at this budget.",
		"raw_se":     "The Monte Carlo standard error of raw.",
		"candidates": "How many pairs of prior strength and warm start were searched at this budget: the rows of ‹replay/ts_candidates.parquet›.",
		"ties":       "How many other finalists of the search are no worse than the selected one beyond 3 standard errors. Of ‹replay/ts_candidates.parquet›.",
		"draws":      "The trajectories of each profile that ts is the mean over.",
	}),
	"robustness": with(fromPaper("Appendix C.1", "profiles", "profiles_gaining", "worst_profile", "worst_ratio"), map[string]string{
		"budget":   budgetWords,
		"profiles": "The number of profiles on which HBN was replayed at this budget. Of the hbn rows in ‹replay/ratios.parquet›.",
		"profiles_gaining": "On how many profiles HBN gains beyond its Monte Carlo error: «r_j + 1.96·s_j < 1¦r_j+1.96\\,s_j<1», «s_j» the standard error of the replay (Appendix C.1). " +
			"Of the hbn rows in ‹replay/ratios.parquet›.",
		"worst_profile": "The profile with the largest variance ratio of HBN at this budget. Of the hbn rows in ‹replay/ratios.parquet›.",
		"worst_ratio":   "HBN's variance ratio on the worst profile: " + ratioForm + ". The largest of the hbn rows in ‹replay/ratios.parquet›.",
		"worst_se":      "The Monte Carlo standard error of worst_ratio over the pilot vectors replayed, given the design «(m, w)¦(m,w)».",
	}),
}

var profileFormulas = map[string]map[string]string{
	"profile_ratios": {
		"benchmark": benchmarkWords, "model": modelWords, "n_tasks": tasksWords, "budget": budgetWords, "policy": policyWords,
		"alpha": "The prior strength: of IBN and TS-Neyman, which have one.",
		"m":     "The pilot size «m», rollouts of every task before the allocation (Section 2), or the warm start «m_0» of TS-Neyman; the Oracle has none.",
		"w":     "The stage weight «w» of the pilot in the estimate (Eq. 4); none for the Oracle and TS-Neyman.",
		"variance_ratio": "The variance of the policy over that of Uniform on this profile: " + ratioForm + ", the expectation over the pilot vectors drawn. " +
			"The Oracle's, «b·Σ(v_i/n*_i)/Σ v_i¦b\\sum_i(v_i/n_i^*)/\\sum_i v_i» with the integer allocation of Eq. 2, is exact; TS-Neyman's is a mean squared error over trajectories (Appendix C.3). A row of ‹replay/ratios.parquet›.",
		"ratio_se": "The Monte Carlo standard error of variance_ratio: «b(1−w)²·sd(C)/√draws¦b(1-w)^2\\,\\mathrm{sd}(C)/\\sqrt{\\mathrm{draws}}», " +
			"with the spread of the continuation «C = Σ(v_i/L_i)/Σ v_i¦C=\\sum_i(v_i/L_i)/\\sum_i v_i» over the pilot vectors and the design «(m, w)¦(m,w)» given; 0 where the ratio is exact.",
		"draws": "The pilot vectors, or trajectories, that the ratio was replayed on; 0 where it is exact (Appendix B.4).",
	},
}
