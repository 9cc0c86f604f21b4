package dag

// Observer is told about the progress of a run, by one goroutine at a time.
type Observer interface {
	Begin(plan *Plan)              // before the first unit
	Started(unit Ref, key string)  // handed to the executor
	Advanced(unit Ref, p Progress) // a long unit tells how far it is
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
