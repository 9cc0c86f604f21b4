// Package worker is one worker's vLLM replicas as an engine of the router,
// under the wall clock. The replicas are warmed up once; before every run they
// are drained and reset, and during it they are watched: a run during which a
// replica was lost, a request failed or somebody else used a replica is void.
package worker
