package controller

import "fmt"

// Policy is a way to execute an evaluation.
type Policy uint8

// Policies (paper, Section 4.3).
const (
	Uniform Policy = iota // b rollouts of every task, all eligible from the start
	Sync                  // HBN with a barrier after the pilot
	Async                 // HBN that fills the barrier with speculative continuations
)

var policyNames = [...]string{Uniform: "uniform", Sync: "hbn-sync", Async: "hbn-async"}

// String is the policy's name in files and tables.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("policy %d", uint8(p))
}

// Phase is a stage of the two-stage design.
type Phase uint8

// Phases. Uniform's first m rollouts of a task count as its pilot, too, so that
// it shares their identities with HBN.
const (
	Pilot Phase = iota
	Continuation
)

// String is the phase's name in identities and files.
func (p Phase) String() string {
	if p == Pilot {
		return "pilot"
	}
	return "continuation"
}

// ID names a rollout before it is executed. Results are recovered by it, never
// by the order of their completion.
type ID struct {
	Task    int32 // in profile order, from 0
	Phase   Phase
	Ordinal int32 // within the task and phase, from 1
}

// String is the ID for messages: "task 3 continuation 12".
func (id ID) String() string {
	return fmt.Sprintf("task %d %s %d", id.Task, id.Phase, id.Ordinal)
}
