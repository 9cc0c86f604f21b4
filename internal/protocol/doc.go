// Package protocol is how other programs use the policies: messages, one JSON object a
// line, about an evaluation whose rollouts the other program runs. docs/protocol.md has
// every message with an example.
//
// A Session is the evaluation: which rollouts are given, in flight and completed, and
// what they come to. A Server reads messages, lets a Session answer, and records every
// change before it replies, so that a server that is killed goes on where it was.
package protocol
