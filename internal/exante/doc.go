// Package exante chooses a pilot size and a stage weight before any rollout has
// been made (paper, Eqs. 9 to 12): the candidates, their expected continuation
// on panels drawn from the reference prior, and which of them has the least risk.
package exante
