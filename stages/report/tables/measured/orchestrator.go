package measured

import (
	"speceval/internal/results/agreement"
	"speceval/internal/results/measurement"
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
	Words: answeredWords + strategyWords + `
rewards             Whether rewards are drawn by hash with the probabilities of the profile (coupled, Section 4.3) or verdicts of scorers on the responses (scored).
runs                How many runs the row is of.
wall_seconds        The wall-clock time of a run, the mean over runs. Of systems/runs.parquet.
cpu_seconds         Processor time of the whole program during a run, the mean over runs; servers are other processes. Of systems/runs.parquet.
cores               Processor cores of the machine that the program runs on. Of systems/runs.parquet.
core_share          cpu_seconds over wall_seconds: the share of one processor core.
cpu_share           core_share over cores: the program's share of the processors, which it may have in common with servers.
router_share        The part of the time that the router was at work, which decides and submits: its seconds over wall_seconds. Of systems/runs.parquet.
gap_median_seconds  From a completion to the next submission in its place: the median of a run, the mean over runs. Of systems/runs.parquet.
gap_p99_seconds     From a completion to the next submission in its place: the 99th percentile of a run, the mean over runs. Of systems/runs.parquet.
verdict             Agreement if cpu_share is below 5%, of runs under coupled rewards on real servers. Others are shown.
`,
}

// usage is the use of the runs of a series, as means over them.
type usage struct {
	Provenance string `csv:"provenance"`
	profileKeys
	Rewards   string            `csv:"rewards" head:"Rewards" align:"left"`
	Budget    int32             `csv:"budget" head:"b|$b$"`
	Strategy  strategy          `csv:"strategy" head:"Strategy" align:"left"`
	Runs      int               `csv:"runs" head:"Runs"`
	Wall      float64           `csv:"wall_seconds" head:"Seconds" format:".2" missing:"NaN"`
	CPU       float64           `csv:"cpu_seconds" missing:"NaN"`
	Cores     float64           `csv:"cores" missing:"NaN"`
	CoreShare float64           `csv:"core_share" head:"of a core" group:"CPU" format:".2%" missing:"NaN"`
	CPUShare  float64           `csv:"cpu_share" head:"of all" group:"CPU" format:".2%" missing:"NaN"`
	Router    float64           `csv:"router_share" head:"Router" format:".2%" missing:"NaN"`
	GapMedian float64           `csv:"gap_median_seconds" head:"median" group:"Gap (ms)" format:".2ms" missing:"NaN"`
	GapP99    float64           `csv:"gap_p99_seconds" head:"99%" group:"Gap (ms)" format:".2ms" missing:"NaN"`
	Verdict   agreement.Verdict `csv:"verdict" head:"Verdict" align:"left"`

	claim agreement.Comparison
}

func newUsage(s series) usage {
	first, n := s[0], float64(len(s))
	u := usage{
		Provenance: first.Provenance, profileKeys: profileKeys{first.Benchmark, model.Checkpoint(first.Model)}, Rewards: first.Rewards,
		Budget: first.ReferenceBudget, Strategy: strategy(first.Strategy), Runs: len(s),
	}
	for _, r := range s {
		u.Wall, u.CPU, u.Cores = u.Wall+r.Time, u.CPU+r.CPU, u.Cores+float64(r.Cores)
		u.Router, u.GapMedian, u.GapP99 = u.Router+r.Handling, u.GapMedian+r.GapMedian, u.GapP99+r.GapP99
	}
	for _, sum := range []*float64{&u.Wall, &u.CPU, &u.Cores, &u.Router, &u.GapMedian, &u.GapP99} {
		*sum /= n
	}
	u.CoreShare, u.Router = u.CPU/u.Wall, u.Router/u.Wall
	u.CPUShare = u.CoreShare / u.Cores
	if u.claim = agreement.CPU(u.CPUShare); u.Rewards != measurement.Coupled || u.Provenance != measurement.Measured || u.claim.Obtained == nil {
		u.claim.Verdict = agreement.Shown
	}
	u.Verdict = u.claim.Verdict
	return u
}

func makeOrchestrator(src *stored.Source) (*model.Sheet, error) {
	runs, err := stored.Runs(src)
	if err != nil {
		return nil, err
	}
	var rows []usage
	for _, s := range grouped(runs, func(r measurement.Run) bool { return r.CPU > 0 }) {
		rows = append(rows, newUsage(s))
	}
	s := model.NewSheet("What the orchestrator itself took: wall-clock time of a run, its processor time over that, in percent of one core and of all cores of its machine, the part of the time that the router was at work, "+
		"and the time from a completion to the next submission. Means over runs. Of runs under coupled rewards on real servers the claim is less than 5% of all; "+
		"under real rewards it scores responses as well.", rows)
	s.Column("cpu_share").Claim = func(i int) agreement.Comparison { return rows[i].claim }
	return s, nil
}
