package evaluation_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/internal/store/rollout"
)

// newGradedLab is a lab in which wrong answers have part of a reward, in steps whose
// sums depend on their order.
func newGradedLab(t *testing.T, policy string) *lab {
	l := newLab(t, policy, 8, 3, quiz...)
	l.grade = func(r *rollout.Response) float64 { return float64((r.TaskIndex+3*r.Rollout)%7) / 7 }
	return l
}

type (
	rewardColumn struct {
		Reward *float64 `parquet:"reward"`
	}
	rewardsColumn struct {
		Rewards float64 `parquet:"rewards"`
	}
)

// Rewards go from the scorer into the estimate and into all files.
func TestGradedRewards(t *testing.T) {
	for _, name := range policy.ExecutionNames() {
		if way, _ := policy.FindExecution(name); way.Donors {
			continue
		}
		t.Run(name, func(t *testing.T) {
			l := newGradedLab(t, name)
			r := l.run()
			recount(t, l, r)
			sound(t, l.settings.Folder, r)
			rewards := make(map[string]map[int32]float64)
			for _, s := range verdicts(t, l) {
				if rewards[s.TaskID] == nil {
					rewards[s.TaskID] = make(map[int32]float64)
				}
				want := l.grade(&rollout.Response{TaskIndex: s.TaskIndex, Rollout: s.Rollout})
				if s.Answer == "right" {
					want = 1
				}
				if s.Reward() != want {
					t.Errorf("%+v has a reward of %v, want %v", s, s.Reward(), want)
				}
				rewards[s.TaskID][s.Rollout] = want
			}
			asked := read[evaluation.Request](t, l, "requests.parquet")
			for i, q := range read[rewardColumn](t, l, "requests.parquet") {
				if q.Reward == nil != (asked[i].Passed == nil) || q.Reward != nil && (*q.Reward != rewards[asked[i].Task][asked[i].Rollout] || *asked[i].Passed != (*q.Reward == 1)) {
					t.Errorf("%+v has the reward %v", asked[i], q.Reward)
				}
			}
			for i, row := range read[rewardsColumn](t, l, "tasks.parquet") {
				task, sum := r.Rows[i], 0.0
				for n := range task.Pilots + task.Continuations {
					sum += rewards[task.ID][n]
				}
				if math.Abs(row.Rewards-sum) > 1e-12 {
					t.Errorf("%s has rewards of %v, want %v", task.ID, row.Rewards, sum)
				}
				squares, third := 0.0, 0.0
				for _, stage := range task.Stages {
					squares += stage.Squares
					third += stage.Third
				}
				for n := range task.Pilots + task.Continuations {
					r := rewards[task.ID][n]
					squares -= r * r
					third -= r * r * (1 - r)
				}
				if math.Abs(squares) > 1e-12 || math.Abs(third) > 1e-12 {
					t.Errorf("%s: squares are off by %v, cubes by %v", task.ID, squares, third)
				}
			}
		})
	}
}

// Allocations do not depend on the order in which rewards come in, nor on stops.
func TestGradedEvaluationsEndTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 3))
	for _, policy := range []string{"hbn-async", "hbn_staged"} {
		first := newGradedLab(t, policy).run()
		want := outcome(first)
		passing := newLab(t, policy, 8, 3, quiz...).run()
		if slices.EqualFunc(first.Rows, passing.Rows, func(a, b evaluation.Task) bool { return a.Continuations == b.Continuations }) {
			t.Errorf("%s allocates as if parts of rewards were none", policy)
		}
		for range 6 {
			l := newGradedLab(t, policy)
			l.places = 1 + random.IntN(30)
			at := 1 + random.IntN(70)
			l.unable = func(n int) error {
				if n == at {
					return context.DeadlineExceeded
				}
				return nil
			}
			l.paused(t.Context(), "deadline")
			l.calm()
			if got := outcome(l.run()); got != want {
				t.Errorf("%s with %d places and a stop at %d: %s\nwant %s", policy, l.places, at, got, want)
			}
		}
	}
}

// A reward that is none stops the evaluation, and says whose it is.
func TestRewardsThatCannotBe(t *testing.T) {
	for _, reward := range []float64{math.NaN(), 1.5, 1, -0.25, math.Inf(1)} {
		l := newGradedLab(t, "hbn-async")
		l.grade = func(r *rollout.Response) float64 {
			if r.TaskIndex == 4 || r.TaskIndex == 3 && r.Rollout == 1 {
				return reward
			}
			return 0.5
		}
		l.passes = make([]float64, len(quiz))
		paused := l.paused(t.Context(), "benchmark quiz: task t")
		if !strings.Contains(paused.Error(), "rollout") || !strings.Contains(paused.Error(), "from 0 to 1") {
			t.Errorf("%v", paused)
		}
		l.grade = func(*rollout.Response) float64 { return 0.5 }
		if r := l.run(); r.Estimate != 0.5 {
			t.Errorf("afterwards the estimate is %v", r.Estimate)
		}
		l.grade = func(*rollout.Response) float64 { return reward }
		if _, err := evaluation.Rescore(t.Context(), l.settings, l.open(), 3); err == nil || !strings.Contains(err.Error(), "benchmark quiz: task t") {
			t.Errorf("rescored: %v", err)
		}
	}
}
