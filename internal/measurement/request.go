package measurement

// Request is one request of a run, as the requests files of the systems stage
// keep it. Times are seconds since the first dispatch of its run.
type Request struct {
	Strategy string `parquet:"strategy"`
	Repeat   int32  `parquet:"repeat"`
	ID       string `parquet:"id"`
	Seed     *int64 `parquet:"seed"` // of its generation; null where nothing is generated
	Task     string `parquet:"task"`
	Phase    string `parquet:"phase"`
	Ordinal  int32  `parquet:"ordinal"`
	Replica  int32  `parquet:"replica"`

	Submitted   float64  `parquet:"submitted"`
	Started     *float64 `parquet:"started"` // null if no replica was seen to begin
	Finished    float64  `parquet:"finished"`
	RewardReady *float64 `parquet:"reward_ready"` // null without a reward

	PromptTokens     int32  `parquet:"prompt_tokens"`
	CompletionTokens int32  `parquet:"completion_tokens"` // 0 if it was aborted
	AbortedTokens    *int32 `parquet:"aborted_tokens"`    // seen before the abort; null if it completed

	State      string `parquet:"state"`
	Passed     *bool  `parquet:"passed"` // its reward; null without one
	Prefetched bool   `parquet:"prefetched"`
}
