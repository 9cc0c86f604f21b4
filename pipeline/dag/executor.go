package dag

import "context"

// Task is a unit that is ready to run: all that it needs is there.
type Task struct {
	Ref     Ref
	Key     string
	Redo    bool    // it is fresh, and runs because it was asked to
	Seconds float64 // that it will take, roughly; 0 if unknown

	// Run runs the unit in this process, up to and with its manifest. An
	// executor that runs units elsewhere does not call it: there, the command
	// `speceval unit STAGE KEY` does the same.
	Run func(ctx context.Context) error

	// Done reports whether the unit has run since the task was made, wherever it
	// did: whether a new manifest of this very key is there. It may be called on
	// any goroutine.
	Done func() (bool, error)

	// Advance passes on how far the unit is, where it runs elsewhere. It never
	// waits, and may be called on any goroutine.
	Advance func(Progress)
}

// Result is how a task ended.
type Result struct {
	Task Task
	Err  error
}

// Executor decides where units run, and how many at a time.
type Executor interface {
	// Execute runs the tasks that arrive on ready, in any order and several
	// at a time, and sends the result of each. It takes a task from ready
	// only when it can start it. It returns when ready is closed and every
	// result is sent. Once ctx is cancelled it ends what is running.
	Execute(ctx context.Context, ready <-chan Task, results chan<- Result)
}

// Observer receives the progress of a run, from one goroutine at a time.
type Observer interface {
	Begin(plan *Plan)              // before the first unit
	Started(unit Ref, key string)  // handed to the executor
	Advanced(unit Ref, p Progress) // progress of a long unit
	Finished(done Outcome)         // one unit has ended
	End()                          // after the last unit, exactly once
}

// Outcome is how a unit ended: with a manifest or with an error.
type Outcome struct {
	Unit     Ref
	Key      string // empty where the unit failed before it was known
	Manifest *Manifest
	Err      error
}

// NoObserver watches nothing.
type NoObserver struct{}

var _ Observer = NoObserver{}

// Begin does nothing.
func (NoObserver) Begin(*Plan) {}

// Started does nothing.
func (NoObserver) Started(Ref, string) {}

// Advanced does nothing.
func (NoObserver) Advanced(Ref, Progress) {}

// Finished does nothing.
func (NoObserver) Finished(Outcome) {}

// End does nothing.
func (NoObserver) End() {}
