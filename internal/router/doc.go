// Package router executes a policy on the replicas of one worker: it keeps
// their places filled with what the controller wants, reveals rewards when
// rollouts complete, aborts surplus at the barrier, and records every request
// and the time from the first dispatch to the last selected reward (paper,
// appendix on system execution). What replicas are, and what time is, is up to
// an Engine.
package router
