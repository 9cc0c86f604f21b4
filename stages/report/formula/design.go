package formula

// scheduleWords are the columns that Tables 5 and 6 share.
func scheduleWords(where string) map[string]string {
	return with(fromPaper(where, "m", "w"), map[string]string{"n_tasks": tasksWords, "budget": budgetWords})
}

var designFormulas = map[string]map[string]string{
	"table5_hbn_schedule": with(scheduleWords("Table 5"), map[string]string{
		"m": "HBN's pilot size: the integer «m = 1, …, b−1¦m=1,\\dots,b-1» whose least risk (Eq. 12) under the reference prior is smallest, the smaller of equals. The selected hbn row in ‹replay/designs.parquet›.",
		"w": "HBN's stage weight of the pilot: «w = B/(A + B)¦w=B/(A+B)» (Eq. 12), with the prior-averaged masses «A = N·v̄/m¦A=N\\bar v/m», known exactly, and " +
			"«B = E[Σ ṽ_i/L_i]¦B=\\mathrm{E}[\\sum_i\\tilde v_i/L_i]» (Eq. 10), the mean over prior-predictive pilot panels of the replicates. The selected hbn row in ‹replay/designs.parquet›.",
		"risk":    "The Bayes risk relative to Uniform at that «(m, w)¦(m,w)»: «b·w/m¦b\\,w/m», which is Eq. 11 at the optimum of Eq. 12. The selected hbn row in ‹replay/designs.parquet›.",
		"risk_se": "The Monte Carlo standard error of risk: from the spread of «B» over the independent replicates, to first order. The selected hbn row in ‹replay/designs.parquet›.",
	}),
	"table6_en_schedule": with(scheduleWords("Table 6"), map[string]string{
		"m": "EN's pilot size, chosen in hindsight: the integer «m = 1, …, b−1¦m=1,\\dots,b-1» whose least risk (Eq. 19) on the profiles with this task count is smallest, the smaller of equals. The selected tuned_en row in ‹replay/designs.parquet›.",
		"w": "EN's stage weight of the pilot: «w = C/(1/m + C)¦w=\\bar C/(m^{-1}+\\bar C)» (Eq. 19), with the continuation mass «C» of Eq. 17, the mean over the profiles with this task count. " +
			"The selected tuned_en row in ‹replay/designs.parquet›.",
		"risk":    "EN's mean variance relative to Uniform on these profiles at that «(m, w)¦(m,w)»: «b·{w²/m + (1−w)²·C}¦b\\{w^2/m+(1-w)^2\\bar C\\}» (Eq. 18). The selected tuned_en row in ‹replay/designs.parquet›.",
		"risk_se": "The Monte Carlo standard error of risk: from the spread of «C» over batches of the pilot draws, to first order. The selected tuned_en row in ‹replay/designs.parquet›.",
	}),
	"table7_flop_coefficients": with(fromPaper("Table 7", "theta_core", "theta_head", "full_attention_layers", "attention_width"), map[string]string{
		"model":                 "The checkpoint.",
		"theta_core":            "«θ_core¦\\theta_{\\mathrm{core}}» of the FLOP proxy (Eq. 23): parameters of the text core, without embeddings, output head, vision and multi-token prediction. Of ‹data/architectures.csv›.",
		"theta_head":            "«θ_head¦\\theta_{\\mathrm{head}}» of the FLOP proxy (Eq. 23): parameters of the output projection, the embedding matrix where weights are tied. Of ‹data/architectures.csv›.",
		"full_attention_layers": "«a» of the FLOP proxy (Eq. 23): layers with full attention. Of ‹data/architectures.csv›.",
		"attention_width":       "«d_attn¦d_{\\mathrm{attn}}» of the FLOP proxy (Eq. 23): query heads times their dimension. Of ‹data/architectures.csv›.",
	}),
}
