// Package config reads the experiment: experiments.toml and overrides from the
// command line become one validated value that nothing changes afterwards.
//
// Reading is strict. An unknown key, a value of the wrong type or out of its
// range is an error, and all of them are reported at once, each with its line. A
// key that is left out has the value of Default, the shipped experiments.toml.
package config

// Config is the whole experiment. It is made by Load or Default and read-only.
type Config struct {
	Experiment Experiment  `toml:"experiment"`
	Corpus     Corpus      `toml:"corpus"`
	Models     []Model     `toml:"model"`     // [[model]]
	Benchmarks []Benchmark `toml:"benchmark"` // [[benchmark]]
	Sampling   Sampling    `toml:"sampling"`
	Replay     Replay      `toml:"replay"`
	Systems    Systems     `toml:"systems"`
	Workers    []Worker    `toml:"worker"` // [[worker]]
	Serving    Serving     `toml:"serving"`
	Judge      Judge       `toml:"judge"`
	Sandbox    Sandbox     `toml:"sandbox"`
	Grader     Grader      `toml:"grader"`
	Executor   Executor    `toml:"executor"`
	Report     Report      `toml:"report"`

	values map[string]string // canonical text of every key, for Slice
}

// Experiment holds the settings that all stages share.
type Experiment struct {
	Seed    uint64 `toml:"seed"`                            // master seed, from which every random stream is derived
	Budgets []int  `toml:"budgets" want:"set of 2 to 1024"` // rollouts per task, each at least 2, ascending and unique
	Out     string `toml:"out" want:"filled"`               // folder of all outputs
}

// Choices that the program asks for. What all choices of a key mean stands at its field.
const (
	SourceVLLM        = "vllm"       // of Corpus.Source
	PanelsEven        = "even"       // of Replay.Panels
	SearchExhaustive  = "exhaustive" // of TSNeyman.Search
	EngineVLLM        = "vllm"       // of Systems.Engine
	ProtocolPublished = "published"  // of Systems.Protocol
	LengthsDrawn      = "drawn"      // of Systems.Lengths
	WeightsDummy      = "dummy"      // of Worker.Weights
	ExecutorSlurm     = "slurm"      // of Executor.Kind
	ExecutorCommand   = "command"    // of Executor.Kind
	WhereJobs         = "jobs"       // of Resources.Where
	PDFAuto           = "auto"       // of Report.PDF
	PDFNever          = "never"      // of Report.PDF
)

// Corpus says where the profiles come from.
type Corpus struct {
	Source          string `toml:"source" want:"published|vllm"`       // of profiles: the published or given ones, or rollouts of the models from vLLM servers
	Profiles        string `toml:"profiles"`                           // CSV or Parquet file of profiles that stands in for the published ones; "" for these
	Tasks           string `toml:"tasks" want:"filled"`                // folder with a task file <benchmark>.jsonl for every benchmark that names none
	Prompts         string `toml:"prompts"`                            // folder with templates that win over the built-in ones; "" for none
	RolloutsPerTask int    `toml:"rollouts_per_task" want:"1 to 2^20"` // K, sampled for every task with source = "vllm"
}

// Model is a model of the experiment.
type Model struct {
	ID             string `toml:"id" want:"id"`                     // as in the profiles: "qwen2_5_3b"
	Title          string `toml:"title" want:"filled"`              // in messages: "Qwen2.5-3B"
	Thinking       bool   `toml:"thinking"`                         // whether the chat template's thinking mode is on
	ThinkingBudget int    `toml:"thinking_budget" want:"0 to 2^20"` // tokens of thinking at most, within sampling.max_tokens; 0 without thinking
	MaxSequences   int    `toml:"max_sequences" want:"1 to 65536"`  // sequences that one engine runs at a time

	Path            string `toml:"path" want:"filled"`          // what a launched server loads: a folder, or a name on Hugging Face
	Served          string `toml:"served" want:"filled"`        // the name that servers give it
	ReasoningParser string `toml:"reasoning_parser"`            // of vLLM, which separates thinking from the answer; "" for none
	Price           string `toml:"price" want:"price" json:"-"` // dollars per million tokens of prompts and of answers, IN/OUT: evaluate counts what it costs; "": not known

	// What the FLOP proxy needs to know of a model (paper, Appendix B.5); all 0
	// for a model of the paper.
	ThetaCore           int `toml:"theta_core" want:"0 to 2^50"` // parameters
	ThetaHead           int `toml:"theta_head" want:"0 to 2^50"`
	FullAttentionLayers int `toml:"full_attention_layers" want:"0 to 2^20"` // all four or none, for the FLOP proxy
	AttentionWidth      int `toml:"attention_width" want:"0 to 2^30"`
}

// Benchmark is a benchmark of the experiment. The content of its files and programs counts, and
// not where they are, so that these are not in its canonical text.
type Benchmark struct {
	ID     string   `toml:"id" want:"id"`    // as `speceval benchmarks list` shows, or a name of your own
	Tasks  string   `toml:"tasks" json:"-"`  // task file, JSONL or CSV; "" for the one in the folder corpus.tasks
	Grader []string `toml:"grader" json:"-"` // in place of grader.command; none: that
}

// Sampling is how a rollout is generated (paper, Appendix B.1).
type Sampling struct {
	Temperature   float64  `toml:"temperature" want:"0 to 2"`                            // of the softmax; 0: greedy
	TopP          float64  `toml:"top_p" want:"above 0 to 1"`                            // mass of the tokens that are drawn from
	TopK          int      `toml:"top_k" want:"0 to 2^20"`                               // 0: no truncation
	MaxTokens     int      `toml:"max_tokens" want:"1 to 2^20"`                          // of a response, thinking included
	ContextTokens int      `toml:"context_tokens" want:"2 to 2^22"`                      // of prompt and response
	LeaveOut      []string `toml:"leave_out" want:"temperature|top_p|top_k|seed|stream"` // what requests do not say: "temperature", "top_p", "top_k", "seed", "stream"
}

// Replay is the precision of designs and replays (paper, Appendices B.2–B.4).
type Replay struct {
	Draws           int       `toml:"draws" want:"2 to 2^24"`          // panels of a design replicate; pilot vectors of a replay
	Replicates      int       `toml:"replicates" want:"2 to 4096"`     // independent replicates of a design
	Panels          string    `toml:"panels" want:"even|independent"`  // how those of a replicate are drawn: few, less what is known of the prior; or all draws, independently
	QuadratureOrder int       `toml:"quadrature_order" want:"1 to 64"` // Gauss–Legendre nodes in each of ξ and δ
	IBNAlphas       []float64 `toml:"ibn_alphas" want:"1e-6 to 1000"`  // candidate prior strengths of IBN, ascending and unique
	Resamples       int       `toml:"resamples" want:"2 to 2^20"`      // profiles redrawn from each for the Oracle, for the error that comes from their rollouts
	ResampleDraws   int       `toml:"resample_draws" want:"2 to 2^24"` // pilot vectors on each, for the derivatives of the other ratios
	CaseStudy       CaseStudy `toml:"case_study"`
	TSNeyman        TSNeyman  `toml:"ts_neyman"`
}

// CaseStudy is the profile that is looked at closely (paper, Appendix C.2).
type CaseStudy struct {
	Profile     string `toml:"profile" want:"filled"`        // "<benchmark>__model=<model>"; there is no study where it is not evaluated
	Budget      int    `toml:"budget" want:"2 to 2^20"`      // rollouts per task of the sampling distributions
	Repetitions int    `toml:"repetitions" want:"2 to 2^30"` // evaluations simulated, rollout by rollout, of each policy
}

// TSNeyman is the search for the best TS-Neyman (paper, Appendix C.3).
type TSNeyman struct {
	Search     string    `toml:"search" want:"racing|exhaustive"`     // how candidates are tried: all by few trajectories and the finalists by many, or each by Draws
	Alphas     []float64 `toml:"alphas" want:"1e-6 to 1000"`          // candidate prior strengths, ascending and unique
	WarmStarts []int     `toml:"warm_starts" want:"set of 1 to 2^20"` // candidate initial rollouts per task, ascending and unique
	Draws      int       `toml:"draws" want:"2 to 2^24"`              // trajectories of a candidate in the exhaustive search
	RaceDraws  int       `toml:"race_draws" want:"2 to 2^24"`         // trajectories of a candidate in the race, of 100 tasks at the largest budget
	FinalDraws int       `toml:"final_draws" want:"2 to 2^24"`        // further trajectories of a finalist
	Finalists  int       `toml:"finalists" want:"1 to 2^20"`          // candidates that go on from the race, at each budget
}

// Systems is the coupled-reward study of time and compute (paper, Appendix B.5).
type Systems struct {
	Engine   string `toml:"engine" want:"simulated|vllm"`    // what policies are timed on: the simulated fleet alone, or servers of the workers as well
	Replicas int    `toml:"replicas" want:"1 to 4096"`       // of a worker, one GPU each
	Window   int    `toml:"window" want:"1 to 65536"`        // outstanding requests per replica
	Repeats  int    `toml:"repeats" want:"0 to 1000"`        // executions of each strategy in a setting of the simulated fleet; 0: 8
	Protocol string `toml:"protocol" want:"paper|published"` // of the router: speculation fills free places from the prior at once (Algorithm 2), or, as in the published runs, not before the first completion

	// MeasuredRepeats are executions of each strategy on servers, one number for
	// each of the budgets; empty: one of each.
	MeasuredRepeats []int `toml:"measured_repeats" want:"1 to 1000"`

	// ScoredRepeats are executions of each strategy under real rewards, one
	// number for each of the budgets; empty: none.
	ScoredRepeats []int  `toml:"scored_repeats" want:"0 to 1000"`
	Lengths       string `toml:"lengths" want:"natural|drawn"` // of answers in timed runs on servers: what the model writes, or drawn from the length model of the published runs
}

// Worker is a machine with vLLM replicas: running ones, or a way to start them.
type Worker struct {
	Name string   `toml:"name" want:"id"`   // for messages and outputs
	URLs []string `toml:"urls" want:"urls"` // of running replicas

	// Launch is the command that starts a replica, with {model}, {port} and
	// {replica} in the place of what they name; flags of the setting follow it.
	Launch      string   `toml:"launch"`
	Port        int      `toml:"port" want:"1 to 65535"` // of replica 0; the others have the next ones
	Arguments   []string `toml:"arguments"`              // further flags, which win over those of the setting
	Environment []string `toml:"environment"`            // KEY=VALUE
	Weights     string   `toml:"weights" want:"|dummy"`  // of the models that it starts: "" for theirs, "dummy" for random ones

	KeyEnv string `toml:"key_env" want:"variable" json:",omitempty"` // environment variable with the key that servers want; "": SPECEVAL_API_KEY if all workers are on one host
}

// Serving is how servers are watched. It never changes what is asked of them.
type Serving struct {
	Version       string `toml:"version"`                              // of vLLM; "" for any
	Attempts      int    `toml:"attempts" want:"1 to 100"`             // tries of a request that a server fails
	HangSeconds   int    `toml:"hang_seconds" want:"1 to 2^20"`        // without a token, while requests run, until a replica counts as hung
	OutageSeconds int    `toml:"outage_seconds" want:"0 to 2^20"`      // without a live replica until a run gives up
	StartSeconds  int    `toml:"start_seconds" want:"1 to 2^20"`       // for launched servers to become healthy
	OnLoss        string `toml:"on_loss" want:"continue|again|refuse"` // what to do about an answer that is lost under way, see vllm.OnLoss
}

// Judge is the model that scores free-form answers.
type Judge struct {
	URLs        []string `toml:"urls" want:"urls"`            // of running servers; none: answers that need a judge cannot be scored
	Model       string   `toml:"model" want:"filled"`         // the name that servers give it
	Temperature float64  `toml:"temperature" want:"0 to 2"`   // of a verdict
	MaxTokens   int      `toml:"max_tokens" want:"1 to 2^20"` // of a verdict
	Prompt      string   `toml:"prompt"`                      // file of the judge's user turn; "" for our own wording

	GradingPrompt string `toml:"grading_prompt"`          // the same for graded answers
	KeyEnv        string `toml:"key_env" want:"variable"` // environment variable with the key that servers want; "": none is sent
}

// Sandbox bounds the programs that code scorers run.
type Sandbox struct {
	SecondsPerTest int    `toml:"seconds_per_test" want:"1 to 3600"` // of CPU time
	MemoryMiB      int    `toml:"memory_mib" want:"64 to 2^20"`      // of a program
	Python         string `toml:"python" want:"filled"`              // the interpreter: a name or a path
}

// Grader is a program of the user's own that scores answers.
type Grader struct {
	Command        []string `toml:"command"`                          // the program and its arguments; none: answers that need it cannot be scored
	Files          []string `toml:"files"`                            // that it reads, in addition to those in Command
	Version        string   `toml:"version"`                          // what its user calls it
	TimeoutSeconds int      `toml:"timeout_seconds" want:"1 to 3600"` // for a verdict, the start of the program included
	Processes      int      `toml:"processes" want:"0 to 1024"`       // that run at a time; 0: one per core
	Sandbox        bool     `toml:"sandbox"`                          // behind bubblewrap
	MemoryMiB      int      `toml:"memory_mib" want:"0 to 2^20"`      // of each process behind bubblewrap; 0: no bound
}

// Report sets the products of the report stage beside tables and figures.
type Report struct {
	PDF string `toml:"pdf" want:"auto|never"` // whether report.pdf is made: where a TeX engine is installed, or not at all
}

// Values are the canonical texts of all values, by key. They are read-only.
func (c *Config) Values() map[string]string { return c.values }

// Slice gives the canonical text of the named keys, for the part of the
// configuration that a unit reads: {"replay.draws": "8192"}. Strings are
// quoted and lists bracketed, as in JSON; [[model]] and the like are one key,
// "model". An unknown key gives "", which no value has.
func (c *Config) Slice(keys ...string) map[string]string {
	slice := make(map[string]string, len(keys))
	for _, key := range keys {
		slice[key] = c.values[key]
	}
	return slice
}

// Asked is the configuration of how rollouts are asked for, and other keys. What is
// not left out has no key, as it had none before it could be.
func (c *Config) Asked(others ...string) map[string]string {
	keys := append(others, "sampling.temperature", "sampling.top_p", "sampling.top_k", "sampling.max_tokens")
	if len(c.Sampling.LeaveOut) > 0 {
		keys = append(keys, "sampling.leave_out")
	}
	return c.Slice(keys...)
}
