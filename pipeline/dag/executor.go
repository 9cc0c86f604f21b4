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

// Event is something that happens to a unit in a run: without progress, manifest and error
// the unit is handed to the executor.
type Event struct {
	Unit     Ref
	Key      string    // empty where the unit failed before it was known
	Progress *Progress // of a long unit
	Manifest *Manifest // of a unit that is done
	Err      error     // of a unit that failed
}
