package report

import "speceval/stages/report/measured"

// chapter is a section of the document.
type chapter struct {
	title string
	about []string // sentences
	shows []string // tables and figures by base name, in this order
}

// chapters are the sections of the document. A table or a figure that none of
// them names comes after them.
//
// Tables 1 to 8 have the paper's numbers, where all are there.
var chapters = []chapter{
	{
		title: "Variance",
		shows: []string{"table1_variance", "figure1_pair_distribution", "figure2_case_study"},
	},
	{
		title: "What speculation costs",
		about: []string{"Times and computation are summed over the profiles and relative to Uniform's at the same budget.",
			"Rows of a simulated or a measured run are means over repeats of the whole suite, with the standard deviation of one suite after the sign $\\pm$."},
		shows: []string{computeTable.base, timeTable.base, benefitTable.base},
	},
	{
		title: "Prediction against measurement",
		about: []string{"What the other tables say of these profiles are predictions of what servers do. Here they are held against runs and rollouts that none of them has seen."},
		shows: []string{measured.TimesTable, measured.VarianceTable, measured.ProfileTable, measured.TasksTable, measured.OrchestratorTable},
	},
	{
		title: "The sampled profiles",
		shows: []string{measured.SpreadTable, spreadFigure},
	},
	{
		title: "Designs and constants",
		about: []string{"A two-stage policy has a pilot of $m$ rollouts per task, and a weight $w$ that the pilot has in the estimate."},
		shows: []string{hbnSchedule.base, enSchedule.base, "table7_flop_coefficients"},
	},
	{
		title: "A sequential baseline",
		shows: []string{"table8_ts_neyman"},
	},
	{
		title: "Profiles, one by one",
		shows: []string{"robustness", "profile_ratios", "budget_equivalents"},
	},
	{
		title: "How sure these numbers are",
		shows: []string{"error_split", "paired_differences"},
	},
}

// remarks are what the text says of a table or a figure before it, by base name.
var remarks = map[string][]string{
	"table1_variance": {
		`<ref table1_variance> has the main result.`,
		`HBN's mean variance is \specHBNVariance<LOW>{} of Uniform's at $b=<low>$ and \specHBNVariance<HIGH>{} at $b=<high>$.`,
		`There EN's is larger by \specHBNBelowEN<LOW>{} and \specHBNBelowEN<HIGH>{} percentage points, and that of IBN, which was tuned in hindsight, by \specHBNBelowIBN<LOW>{} and \specHBNBelowIBN<HIGH>{}.`,
		`The Oracle, which knows the profile, marks what is possible.`,
		`In rollouts, HBN at $b=<high>$ is on average worth Uniform at $b=\specEquivalentBudget<HIGH>$.`,
	},
	"figure1_pair_distribution": {
		`<ref figure1_pair_distribution> shows the profiles behind the means.`,
	},
	"table8_ts_neyman": {
		`<ref table8_ts_neyman> holds HBN against the sequential baseline, Bernoulli TS-Neyman, which chooses the task of every single rollout and cannot run rollouts side by side.`,
		`Its mean less HBN's is \specHBNBelowTS<LOW>{} percentage points at $b=<low>$ and \specHBNBelowTS<HIGH>{} at $b=<high>$.`,
	},
	"robustness": {
		`A mean hides profiles that lose: <ref robustness> counts those that gain beyond noise, and names the worst.`,
	},
	"figure2_case_study": {
		`<ref figure2_case_study> follows one profile from its task probabilities to the spread of the estimates.`,
		`Of its \specCaseTasks{} tasks, \specCaseShareBelow{} are passed with a probability below 0.2 and \specCaseShareAbove{} with one above 0.8.`,
	},
	computeTable.base: {
		`<ref table2_compute> has the computation: rollouts beyond those that count, and the FLOPs of both.`,
	},
	timeTable.base: {
		`<ref table3_time> has the times. HBN-sync waits for the whole pilot before it allocates; HBN-async speculates on allocations while rewards come in.`,
	},
	benefitTable.base: {
		`<ref table4_benefit> asks what the same variance would have cost with Uniform.`,
	},
	hbnSchedule.base: {`<ref table5_hbn_schedule> is HBN's design, chosen under the reference prior before any profile is seen.`},
	enSchedule.base:  {`<ref table6_en_schedule> is that of EN, tuned in hindsight.`},
	"table7_flop_coefficients": {
		`<ref table7_flop_coefficients> has the constants by which tokens become FLOPs.`,
	},
	"budget_equivalents": {
		`<ref budget_equivalents> turns them into rollouts: how many of Uniform's HBN's precision is worth.`,
	},
	"error_split": {
		`The draws of the replay are not all that is uncertain: the probabilities of the profiles are themselves estimates, from a finite number of rollouts. <ref error_split> splits the errors by cause.`,
	},
	"paired_differences": {
		`Policies are replayed on the same draws where they can be, so that their differences are known better than each alone: <ref paired_differences>.`,
	},
	measured.TimesTable: {
		`<ref prediction_times> asks whether a timing model that has seen the runs of Uniform alone knows how long those of HBN take on the same servers.`,
	},
	measured.VarianceTable: {
		`<ref prediction_variance> asks whether the estimates of repeated runs, under real rewards and fresh seeds, spread as the replay of the profile says.`,
		`The replay knows the profile from a finite number of rollouts: its error is in that of the prediction.`,
	},
	measured.ProfileTable: {
		`<ref prediction_profile> asks whether a second, independent generation finds the same pass probabilities.`,
	},
	measured.OrchestratorTable: {
		`<ref orchestrator> has what the program that submits the rollouts took itself, on the machine that it shares with the servers.`,
	},
	measured.SpreadTable: {
		`<ref profile_spread> has how the tasks spread from never passed to always passed, and how long the responses are.`,
	},
	"profile_ratios": {`<ref profile_ratios> has HBN and the Oracle on every profile, at every budget.`},
}
