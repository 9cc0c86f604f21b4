package replay

import (
	"fmt"
	"math"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/method/neyman"
)

// paper is the paper's setting of everything that costs time.
var paper = Settings{
	Seed: 42, Budgets: []int{8, 16, 32, 64}, Draws: 8192, Replicates: 8, QuadratureOrder: 16,
	Resamples: 128, ResampleDraws: 256,
	Alphas: []float64{
		0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10,
		0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17, 0.18, 0.19, 0.20, 0.25, 0.50, 1.00,
	},
}

// BenchmarkDesign is a unit of each design: a replicate of panels, or a profile.
func BenchmarkDesign(b *testing.B) {
	cs := pilot.AllCandidates(paper.Budgets)
	for _, of := range policy.All {
		if of.TwoStage == nil {
			continue
		}
		for _, tasks := range []int{30, 100} {
			b.Run(fmt.Sprintf("%s/N=%d", of.Design.Unit, tasks), func(b *testing.B) {
				d, random := of.Design, seed.Root(1).Stream()
				panels := policy.Panels{Candidates: cs, Tasks: tasks, Draws: paper.Draws, Order: paper.QuadratureOrder, Alphas: paper.Alphas}
				for b.Loop() {
					var err error
					if d.OnPanels != nil {
						_, err = d.OnPanels(b.Context(), panels, random)
					} else {
						_, err = d.OnProfile(b.Context(), probabilities(benchProfile(tasks)), cs, paper.Draws, random)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkReplayProfile(b *testing.B) {
	prior := must(neyman.NewPrior(paper.QuadratureOrder))
	for _, tasks := range []int{30, 100} {
		p := benchProfile(tasks)
		designs := benchDesigns(tasks)
		b.Run(fmt.Sprintf("N=%d", tasks), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := replay(b.Context(), p, designs, prior, paper.Draws, seed.Root(1).Stream()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchProfile is a U-shaped profile, as most published ones are: a fifth of
// the tasks at 0 or 1, the others mostly near them.
func benchProfile(tasks int) profile.Profile {
	p := profile.Profile{Benchmark: "made", Model: "made", TestedK: 1024}
	random := seed.Root(9).Stream()
	for i := range tasks {
		u := random.Float64()
		k := int(1025 * u * u * random.Float64())
		if i%2 == 0 {
			k = 1024 - k
		}
		if i%5 == 0 {
			k = 1024 * (i % 2)
		}
		p.PassCounts = append(p.PassCounts, k)
		p.TaskIDs = append(p.TaskIDs, fmt.Sprint(i))
	}
	return p
}

// benchSiblings are five profiles of the same tasks, each better or worse by a logit or
// so and, task by task, by another.
func benchSiblings(p profile.Profile) []profile.Profile {
	var all []profile.Profile
	random := seed.Root(4).Stream()
	for i := range 5 {
		sibling := p
		sibling.Model, sibling.PassCounts = fmt.Sprint("sibling ", i), nil
		shift := 4 * (random.Float64() - 0.5)
		for task := range p.N() {
			logit := math.Log((p.P(task) + 1e-4) / (1 - p.P(task) + 1e-4))
			q := 1 / (1 + math.Exp(-(logit + shift + 4*(random.Float64()-0.5))))
			sibling.PassCounts = append(sibling.PassCounts, pilot.Binomial(p.TestedK, q, &random))
		}
		all = append(all, sibling)
	}
	return all
}

// benchDesigns are designs close to those that the paper selects.
func benchDesigns(tasks int) []variance.Design {
	pilots := map[int32][3]int32{8: {4, 6, 4}, 16: {6, 14, 7}, 32: {10, 28, 11}, 64: {16, 55, 18}}
	var designs []variance.Design
	for _, b := range paper.Budgets {
		add := func(policy string, m int32, alpha *float64) {
			designs = append(designs, variance.Design{
				Policy: policy, Donors: "none", NTasks: int32(tasks), Budget: int32(b), M: m, W: 0.4, Alpha: alpha, Selected: true,
			})
		}
		ms := pilots[int32(b)]
		add(policy.HBN.Name, ms[0], nil)
		add(policy.EN.Name, ms[1], nil)
		for i := range paper.Alphas {
			add(policy.IBN.Name, ms[2]+int32(i/8), &paper.Alphas[i])
		}
	}
	return designs
}
