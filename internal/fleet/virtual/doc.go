// Package virtual is a simulated worker under a virtual clock: replicas with
// continuous batching whose answers have lengths and no text. It is an engine
// of the router, and the same rollouts take the same time on every machine.
package virtual
