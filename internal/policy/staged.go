package policy

// Staged is HBN in more than two stages: sizes and weights of a stage are fixed
// before it is seen, by all stages before it. It is not in the paper.
var Staged = &Policy{Name: "hbn_staged", Label: "Staged HBN", Macro: "Staged", Donors: None}
