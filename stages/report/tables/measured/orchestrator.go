package measured

import (
	"math"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/repeats"
	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Orchestrator is what our own program took of the runs on servers. Runs under
// the virtual clock, which count no processor time, are left out.
//
// The claim is on timed runs, which are those under coupled rewards on real
// servers: under real rewards the program scores responses as well, and a
// simulated server answers faster than any other.
var Orchestrator = &model.Table{
	Base: "orchestrator", Label: "tab:orchestrator", Live: true,
	Reads:   stored.Reads{Units: []dag.Ref{stored.RunsRef}},
	Has:     func(s *stored.Settings) bool { return s.Live.Timed },
	Chapter: chapter,
	Remarks: []string{`<ref orchestrator> has what the program that submits the rollouts took itself, on the machine that it shares with the servers.`},
	Make:    makeOrchestrator,
}

// usage is a row: what the runs of a series took, means over them.
type usage struct {
	repeats.Series
	wall, cpu, cores, handling, gapMedian, gapP99 float64
}

func newUsage(s repeats.Series) usage {
	mean := func(of func(measurement.Run) float64) float64 {
		sum := 0.0
		for _, r := range s.Runs {
			sum += of(r)
		}
		return sum / float64(len(s.Runs))
	}
	return usage{Series: s,
		wall:      mean(func(r measurement.Run) float64 { return r.Time }),
		cpu:       mean(func(r measurement.Run) float64 { return r.CPU }),
		cores:     mean(func(r measurement.Run) float64 { return float64(r.Cores) }),
		handling:  mean(func(r measurement.Run) float64 { return r.Handling }),
		gapMedian: mean(func(r measurement.Run) float64 { return r.GapMedian }),
		gapP99:    mean(func(r measurement.Run) float64 { return r.GapP99 }),
	}
}

// share is that of all cores.
func (u usage) share() float64 { return u.cpu / u.wall / u.cores }

func (u usage) verdict() agreement.Verdict {
	if u.Rewards != measurement.Coupled || u.Provenance != measurement.Measured || math.IsNaN(u.share()) {
		return agreement.Shown
	}
	return agreement.CPU(u.share())
}

func makeOrchestrator(src *stored.Source) (*model.Sheet, error) {
	runs, err := src.Runs()
	if err != nil {
		return nil, err
	}
	var rows []usage
	for _, s := range repeats.Grouped(runs, func(r measurement.Run) bool { return r.CPU > 0 }) {
		rows = append(rows, newUsage(s))
	}
	rewards := model.NameKey(model.ByRewards, "rewards", "Whether rewards are drawn by hash with the probabilities of the profile (coupled, Section 4.3) or verdicts of scorers on the responses (scored).",
		func(i int) string { return rows[i].Rewards })
	rewards.Head = head("Rewards")
	s := &model.Sheet{Rows: len(rows), Title: "What the orchestrator itself took: wall-clock time of a run, its processor time over that, in percent of one core and of all cores of its machine, the part of the time that the router was at work, " +
		"and the time from a completion to the next submission. Means over runs. Of runs under coupled rewards on real servers the claim is less than 5% of all; " +
		"under real rewards it scores responses as well."}
	s.Add(model.NameKey(model.ByProvenance, "provenance", answeredWords, func(i int) string { return rows[i].Provenance }))
	s.Add(profileKeys(func(i int) (string, string) { return rows[i].Benchmark, rows[i].Model })...)
	s.Add(rewards, model.BudgetColumn(func(i int) int32 { return rows[i].Budget }),
		strategyKey(strategyWords, func(i int) string { return rows[i].Strategy }),
		count("runs", runsWords, head("Runs"), table.Head{}, func(i int) int { return len(rows[i].Runs) }))
	cell := func(of func(usage) float64) func(int) table.Cell {
		return numbers(func(i int) float64 { return of(rows[i]) })
	}
	cpu, gap, milliseconds := head("CPU"), head("Gap (ms)"), table.Format{Decimals: 2, Scale: 1000}
	s.Add(
		model.Column{Name: "wall_seconds", Words: "The wall-clock time of a run, the mean over runs." + ofRuns, Head: head("Seconds"), Format: decimals(2), Cell: cell(func(u usage) float64 { return u.wall })},
		model.Column{Name: "cpu_seconds", Words: "Processor time of the whole program during a run, the mean over runs; servers are other processes." + ofRuns, Cell: cell(func(u usage) float64 { return u.cpu })},
		model.Column{Name: "cores", Words: "Processor cores of the machine that the program runs on." + ofRuns, Cell: cell(func(u usage) float64 { return u.cores })},
		model.Column{Name: "core_share", Words: "cpu_seconds over wall_seconds: the share of one processor core.", Head: head("of a core"), Group: cpu, Format: percent(2), Cell: cell(func(u usage) float64 { return u.cpu / u.wall })},
		model.Column{Name: "cpu_share", Words: "core_share over cores: the program's share of the processors, which it may have in common with servers.", Head: head("of all"), Group: cpu, Format: percent(2), Cell: cell(usage.share),
			Prediction: &model.Prediction{Verdict: "verdict", Decimals: 4, Tolerance: func(*float64) *float64 { return finite(agreement.MostCPU) }}},
		model.Column{Name: "router_share", Words: "The part of the time that the router was at work, which decides and submits: its seconds over wall_seconds." + ofRuns, Head: head("Router"), Format: percent(2), Cell: cell(func(u usage) float64 { return u.handling / u.wall })},
		model.Column{Name: "gap_median_seconds", Words: "From a completion to the next submission in its place: the median of a run, the mean over runs." + ofRuns, Head: head("median"), Group: gap, Format: milliseconds, Cell: cell(func(u usage) float64 { return u.gapMedian })},
		model.Column{Name: "gap_p99_seconds", Words: "From a completion to the next submission in its place: the 99th percentile of a run, the mean over runs." + ofRuns, Head: head("99%"), Group: gap, Format: milliseconds, Cell: cell(func(u usage) float64 { return u.gapP99 })},
		verdictColumn("verdict", "Agreement if cpu_share is below 5%, of runs under coupled rewards on real servers. Others are shown.", head("Verdict"), table.Head{}, func(i int) agreement.Verdict { return rows[i].verdict() }))
	return s, nil
}
