package main

import (
	"fmt"

	"speceval/data"
	"speceval/internal/coupled"
	"speceval/internal/flops"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/method/controller"
	"speceval/method/neyman"
)

// budgets are the paper's.
var budgets = []int{8, 16, 32, 64}

// uniform is a run of Uniform.
type uniform struct {
	reference, budget int // they differ for runs at an equivalent budget
	equivalent        bool
	seconds, flops    float64
}

// adaptive is what may be known of a run of HBN.
type adaptive struct {
	budget int
	flops  float64 // useful
}

// fact is what the fit knows of a profile.
type fact struct {
	profile.Profile
	architecture flops.Architecture
	prompt       int // tokens
	uniform      []uniform
	adaptive     []adaptive
	selected     map[int][]int // rollouts of each task that HBN accepts, by budget
}

// load reads what is published and leaves out what the fit may not see.
func load() ([]*fact, error) {
	profiles, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return nil, err
	}
	architectures, err := flops.Parse(data.Architectures(), data.ArchitecturesName)
	if err != nil {
		return nil, err
	}
	releases, err := coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, profiles)
	if err != nil {
		return nil, err
	}
	kept, _, err := profile.Evaluated(profiles)
	if err != nil {
		return nil, err
	}
	prior, err := neyman.NewPrior(16)
	if err != nil {
		return nil, err
	}
	var facts []*fact
	byName := map[string]*fact{}
	for _, p := range kept {
		f := &fact{Profile: p, selected: map[int][]int{}}
		for _, a := range architectures {
			if a.Model == p.Model {
				f.architecture = a
			}
		}
		if f.prompt = promptTokens[p.Benchmark]; f.prompt == 0 || f.architecture.Model == "" {
			return nil, fmt.Errorf("%s: the benchmark has no prompt length, or the model no architecture", p.Name())
		}
		rewards := coupled.NewRewards(p, releases.Digest(p), rewardSeed)
		for _, b := range budgets {
			if f.selected[b], err = selection(prior, rewards, p.N(), b); err != nil {
				return nil, fmt.Errorf("%s at b = %d: %w", p.Name(), b, err)
			}
		}
		facts = append(facts, f)
		byName[p.Name()] = f
	}
	return facts, addRuns(byName)
}

// addRuns hands the published runs to their profiles. Of HBN's runs it takes
// the useful FLOPs and nothing else.
func addRuns(byName map[string]*fact) error {
	published, err := measurement.Parse(data.Measurements(), data.MeasurementsName)
	if err != nil {
		return err
	}
	for _, m := range published {
		f := byName[m.Benchmark+"__model="+m.Model]
		if f == nil {
			return fmt.Errorf("%s: runs of %s and %s, which have no profile", data.MeasurementsName, m.Benchmark, m.Model)
		}
		if s := policy.FindStrategy(m.Strategy); s.Policy == policy.Uniform {
			f.uniform = append(f.uniform, uniform{
				int(m.ReferenceBudget), int(m.Budget), s.Equivalent, m.TimeSeconds, m.UsefulFLOPs,
			})
		} else {
			f.adaptive = append(f.adaptive, adaptive{int(m.Budget), m.UsefulFLOPs})
		}
	}
	return nil
}

// rewardSeed is the master seed of the published runs.
const rewardSeed = 42

// selection is how many rollouts of each task HBN accepts under coupled rewards.
func selection(prior *neyman.Prior, rewards *coupled.Rewards, n, budget int) ([]int, error) {
	m := map[int]int{8: 4, 16: 6, 32: 10, 64: 16}[budget] // the published pilots
	if n == 19 && budget == 64 {
		m = 17
	}
	selected, err := controller.Allocate(prior.Pilot(m), prior.NewWork(), m, rewards.Pilot(m), n*(budget-m))
	for i := range selected {
		selected[i] += m
	}
	return selected, err
}

// promptTokens are typical lengths of the prompts. They were set by hand: where
// answers are short, FLOPs and times leave little choice; elsewhere they hardly
// matter.
var promptTokens = map[string]int{
	"aime24": 150, "aime25": 150, "aime26": 150, "hmmt": 120, "math_100": 100,
	"gpqa_diamond__domain_biology": 380, "gpqa_diamond__domain_chemistry": 245, "gpqa_diamond__domain_physics": 215,
	"hle__text_only_sample100":                       250,
	"livecodebench_gt_2024_03_30__difficulty_easy":   450,
	"livecodebench_gt_2024_03_30__difficulty_medium": 550,
	"livecodebench_gt_2024_03_30__difficulty_hard":   600,
	"mmlu_science__subject_college_biology":          115,
	"mmlu_science__subject_college_chemistry":        117,
	"mmlu_science__subject_college_physics":          117,
	"supergpqa_science__field_biology":               190,
	"supergpqa_science__field_chemistry":             215,
	"supergpqa_science__field_physics":               215,
}
