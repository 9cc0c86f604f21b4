// Package controller is the paper's execution policies as state machines:
// Uniform, HBN-sync and HBN-async (paper, Section 3.3 and Algorithms 1 and 2).
// A controller is told of completions, failures and provisional allocations,
// and says which rollout to submit next and which running ones are surplus. It
// knows no clock, no server and no text, and its decisions follow from what it
// is told alone, so that the same code runs under a virtual clock and on real
// servers.
package controller
