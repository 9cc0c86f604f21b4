// Package imitation is an HTTP server that behaves as vLLM 0.23.0 does, on top
// of the simulated fleet: one Replica is one server process with one engine.
// What it says and when follows the real server, down to the error bodies; what
// it does not imitate it refuses with a 400 that says so. It can be told to
// fail, by rates or at once, and restarts as under a supervisor.
package imitation
