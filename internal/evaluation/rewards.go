package evaluation

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"speceval/internal/store/rowfile"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// gradedRequest is a row of requests.parquet where a reward of one is neither 0 nor 1.
type gradedRequest struct {
	Request
	Reward *float64 `parquet:"reward,maybe"` // null without one
}

// chargedRequest is a row of requests.parquet where servers reported costs, or answers began anew
// within a request.
type chargedRequest struct {
	gradedRequest
	Cost float64 `parquet:"cost,maybe"`
	Void int64   `parquet:"void_tokens,maybe"`
}

// writeRequests writes requests with those of their further columns that say anything.
func writeRequests(w io.Writer, rows []Request, footer map[string]string) error {
	isGraded, isCharged := false, false
	graded, charged := make([]gradedRequest, len(rows)), make([]chargedRequest, len(rows))
	for i, q := range rows {
		graded[i].Request = q
		if q.Passed != nil {
			reward := q.Partial
			if *q.Passed {
				reward = 1
			}
			graded[i].Reward = &reward
		}
		charged[i] = chargedRequest{graded[i], q.Cost, q.Void}
		isGraded, isCharged = isGraded || q.Partial != 0, isCharged || q.Cost != 0 || q.Void != 0
	}
	switch {
	case isCharged:
		return rowfile.Write(w, charged, footer)
	case isGraded:
		return rowfile.Write(w, graded, footer)
	}
	return rowfile.Write(w, rows, footer)
}

// readRequests reads the requests of a complete evaluation.
func readRequests(folder string) ([]Request, error) {
	rows, _, err := rowfile.ReadFile[chargedRequest](filepath.Join(folder, RequestsFile))
	all := make([]Request, len(rows))
	for i, q := range rows {
		all[i] = q.Request
		all[i].Cost, all[i].Void = q.Cost, q.Void
		if q.Reward != nil && *q.Reward < 1 {
			all[i].Partial = *q.Reward
		}
	}
	return all, err
}

// gradedTask is a row of tasks.parquet where a reward is neither 0 nor 1. Passes are
// then rewards of 1.
type gradedTask struct {
	Task
	Rewards float64 `parquet:"rewards"` // their sum, of the rollouts that count
}

// writeTasks writes tasks with the sums of their rewards, where passes do not say them.
func writeTasks(w io.Writer, rows []Task, footer map[string]string) error {
	if !Graded(rows) {
		return rowfile.Write(w, rows, footer)
	}
	graded := make([]gradedTask, len(rows))
	for i, t := range rows {
		graded[i].Task = t
		_, graded[i].Rewards = t.Counts()
	}
	return rowfile.Write(w, graded, footer)
}

// Graded reports whether a reward that counts is neither 0 nor 1.
func Graded(rows []Task) bool {
	return slices.ContainsFunc(rows, func(t Task) bool {
		_, rewards := t.Counts()
		return rewards != float64(t.PilotPasses+t.ContinuationPasses)
	})
}

// graded reports whether a verdict by some rules is neither pass nor failure, of those
// that do not count too.
func (s *store) graded(rules string) (bool, error) {
	for _, id := range s.verdicts.IDs() {
		v, err := s.verdicts.Read(id)
		if err != nil {
			return false, err
		}
		if v.Rules == rules && v.Graded() {
			return true, nil
		}
	}
	return false, nil
}

// PassK is the chance of k rollouts of a task, as a mean over tasks.
type PassK struct {
	K             int        `json:"k"`
	Any           bool       `json:"any"` // pass@k, that one of them passes; otherwise pass^k, that all do
	Estimate      float64    `json:"estimate"`
	StandardError float64    `json:"standard_error"`
	Interval      [2]float64 `json:"interval"` // 95%
}

// Name is pass@k or pass^k.
func (p PassK) Name() string { return estimate.Question{K: p.K, Any: p.Any}.String() }

// Floor is the rollouts that every task is to have ahead for as long as it has weight
// left, for what is asked of k rollouts. More than what the budget leaves is too much.
func (s *Setup) Floor(pilots int) int {
	least := 1
	for _, k := range s.PassK {
		least = max(least, estimate.Question{K: k}.BestFloor(pilots, s.Budget))
	}
	return least
}

// checkPassK says which k cannot be answered by the design.
func (s *Setup) checkPassK() error {
	for _, k := range s.PassK {
		if k < 1 || k > estimate.MostK {
			return fmt.Errorf("pass^k for k = %d: want 1 to %d", k, estimate.MostK)
		}
	}
	for _, k := range s.PassK {
		switch {
		case s.Design.Pilots == s.Budget && k > s.Budget:
			return fmt.Errorf("pass^%d by %d rollouts of each task: want a budget of %d at least", k, s.Budget, k)
		case s.Design.Pilots < s.Budget && s.Floor(s.Design.Pilots) > s.Budget-s.Design.Pilots:
			return fmt.Errorf("pass^%d takes %d rollouts of every task after a pilot of %d: want a budget of %d at least", k, s.Floor(s.Design.Pilots), s.Design.Pilots, s.Floor(s.Design.Pilots)+s.Design.Pilots)
		}
	}
	return nil
}

// passK answers what was asked of k rollouts.
func (r *Result) passK(ks []int, least int, prior *neyman.Prior) error {
	r.PassK = nil
	if r.Dropped > 0 && least > 1 { // the last stage had fewer rollouts than that takes
		return nil
	}
	for _, k := range ks {
		for _, any := range []bool{true, false} {
			q := estimate.Question{K: k, Any: any, Least: least}
			a, err := q.Of(prior, r.counted())
			if err != nil {
				return fmt.Errorf("%v: %w", q, err)
			}
			r.PassK = append(r.PassK, PassK{K: k, Any: any, Estimate: a.Value, StandardError: a.StandardError, Interval: [2]float64{a.Low, a.High}})
		}
	}
	return nil
}
