// Package speed fits the timing of a replica to requests that real replicas
// have served: what a step of the batch takes, and what a request takes beside
// its steps.
package speed
