package evaluate

import (
	"maps"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/ledger"
	"speceval/internal/policy"
)

// cappedAfter is the number of stages after the pilot where tokens are limited and no number
// is asked for. They are alike, since it is the last one alone that may reach the limit.
const cappedAfter = 4

// Weights of the pilot where tokens are limited. A pilot whose lengths are the first that are
// known may show that the limit is too small. There is no estimate then, and where there is
// one its pilot is short: so the pilot has little weight, which bounds the bias however many
// evaluations are refused. Otherwise it is an eighth of the rollouts, and has as much weight.
const (
	probeWeight = 1.0 / 32
	pilotWeight = 1.0 / 8
)

// capped is the design where tokens are limited. The lengths of the answers decide how many
// rollouts there are, and no length that the pilot finds may decide on its own size or weight:
// it is one rollout of each task, or more where the limit is enough for four times as many if
// all are as long as can be, or for eight times as many of the lengths that are known.
func (b *Benchmark) capped(setup *evaluation.Setup, own *policy.Execution, stages int) (evaluation.Design, error) {
	limit, tasks := setup.Limit(), len(setup.TaskIDs)
	d := evaluation.Design{Pilots: 1, Weight: probeWeight, Source: "a small pilot, for a limit on tokens"}
	if !b.outside {
		longest := 0 // prompt, in bytes
		for _, t := range b.tasks.Tasks {
			longest = max(longest, len(t.Asked()))
		}
		prompt := int(setup.PromptWeight() * float64(longest) / ledger.BytesPerToken)
		d.Pilots = max(1, int(limit)/(4*tasks*(b.Config.Sampling.MaxTokens+prompt)))
	}
	if rollouts, prompt, completion := b.lengths(setup); rollouts > 0 {
		mean := completion + setup.PromptWeight()*prompt
		if most := ledger.Foreseen(tasks*(1+setup.Floor(1)), rollouts, mean); most > limit {
			return d, requestf("%s is too small for a pilot of %d rollouts and one more stage: by earlier answers of %.0f tokens on average %s is the least that is enough", setup.LimitText(limit), tasks, mean, setup.LimitText(most))
		}
		d.Weight = pilotWeight
		d.Pilots = max(d.Pilots, int(float64(limit)/(8*float64(tasks)*mean)))
	}
	d.Pilots = min(d.Pilots, setup.Budget/2)
	after := 1
	if own.Adapts {
		after = cappedAfter
	}
	if stages > 0 {
		after = stages - 1
	}
	for k := range after {
		d.Fractions = append(d.Fractions, 1/float64(after-k))
	}
	m, n, w := float64(d.Pilots), float64(setup.Budget), d.Weight
	risk := n * (w*w/m + (1-w)*(1-w)/(n-m)) // of a rest that is divided evenly
	d.Risk = &risk
	return d, nil
}

// lengths are the answers of earlier evaluations that asked the same model for the same, under
// another seed where they decide on a design, and the mean lengths of their prompts and of themselves in tokens.
func (b *Benchmark) lengths(setup *evaluation.Setup) (rollouts int, prompt, completion float64) {
	if b.outside {
		return 0, 0, 0
	}
	folders := make(map[string]bool)
	b.Archive.Each(func(folder string, _ *evaluation.Setup, _ error) { folders[folder] = true })
	for _, d := range setup.Donors {
		folders[d.Source] = true
	}
	for folder := range folders {
		there, err := evaluation.Open(folder)
		shared := setup.Stop != nil && err == nil && there.Setup.Seed == setup.Seed // its answers may be answers of this one
		if err != nil || shared || there.Result.Tokens.Untold > 0 || !maps.Equal(there.Setup.Asked, setup.Asked) {
			continue
		}
		rollouts += there.Result.Rollouts
		prompt += float64(there.Result.Tokens.Prompt)
		completion += float64(there.Result.Tokens.Completion)
	}
	n := float64(max(1, rollouts))
	return rollouts, prompt / n, completion / n
}
