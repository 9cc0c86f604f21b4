// Package vllm is a client of one vLLM server: chat completions, streamed or
// not, and what the server says of itself. It holds what the paper's
// experiment needs of vLLM 0.23. Of another OpenAI-compatible server it asks
// only what all of them know: see Client.TreatAsPlain. A request is aborted by cancelling its context, which
// closes its connection; nothing is retried here but by Retry.
//
// It stands on net/http rather than on OpenAI's SDK for Go (v3.96.0), which was
// measured first. The SDK took 310-370 µs of CPU a request and 40-47 µs a chunk
// of a stream (256 streams of 40 tokens a second: over 40% of a core), where
// this client takes 60-80 µs, and 17-23% of a core for those streams (26% in one
// run of eight), most of it the system's. And the SDK hides failures: a stream
// without its end ends without an error, a count that is no number becomes 0,
// invalid UTF-8 passes, and the body of vLLM's 401 becomes a JSON error without
// a status.
package vllm
