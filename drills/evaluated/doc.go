// Package evaluated is evaluations that the built program has made: how to have
// one, what it left, and whether many are right together.
package evaluated
