package policy

import "speceval/method/neyman"

// Oracle is the exact integer Neyman allocation for the true variances (paper,
// Eq. 2).
var Oracle = &Policy{
	Name: "oracle", Label: "Oracle", Macro: "Oracle", Donors: None, PaperTable: 1, Clairvoyant: true,
	Fixed: neyman.Allocate,
}
