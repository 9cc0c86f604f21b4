package formula

import (
	"fmt"
	"maps"

	"speceval/internal/measurement"
	"speceval/internal/variance"
)

const (
	strategyWords = "How the rollouts were submitted: uniform, or HBN with a barrier after the pilot (hbn-sync) or with speculation in its place (hbn-async)."
	answeredWords = "Whether real servers answered (measured) or simulated ones."
	countWords    = "How many runs the row is of."
	firstWords    = "of the first generation"
	secondWords   = "of the second generation, ‹report.second›"
	ofRuns        = " Of ‹" + measurement.RunsFile + "›."
	ofPredictions = " Of ‹" + measurement.PredictionsFile + "›."
)

var measuredFormulas = join(predictionFormulas, secondFormulas, spreadFormulas)

var predictionFormulas = map[string]map[string]string{
	"prediction_times": {
		"benchmark": benchmarkWords, "model": modelWords, "budget": budgetWords, "strategy": strategyWords, "runs": countWords,
		"measured_seconds":  "The wall-clock time of a run, from the first dispatch to the last selected reward (Section 4.3): the mean over runs." + ofPredictions,
		"measured_se":       "The standard error of measured_seconds: the spread over runs, over the root of their number; none of a single run.",
		"predicted_seconds": "What a timing model says of the same setting that was fitted to the runs of Uniform alone, on the same servers: the mean over executions under a virtual clock." + ofPredictions,
		"predicted_sd":      "The standard deviation of the executions under the virtual clock: their lengths are drawn where Uniform had no such rollout.",
		"difference":        "Measured minus predicted, over measured: «1 − predicted/measured¦1-\\mathrm{predicted}/\\mathrm{measured}».",
		"difference_se":     "The standard error of difference: error_seconds over the measured time.",
		"error_seconds":     "The standard error of measured minus predicted: «s·predicted/√runs¦s\\cdot\\mathrm{predicted}/\\sqrt{\\mathrm{runs}}» and predicted_sd, added in squares. s is how far single runs of HBN were from what was predicted of them, relatively: their standard deviation about the means of their rows, in all settings of the model together; there is none if no row has two runs." + ofPredictions,
		"scale":             "How much longer the times of the fitted speed are made, that those of Uniform and its equivalent come out in sum in each repeat: the mean over repeats." + ofPredictions,
		"verdict":           "Agreement within 5%, whatever the error; or within noise, up to 3 standard errors. Uniform's times are fitted and not judged.",
	},
	"prediction_variance": {
		"provenance": answeredWords, "benchmark": benchmarkWords, "model": modelWords, "budget": budgetWords,
		"strategy":         strategyWords + " Rows hbn are both of HBN's together: what they estimate has the same law.",
		"runs":             countWords + " Each has seeds of its own, and its rewards are verdicts of scorers.",
		"uniform_runs":     "How many runs of Uniform the ratio is relative to.",
		"variance":         "The variance of the runs' estimates of the benchmark mean (Eq. 4) about their own mean, unbiased: «Σ_j (x_j − x̄)²/(n−1)¦\\sum_j(x_j-\\bar x)^2/(n-1)»; of two strategies together, each about its own mean." + ofRuns,
		"uniform_variance": "The same of Uniform's runs, in the same setting." + ofRuns,
		"ratio":            "The variance over that of Uniform, both as measured.",
		"ratio_se": "The standard error of ratio, by the delta method: «ratio·√(ψ'(k/2) + ψ'(k_U/2))¦\\mathrm{ratio}\\cdot(\\psi'(k/2)+\\psi'(k_{\\mathrm{U}}/2))^{1/2}» on «k» and «k_U¦k_{\\mathrm{U}}» degrees of freedom, " +
			"which holds for estimates that are nearly normal, as means over many rollouts are.",
		"replayed":    "What the replay says of this ratio: the hbn row of this profile and budget in ‹" + variance.TwoStageFile + "›.",
		"replayed_se": "The standard error of replayed: its Monte Carlo error and the error that comes from the profile, of ‹" + variance.ErrorsFile + "›, added in squares.",
		"z": "The difference of ratio and replayed in standard errors, on the logarithmic scale: «{ln(ratio) − bias − ln(replayed)}/√(ψ'(k/2) + ψ'(k_U/2) + s²/replayed²)" +
			"¦\\{\\ln(\\mathrm{ratio})-\\mathrm{bias}-\\ln(\\mathrm{replayed})\\}/(\\psi'(k/2)+\\psi'(k_{\\mathrm{U}}/2)+s^2/\\mathrm{replayed}^2)^{1/2}», the bias that of the logarithm of a «χ²¦\\chi^2» variable.",
		"verdict":      "Agreement within noise up to 3 standard errors; fewer than 10 runs are not judged.",
		"mean":         "The mean of the runs' estimates." + ofRuns,
		"profile_mean": "The mean of the profile's pass probabilities, which the runs estimate.",
		"bias":         "The mean of the estimates minus that of the profile.",
		"bias_se": "The standard error of bias: that of the mean of the runs, and that of the profile's mean, «√(Σ p(1−p)/K)/N¦(\\sum_i p_i(1-p_i)/K)^{1/2}/N», added in squares. " +
			"The variance ratios do not have the profile's error: about the profile's mean it would add «b/K» of Uniform's variance to each.",
		"bias_z":       "The bias in standard errors.",
		"bias_verdict": "Agreement within noise up to 3 standard errors; fewer than 10 runs are not judged.",
	},
	"orchestrator": {
		"provenance": answeredWords, "benchmark": benchmarkWords, "model": modelWords, "budget": budgetWords, "strategy": strategyWords, "runs": countWords,
		"rewards":            "Whether rewards are drawn by hash with the probabilities of the profile (coupled, Section 4.3) or verdicts of scorers on the responses (scored).",
		"wall_seconds":       "The wall-clock time of a run, the mean over runs." + ofRuns,
		"cpu_seconds":        "Processor time of the whole program during a run, the mean over runs; servers are other processes." + ofRuns,
		"cores":              "Processor cores of the machine that the program runs on." + ofRuns,
		"core_share":         "cpu_seconds over wall_seconds: the share of one processor core.",
		"cpu_share":          "core_share over cores: the program's share of the processors, which it may have in common with servers.",
		"router_share":       "The part of the time that the router was at work, which decides and submits: its seconds over wall_seconds." + ofRuns,
		"gap_median_seconds": "From a completion to the next submission in its place: the median of a run, the mean over runs." + ofRuns,
		"gap_p99_seconds":    "From a completion to the next submission in its place: the 99th percentile of a run, the mean over runs." + ofRuns,
		"verdict":            "Agreement if cpu_share is below 5%, of runs under coupled rewards on real servers. Others are shown.",
	},
}

const fisherWords = "twice the smaller tail of the hypergeometric distribution of the passes, given those of both (Fisher's exact test), 1 at most"

var secondFormulas = map[string]map[string]string{
	"prediction_profile": {
		"benchmark": benchmarkWords, "model": modelWords, "n_tasks": "How many tasks both generations have.",
		"rollouts": "The rollouts of each task " + firstWords + ".", "second_rollouts": "The rollouts of each task " + secondWords + ".",
		"tasks_below":     "On how many tasks the p-value is 1% or less by itself, of which chance gives 1% at most.",
		"tasks_differing": "How many tasks differ by Holm's procedure, under which a false alarm on any of them has a probability of 0.5% at most.",
		"smallest_p":      "The smallest p-value of the tasks: " + fisherWords + ".",
		"tasks_verdict":   "Agreement if no task differs.",
		"mean":            "The mean pass probability " + firstWords + ".", "second_mean": "The mean pass probability " + secondWords + ".",
		"difference":    "The mean of the second generation minus that of the first.",
		"difference_se": "The standard error of difference if nothing has changed: «√(Σ p(1−p)(1/K₁ + 1/K₂))/N¦(\\sum_i p_i(1-p_i)(1/K_1+1/K_2))^{1/2}/N», with the rates «p» of both together.",
		"z":             "The difference in standard errors.",
		"p":             "The p-value of the passes of all tasks together: the sum of the hypergeometric distributions of the tasks, exactly or, where it is as good as normal, by the normal law.",
		"mean_verdict":  "Agreement if p is above 0.5%, the rate of its false alarms.",
	},
	"prediction_tasks": {
		"benchmark": benchmarkWords, "model": modelWords, "task_id": "The task.",
		"passes": "Rollouts that passed " + firstWords + ".", "rollouts": "Rollouts of the task " + firstWords + ".",
		"second_passes": "Rollouts that passed " + secondWords + ".", "second_rollouts": "Rollouts of the task " + secondWords + ".",
		"difference":    "The pass rate of the second generation minus that of the first.",
		"difference_se": "The standard error of difference if the pass probability is the same: «√(p(1−p)(1/K₁ + 1/K₂))¦(p(1-p)(1/K_1+1/K_2))^{1/2}», with the rate «p» of both together.",
		"p":             "The p-value of the task: " + fisherWords + ".",
		"verdict":       "Whether the task differs by Holm's procedure over all tasks of the profile.",
	},
}

var spreadFormulas = map[string]map[string]string{
	"profile_spread": with(tenths(), map[string]string{
		"benchmark": benchmarkWords, "model": modelWords, "n_tasks": tasksWords,
		"rollouts": "The rollouts «K» of each task.",
		"never":    "Tasks that none of the K rollouts passes.", "always": "Tasks that all of the K rollouts pass.",
		"rarely":        "Tasks with a pass probability above 0 and of at most 0.1.",
		"between":       "Tasks with a pass probability above 0.1 and below 0.9.",
		"mostly":        "Tasks with a pass probability of at least 0.9 and below 1.",
		"mean":          "The mean of the pass probabilities, which an evaluation estimates.",
		"mean_se":       "The standard error of mean: «√(Σ p(1−p)/K)/N¦(\\sum_i p_i(1-p_i)/K)^{1/2}/N».",
		"variance_sum":  "«Σ p(1−p)¦\\sum_i p_i(1-p_i)»: over «N²b¦N^2b» it is the variance of Uniform (Eq. 1).",
		"length_median": "The median of the tokens of a response, reasoning included. Of ‹report/lengths.parquet›.",
		"length_p99":    "The 99th percentile of the tokens of a response, reasoning included. Of ‹report/lengths.parquet›.",
		"length_max":    "The tokens of the longest response, reasoning included. Of ‹report/lengths.parquet›.",
	}),
}

// tenths are the columns that count tasks by tenths of pass probability.
func tenths() map[string]string {
	all := map[string]string{}
	for i := range 10 {
		to := fmt.Sprintf("below %.1f", float64(i+1)/10)
		if i == 9 {
			to = "of at most 1"
		}
		maps.Copy(all, map[string]string{fmt.Sprintf("tenth_%d", i+1): fmt.Sprintf("Tasks with a pass probability of at least %.1f and %s.", float64(i)/10, to)})
	}
	return all
}
