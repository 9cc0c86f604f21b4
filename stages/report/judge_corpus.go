package report

// judgeCorpus compares the size of the corpus, and shows the time that it took
// the authors' workers, of which no measurement is published.
func judgeCorpus(s stored, paper Targets) []Cell {
	const table, row = "corpus", "all"
	count := func(column string, ours, theirs int64) Cell {
		return compare(Estimate{Value: float64(ours)}, float64(theirs), rule{}).in(table, row, column)
	}
	hours := paper.Corpus.GenerationHours
	shown := Cell{Paper: &hours, Verdict: Shown, Note: "hours of the authors' workers: a fact of their run, not a result"}
	return []Cell{
		count("profiles", int64(len(s.Profiles)), paper.Corpus.Profiles),
		count("tasks", s.Corpus.Tasks, paper.Corpus.Tasks),
		count("responses", s.Corpus.Responses, paper.Corpus.Responses),
		shown.in(table, row, "generation_hours"),
	}
}
