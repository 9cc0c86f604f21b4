package policy

// LOO is HBN, but for the stage weight: each task has its own, by the pilots of
// all other tasks and never by its own. It is not in the paper.
var LOO = &Policy{
	Name: "hbn_loo", Label: "Leave-one-out HBN", Macro: "LOO", Donors: None,
	InStages: &InStages{After: 1, LeaveOneOut: true},
	Design:   Design{As: HBN},
}
