package policy

import "speceval/method/controller"

// HBN is the paper's policy: a continuation by the posterior scores of the
// hierarchical prior (paper, Eqs. 6 to 8), designed beforehand (Eq. 12).
var HBN = &Policy{Name: "hbn", Label: "HBN", Macro: "HBN", PaperTable: 1}

// HBNSync is HBN with a barrier after the pilot.
var HBNSync = &Strategy{
	Name: controller.Sync.String(), Label: "HBN-sync",
	Policy: HBN, Controller: controller.Sync,
}

// HBNAsync is HBN that fills the barrier with speculative rollouts.
var HBNAsync = &Strategy{
	Name: controller.Async.String(), Label: "HBN-async",
	Policy: HBN, Controller: controller.Async,
}
