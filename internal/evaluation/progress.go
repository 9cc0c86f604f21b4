package evaluation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"speceval/internal/store/atomicfile"
	"speceval/method/controller"
)

// Progress is how far an evaluation is.
type Progress struct {
	At               time.Time `json:"at"`
	Pilots           int       `json:"pilots"` // rewards
	AllPilots        int       `json:"all_pilots"`
	Continuations    int       `json:"continuations"` // rewards, with surplus ones
	AllContinuations int       `json:"all_continuations"`

	Mean    *Provisional `json:"mean"`   // nil: too early to say
	Tokens  int64        `json:"tokens"` // of answers that have ended, discarded and aborted ones too
	Dollars float64      `json:"usd"`    // for all requests that have ended; 0: not known

	Stage int         `json:"stage"` // under way, from 0, the pilot
	Tasks []TaskSoFar `json:"tasks"`
}

// TaskSoFar is the knowledge of a task, and the number of its next rollouts.
type TaskSoFar struct {
	Scored   int     `json:"scored"`   // rollouts, with surplus ones
	Rewards  float64 `json:"rewards"`  // their sum
	Selected int     `json:"selected"` // rollouts, by the stages so far and the one under way
}

// Provisional is a mean with its standard error by what is complete so far.
type Provisional struct {
	Value         float64 `json:"value"`
	StandardError float64 `json:"standard_error"`
}

// ended adds a request that has ended to what is shown.
func (e *engine) ended(q *Request) {
	dollars, _ := q.cost(e.Setup.Price)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tokens, e.dollars = e.tokens+q.tokens(), e.dollars+dollars
}

// progressFile has the Progress of an evaluation that is under way or paused.
const progressFile = "progress.json"

// ReadProgress reads the progress of an evaluation that is not complete, of a second ago at
// most where it runs; fs.ErrNotExist is in the error if there is none yet.
func ReadProgress(folder string) (*Progress, error) {
	text, err := os.ReadFile(filepath.Join(folder, progressFile))
	if err != nil {
		return nil, err
	}
	p := new(Progress)
	return p, json.Unmarshal(text, p)
}

// report passes the progress on, and writes it for other programs, which can do without.
func (e *engine) report() {
	p := e.progress()
	if e.Watch != nil {
		e.Watch(p)
	}
	_ = atomicfile.WriteJSON(filepath.Join(e.Folder, progressFile), p)
}

func (e *engine) progress() Progress {
	tasks, m := len(e.Setup.TaskIDs), e.Setup.Design.Pilots
	p := Progress{
		At:        e.Clock.Now(),
		AllPilots: tasks * m, AllContinuations: tasks*(e.Setup.Budget-m) - e.Setup.Extends.All(),
		Mean: e.provisional(), Tasks: make([]TaskSoFar, tasks),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p.Tokens, p.Dollars, p.Stage = e.tokens, e.dollars, len(e.observed)
	for id, reward := range e.rewards {
		if id.Phase == controller.Pilot {
			p.Pilots++
		} else {
			p.Continuations++
		}
		t := &p.Tasks[id.Task]
		t.Scored, t.Rewards = t.Scored+1, t.Rewards+reward
	}
	for i := range p.Tasks {
		p.Tasks[i].Selected = e.selected[i]
	}
	return p
}

// provisional is the mean by the stages that are complete, each with its weight and the last
// with all that is left; before the first barrier by the rounds of the pilot that are. Of a
// stage under way nothing counts: what completes first are the short answers.
func (e *engine) provisional() *Provisional {
	if e.Setup.Extends != nil {
		return nil
	}
	e.mu.Lock()
	seen := e.observed
	if n := e.Setup.Design.Pilots; len(seen) == 0 {
		for i := range e.Setup.TaskIDs {
			for k := range n {
				if _, there := e.rewards[e.Setup.ControllerID(i, k)]; !there {
					n = k
					break
				}
			}
		}
		if n > 0 {
			seen = e.Setup.rounds(n)
		}
	}
	var r Result
	for i := range e.Setup.TaskIDs {
		t, left := e.Setup.row(seen, i), 1.0
		for _, stage := range t.Stages {
			left -= stage.Weight
		}
		if k := len(t.Stages); k > 0 {
			t.Stages[k-1].Weight += left
		}
		for n := range t.Rollouts() {
			t.countReward(int32(n), e.rewards[e.Setup.ControllerID(i, n)])
		}
		r.Rows = append(r.Rows, t)
	}
	e.mu.Unlock()
	if len(seen) == 0 {
		return nil
	}
	if m, err := e.Setup.estimate(e.Prior, r.Counted()); err == nil {
		return &Provisional{m.Value, m.StandardError}
	}
	return nil
}

// observe notes the stages that are complete, and what is selected, for progress.
func (e *engine) observe() {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := e.control.Observed()
	if len(seen) == len(e.observed) && e.selected != nil {
		return
	}
	e.observed, e.selected = slices.Clone(seen), make([]int, len(e.Setup.TaskIDs))
	for i := range e.selected {
		for e.control.Selected(e.Setup.ControllerID(i, e.selected[i])) {
			e.selected[i]++
		}
	}
}
