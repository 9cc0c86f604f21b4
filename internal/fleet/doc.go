// Package fleet is the simulated fleet: how long a replica takes for a batch of
// sequences, and what it answers. It has no clock and no network; the package
// imitation gives it an HTTP face, and a virtual clock may drive it as well.
package fleet
