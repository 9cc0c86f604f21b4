package vllm

import "time"

// Completion is an answer, whole or, beside an error, as far as it was seen.
type Completion struct {
	ID          string // of the response
	Model       string // that answered, in the server's words; "" if it does not tell
	Text        string // the answer proper, without reasoning
	Reasoning   string // text of the thinking, where the server separates it
	Finish      string // "stop", "length", "repetition", …; "" if it was not finished
	Usage       Usage
	TokenIDs    []int32 // of reasoning and answer; nil unless asked for
	PromptIDs   []int32 // of the prompt as the server rendered it; nil unless TokenIDs are asked for
	Fingerprint string  // system_fingerprint: version and configuration of the server
	Software    string  // the Server header; "" if there is none
	Continued   int     // how often a pool went on with it after a loss; see OnLoss
	Again       int     // how often a pool began it anew, though a part may have been seen

	Sent     time.Time // when the request was handed to the network
	First    time.Time // when the first token arrived; zero if not streamed
	Finished time.Time // when the last byte, or the error, arrived
}

// Piece is what one chunk of a stream has brought.
type Piece struct {
	Usage     Usage   // of the answer so far, as the last chunk told that did
	PromptIDs []int32 // of the rendered prompt, on the first piece that tells them
	IDs       []int32 // of the tokens that are new; nil unless the request asks for TokenIDs
	Text      string  // of the answer proper, what is new
	Reasoning string  // of the thinking, what is new
	Finish    string  // why the answer ended, on the piece that ends it
	// Anew says that this piece begins an answer again from nothing: what was
	// heard of it before is void. A client never does; whoever sends a lost request
	// again may.
	Anew bool
}

// Usage counts tokens as the server does. Of an aborted stream it is the last
// that was reported, a lower bound. vLLM always tells Prompt and Completion; of
// a plain server that does not, all three are -1.
type Usage struct {
	Prompt     int
	Completion int // reasoning included
	Reasoning  int // -1 where the server does not tell, as vLLM 0.23 does not
}

// untold is the usage of an answer without counts.
var untold = Usage{Prompt: -1, Completion: -1, Reasoning: -1}

// Told tells whether the server has counted: only then are Prompt and
// Completion numbers of tokens.
func (u Usage) Told() bool { return u.Completion >= 0 }
