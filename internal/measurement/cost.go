package measurement

import "speceval/internal/policy"

// Compute is what HBN-async computes beyond Uniform over many settings, as
// fractions of Uniform's compute and rollouts (paper, Table 2).
type Compute struct {
	Extra  float64 // rollouts beyond the accepted ones, over Uniform's rollouts
	Useful float64 // change of the useful FLOPs
	Wasted float64 // wasted FLOPs, over Uniform's useful ones
	Actual float64 // change of the useful and wasted FLOPs: Useful + Wasted
}

// ComputeOver sums over the settings first and divides once, so that settings
// weigh as much as they cost. They need Uniform and HBN-async.
func ComputeOver(settings []Setting) Compute {
	var extra, accepted, uniform, useful, wasted sum
	for _, s := range settings {
		async := s.Runs[policy.HBNAsync.Name]
		extra.add(float64(async.ExtraRollouts))
		accepted.add(float64(s.Uniform().AcceptedRollouts))
		uniform.add(s.Uniform().UsefulFLOPs)
		useful.add(async.UsefulFLOPs)
		wasted.add(async.WastedFLOPs)
	}
	actual := useful
	actual.add(wasted.total())
	return Compute{
		Extra:  extra.total() / accepted.total(),
		Useful: useful.total()/uniform.total() - 1,
		Wasted: wasted.total() / uniform.total(),
		Actual: actual.total()/uniform.total() - 1,
	}
}

// Time is how much longer the two forms of HBN take than Uniform over many
// settings, as fractions of Uniform's time (paper, Table 3).
type Time struct {
	Sync, Async float64

	// The same with each run's time rescaled to Uniform's useful FLOPs:
	// T·F_Uniform/F, profile by profile.
	SyncNormalized, AsyncNormalized float64
}

// TimeOver sums over the settings first and divides once. They need Uniform,
// HBN-sync and HBN-async.
func TimeOver(settings []Setting) Time {
	sync, syncNormalized := slowdown(settings, policy.HBNSync.Name)
	async, asyncNormalized := slowdown(settings, policy.HBNAsync.Name)
	return Time{Sync: sync, Async: async, SyncNormalized: syncNormalized, AsyncNormalized: asyncNormalized}
}

// slowdown is the relative change of the summed time under a strategy, as it
// is and with each time rescaled to Uniform's useful FLOPs.
func slowdown(settings []Setting, strategy string) (actual, normalized float64) {
	var uniform, time, rescaled sum
	for _, s := range settings {
		run := s.Runs[strategy]
		uniform.add(s.Uniform().TimeSeconds)
		time.add(run.TimeSeconds)
		rescaled.add(run.TimeSeconds * s.Uniform().UsefulFLOPs / run.UsefulFLOPs)
	}
	return time.total()/uniform.total() - 1, rescaled.total()/uniform.total() - 1
}

// Benefit sets HBN-async against the Uniform that has its variance (paper,
// Table 4). Budgets are rollouts per task, averaged with tasks as weights;
// times are changes as fractions of the time of Uniform at the budget b.
type Benefit struct {
	Continuous     float64 // Σ N·b/r over Σ N, r the variance ratio of HBN
	Rounded        float64 // Σ N·B over Σ N, B the whole budget that was executed
	EquivalentTime float64 // of Uniform at B
	AsyncTime      float64 // of HBN-async at b, as in Time
}

// BenefitOver takes the variance ratio of HBN in each setting. The settings
// need Uniform, HBN-async and the equivalent Uniform.
func BenefitOver(settings []Setting, ratios []float64) Benefit {
	var tasks, continuous, rounded sum
	for i, s := range settings {
		n := float64(s.NTasks)
		tasks.add(n)
		continuous.add(n * float64(s.Budget) / ratios[i])
		rounded.add(n * float64(s.Runs[policy.UniformEquivalent.Name].Budget))
	}
	b := Benefit{Continuous: continuous.total() / tasks.total(), Rounded: rounded.total() / tasks.total()}
	b.EquivalentTime, _ = slowdown(settings, policy.UniformEquivalent.Name)
	b.AsyncTime, _ = slowdown(settings, policy.HBNAsync.Name)
	return b
}

// Kept is the share of the rollouts beyond the budget b that rounding leaves:
// (Rounded − b)/(Continuous − b).
func (b Benefit) Kept(budget int32) float64 {
	return (b.Rounded - float64(budget)) / (b.Continuous - float64(budget))
}
