package model

import "strings"

// shared are the words of columns that several tables have, and after them those of what
// <name> stands for in words.
const shared = `
budget      The average budget b: rollouts per task, N·b in all (Section 2).
n_tasks     The number of tasks N of the benchmark.
benchmark   The benchmark of the profile.
model       The checkpoint whose rollouts the profile counts.
policy      The policy that allocates the rollouts.
donors      What the policy knows of the tasks beforehand: none, as all of the paper's; siblings, the
            published counts of the other checkpoints on the benchmark; siblings16, 16 rollouts of
            each, drawn anew; earlier16 and earlier64, an earlier evaluation of the same model with
            so many rollouts per task, drawn anew.
provenance  Where the runs come from: published with the paper, executed by the simulated fleet, or
            measured on servers.
profiles    The number of profiles that the sums are over: those with a run of every strategy that
            the table compares.
repeats     How many executions of the suite the runs are the mean of: those in
            systems/repeats.parquet that cover the same profiles; published runs were executed once.
<runs>      Published rows are of data/measurements.parquet, the others of systems/measurements.parquet,
            where a run is the mean over repeats.
<slowdown>  ΣT/ΣT_U − 1, summed over the profiles first and divided once (Appendix B.5)
<ratio>     r = b·{w²/m + (1−w)²·E[Σ v_i/L_i(S)]/Σ v_i}, with v_i = p_i(1−p_i) (Eq. 9 over the
            variance of Uniform)
<mean>      the mean (1/J)·Σ_j r_j over the J profiles, all alike in weight
<mean_se>   The Monte Carlo standard error of the mean: (1/J)·√(Σ_j s_j² + Σ_N (Σ_{j of N}
            (dr_j/dw)·s_w)²). Profiles are replayed on draws of their own (errors s_j, ratio_se in
            replay/ratios.parquet); those with one task count share a design whose weight was
            estimated (s_w = s_risk·m/b from risk_se in replay/designs.parquet), so there the
            derivatives add before they are squared.
<interval>  the middle 95% of the mean over 10,000 draws of the benchmarks, as many as there are,
            with replacement, each with all of its profiles. The draws are the same in every row.
`

// sharedWords are the words of shared columns, by name.
var sharedWords = parseWords(shared)

// parseWords reads the words of columns: a name at the beginning of a line, and its words
// behind it and on the lines below that begin with a space.
func parseWords(text string) map[string]string {
	words := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if line[0] != ' ' {
			name, fields = fields[0], fields[1:]
		}
		words[name] = strings.TrimSpace(words[name] + " " + strings.Join(fields, " "))
	}
	return words
}

// wordsOf are the words of a column, empty where the table has none for it.
func (s *Sheet) wordsOf(column string) string {
	text, own := parseWords(s.Words)[column]
	if !own {
		text = sharedWords[column]
	}
	for name, words := range sharedWords {
		if name[0] == '<' {
			text = strings.ReplaceAll(text, name, words)
		}
	}
	return text
}

// complete gives every column its words, and the error or the spread of a column, which is
// named after it, that column.
func (s *Sheet) complete() {
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Words == "" {
			c.Words = s.wordsOf(c.Name)
		}
		for _, suffix := range []string{"_se", "_sd"} {
			if of, ok := strings.CutSuffix(c.Name, suffix); ok && c.Of == "" && s.Column(of) != nil {
				c.Of = of
			}
		}
	}
}
