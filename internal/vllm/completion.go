package vllm

import "time"

// Completion is an answer, whole or, beside an error, as far as it was seen.
type Completion struct {
	ID          string // of the response
	Text        string // the answer proper, without reasoning
	Reasoning   string // text of the thinking, where the server separates it
	Finish      string // "stop", "length", "repetition", …; "" if it was not finished
	Usage       Usage
	TokenIDs    []int32 // of reasoning and answer; nil unless asked for
	Fingerprint string  // system_fingerprint: version and configuration of the server

	Sent     time.Time // when the request was handed to the network
	First    time.Time // when the first token arrived; zero if not streamed
	Finished time.Time // when the last byte, or the error, arrived
}

// Usage counts tokens as the server does. Of an aborted stream it is the last
// that was reported, a lower bound.
type Usage struct {
	Prompt     int
	Completion int // reasoning included
	Reasoning  int // -1 where the server does not tell, as vLLM 0.23 does not
}
