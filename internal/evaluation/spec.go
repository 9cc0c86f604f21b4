package evaluation

import "speceval/internal/evaluation/ledger"

// Spec is what a user asks for, by flags or by the start message of the protocol, whose
// fields have the names below. A Setup follows from it, the tasks and what is known of them.
type Spec struct {
	Benchmark string    `json:"benchmark"`
	Model     string    `json:"model"`
	Tasks     []string  `json:"tasks"`
	Clusters  []string  `json:"clusters,omitempty"` // of each task; tasks of one are no independent sample
	Weights   []float64 `json:"weights,omitempty"`  // of each task in the mean

	// What it may spend or is to reach: a budget or a target; limits join a target, or
	// stand alone.
	Budget      int           `json:"budget,omitempty"`       // rollouts per task on average
	TargetSE    float64       `json:"target_se,omitempty"`    // standard error to come down to
	Resolve     float64       `json:"-"`                      // difference that two such evaluations find four times in five
	MaxRollouts int           `json:"max_rollouts,omitempty"` // in all
	MaxTokens   int64         `json:"max_tokens,omitempty"`   // of answers, in all
	MaxDollars  float64       `json:"max_usd,omitempty"`      // for all requests, in the place of MaxTokens
	Price       *ledger.Price `json:"-"`                      // of tokens; nil: not known

	Policy  string   `json:"policy,omitempty"` // "": the default for what is known
	Stages  int      `json:"stages,omitempty"` // of policies that choose their number; 0: choose
	Seed    *uint64  `json:"seed,omitempty"`   // nil: the experiment's
	Coupled bool     `json:"-"`                // seeds of rollouts are the same for every model
	Floor   *float64 `json:"-"`                // rollouts per task that every benchmark of a suite has at least; nil: policy.SuiteFloor of a budget
	PassK   []int    `json:"pass_k,omitempty"` // numbers k of pass@k and pass^k
	Places  int      `json:"places,omitempty"` // rollouts that run at a time, for the number of stages
	Rounds  int      `json:"rounds,omitempty"` // through all tasks, in which every stage must find room
	Ahead   *bool    `json:"ahead,omitempty"`  // give likely rollouts before they are selected; nil: true
	OnLoss  string   `json:"-"`                // what to do about answers that are lost in flight; "": as configured

	Prior  []string      `json:"prior,omitempty"` // evaluations, profiles and logs of the same tasks; FILE#MODEL is one model's
	Reward string        `json:"-"`               // scorer, metric or field of logs of Prior that is the reward; "": the only one
	Donors []InlineDonor `json:"donors,omitempty"`
}

// InlineDonor is a donor whose counts the message itself has.
type InlineDonor struct {
	Name     string `json:"name"`
	Same     bool   `json:"same_model,omitempty"`
	Rollouts []int  `json:"rollouts"` // by task
	Passes   []int  `json:"passes"`
}
