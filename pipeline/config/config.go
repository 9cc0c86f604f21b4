// Package config reads the experiment: experiments.toml and overrides from the
// command line become one validated value that nothing changes afterwards.
//
// Reading is strict. An unknown key, a value of the wrong type or out of its
// range is an error, and all of them are reported at once, each with its line. A
// key that is left out has the value of Default, which is the paper's setting
// and equal to the shipped experiments.toml.
package config

import (
	"fmt"
	"maps"
	"slices"

	"speceval/internal/profile"
)

// Config is the whole experiment. It is made by Load or Default and read-only.
type Config struct {
	Experiment Experiment
	Corpus     Corpus
	Models     []Model     // [[model]]
	Benchmarks []Benchmark // [[benchmark]]
	Sampling   Sampling
	Replay     Replay
	Systems    Systems
	Workers    []Worker // [[worker]]
	Serving    Serving
	Judge      Judge
	Sandbox    Sandbox
	Grader     Grader
	Executor   Executor
	Report     Report

	values map[string]string // canonical text of every key, for Slice
}

// Experiment is what all stages share.
type Experiment struct {
	Seed    uint64 // master seed, from which every random stream is derived
	Budgets []int  // rollouts per task, each at least 2, ascending and unique
	Out     string // folder of all outputs
}

// Sources of the corpus.
const (
	SourcePublished = "published" // the profiles of the paper's release, or a file of the user's
	SourceVLLM      = "vllm"      // rollouts from vLLM servers
)

// Corpus says where the profiles come from.
type Corpus struct {
	Source          string // where profiles come from: those that are there, or rollouts of the models
	Profiles        string // CSV or Parquet file of profiles that stands in for the published ones; "" for these
	Tasks           string // folder with a task file <benchmark>.jsonl for every benchmark that names none
	Prompts         string // folder with templates that win over the built-in ones; "" for none
	RolloutsPerTask int    // K, sampled for every task with source = "vllm"
}

// Model is a model of the experiment.
type Model struct {
	ID             string // as in the profiles: "qwen2_5_3b"
	Title          string // for tables: "Qwen2.5-3B"
	Thinking       bool   // whether the chat template's thinking mode is on
	ThinkingBudget int    // tokens of thinking at most, within sampling.max_tokens; 0 without thinking
	MaxSequences   int    // sequences that one engine runs at a time

	Path            string // what a launched server loads: a folder, or a name on Hugging Face
	Served          string // the name that servers give it
	ReasoningParser string // of vLLM, which separates thinking from the answer; "" for none

	// What the FLOP proxy needs to know of a model (paper, Appendix B.5); all 0
	// for a model of the paper.
	ThetaCore, ThetaHead                int // parameters
	FullAttentionLayers, AttentionWidth int // all four or none, for the FLOP proxy
}

// Benchmark is a benchmark of the experiment.
type Benchmark struct {
	ID    string // as `speceval benchmarks list` shows, or a name of your own
	Tasks string `json:",omitempty"` // task file, JSONL or CSV; "" for the one in the folder corpus.tasks

	Grader []string `json:",omitempty"` // in place of grader.command; none: that
}

// Sampling is how a rollout is generated (paper, Appendix B.1).
type Sampling struct {
	Temperature   float64  // of the softmax; 0: greedy
	TopP          float64  // mass of the tokens that are drawn from
	TopK          int      // 0: no truncation
	MaxTokens     int      // of a response, thinking included
	ContextTokens int      // of prompt and response
	LeaveOut      []string // what requests do not say: "temperature", "top_p", "top_k", "seed", "stream"
}

// Replay is the precision of designs and replays (paper, Appendices B.2–B.4).
type Replay struct {
	Draws           int       // panels of a design replicate; pilot vectors of a replay
	Replicates      int       // independent replicates of a design
	Panels          string    // how those of a replicate are drawn, PanelsEven or PanelsIndependent
	QuadratureOrder int       // Gauss–Legendre nodes in each of ξ and δ
	IBNAlphas       []float64 // candidate prior strengths of IBN, ascending and unique
	Resamples       int       // profiles redrawn from each, for the error that comes from their rollouts
	ResampleDraws   int       // pilot vectors of the replay of one
	CaseStudy       CaseStudy
	TSNeyman        TSNeyman
}

// CaseStudy is the profile that is looked at closely (paper, Appendix C.2).
type CaseStudy struct {
	Profile     string // "<benchmark>__model=<model>"; there is no study where it is not evaluated
	Budget      int    // rollouts per task of the sampling distributions
	Repetitions int    // evaluations simulated, rollout by rollout, of each policy
}

// Panels of a design.
const (
	PanelsEven        = "even"        // few, less what is known of the prior
	PanelsIndependent = "independent" // all draws, independently
)

// Searches of TS-Neyman.
const (
	SearchRacing     = "racing"     // few trajectories for all candidates, many for the finalists
	SearchExhaustive = "exhaustive" // Draws trajectories for every candidate
)

// TSNeyman is the search for the best TS-Neyman (paper, Appendix C.3).
type TSNeyman struct {
	Search     string    // how candidates are tried
	Alphas     []float64 // candidate prior strengths, ascending and unique
	WarmStarts []int     // candidate initial rollouts per task, ascending and unique
	Draws      int       // trajectories of a candidate in the exhaustive search
	RaceDraws  int       // trajectories of every candidate in the race, of 100 tasks at the largest budget
	FinalDraws int       // further trajectories of a finalist
	Finalists  int       // candidates that go on from the race, at each budget
}

// Engines of the systems stage.
const (
	EngineSimulated = "simulated"
	EngineVLLM      = "vllm"
)

// Protocols of the router.
const (
	ProtocolPaper     = "paper"     // Algorithm 2: speculation fills free places from the prior at once
	ProtocolPublished = "published" // as in the published runs: not before the first completion
)

// Lengths of the answers in timed runs on servers.
const (
	LengthsNatural = "natural" // what the model writes
	LengthsDrawn   = "drawn"   // drawn from the length model of the published runs
)

// WeightsDummy is in Worker.Weights for servers of models without weights.
const WeightsDummy = "dummy"

// Systems is the coupled-reward study of time and compute (paper, Appendix B.5).
type Systems struct {
	Engine   string // what policies are timed on: the simulated fleet alone, or servers of the workers as well
	Replicas int    // of a worker, one GPU each
	Window   int    // outstanding requests per replica
	Repeats  int    // executions of each strategy in a setting of the simulated fleet; 0: 8
	Protocol string // of the router, as in the paper's algorithm or as in the published runs

	// MeasuredRepeats are executions of each strategy on servers, one number for
	// each of the budgets; empty: one of each.
	MeasuredRepeats []int

	// ScoredRepeats are executions of each strategy under real rewards, one
	// number for each of the budgets; empty: none.
	ScoredRepeats []int
	Lengths       string // of answers
}

// Worker is a machine with vLLM replicas: running ones, or a way to start them.
type Worker struct {
	Name string   // for messages and outputs
	URLs []string // of running replicas

	// Launch is the command that starts a replica, with {model}, {port} and
	// {replica} in the place of what they name; flags of the setting follow it.
	Launch      string
	Port        int      // of replica 0; the others have the next ones
	Arguments   []string // further flags, which win over those of the setting
	Environment []string // KEY=VALUE
	MemoryGiB   float64  // main memory that a launched replica needs; 0: not checked
	Weights     string   // of the models that it starts: "" for theirs, "dummy" for random ones

	KeyEnv string `json:",omitempty"` // environment variable with the key that servers want; "": SPECEVAL_API_KEY if all workers are on one host
}

// Serving is how servers are watched. It never changes what is asked of them.
type Serving struct {
	Version       string // of vLLM; "" for any
	Attempts      int    // tries of a request that a server fails
	HangSeconds   int    // without a token, while requests run, until a replica counts as hung
	OutageSeconds int    // without a live replica until a run gives up
	StartSeconds  int    // for launched servers to become healthy
	OnLoss        string // what to do about an answer that is lost under way
}

// What to do about an answer that is lost while it comes in.
const (
	OnLossContinue = "continue" // go on from what has been seen; ask again where no server can
	OnLossAgain    = "again"    // ask again
	OnLossRefuse   = "refuse"   // go on, and stop where no server can
)

// Judge is the model that scores free-form answers.
type Judge struct {
	URLs        []string // of running servers; none: answers that need a judge cannot be scored
	Model       string   // the name that servers give it
	Temperature float64  // of a verdict
	MaxTokens   int      // of a verdict
	Prompt      string   // file of the judge's user turn; "" for our own wording

	GradingPrompt string // the same for graded answers
	KeyEnv        string // environment variable with the key that servers want; "": none is sent
}

// Sandbox bounds the programs that code scorers run.
type Sandbox struct {
	SecondsPerTest int    // of CPU time
	MemoryMiB      int    // of a program
	Python         string // the interpreter: a name or a path
}

// Grader is a program of the user's own that scores answers.
type Grader struct {
	Command        []string // the program and its arguments; none: answers that need it cannot be scored
	Files          []string // that it reads, in addition to those in Command
	Version        string   // what its user calls it
	TimeoutSeconds int      // for a verdict, the start of the program included
	Processes      int      // that run at a time; 0: one per core
	Sandbox        bool     // behind bubblewrap
	MemoryMiB      int      // of each process behind bubblewrap; 0: no bound
}

// Ways to make out/report.pdf.
const (
	PDFAuto  = "auto"  // where a TeX engine is installed
	PDFNever = "never" // not at all
)

// Report is what the report stage makes in addition to tables and figures.
type Report struct {
	PDF    string // whether report.pdf is made
	Second string // profile file of a second generation to hold the first against; "" for none
}

// All gives the canonical text of every key, as Slice does.
func (c *Config) All() map[string]string { return maps.Clone(c.values) }

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

// Profiles reads the profiles of the corpus, sorted by benchmark and model,
// degenerate ones included. A file of the user's ([corpus] profiles) is used
// whole; of the published profiles, held in memory and called name, those of
// the listed models on the listed benchmarks.
func (c *Config) Profiles(published []byte, name string) ([]profile.Profile, error) {
	if c.Corpus.Profiles != "" {
		profiles, err := profile.Read(c.Corpus.Profiles)
		if err != nil {
			return nil, fmt.Errorf("corpus.profiles: %w", err)
		}
		return profiles, nil
	}
	profiles, err := profile.Parse(published, name)
	if err != nil {
		return nil, err
	}
	for _, m := range c.Models {
		if !slices.ContainsFunc(profiles, func(p profile.Profile) bool { return p.Model == m.ID }) {
			return nil, fmt.Errorf("model %q: %s has no profile of this model", m.ID, name)
		}
	}
	for _, b := range c.Benchmarks {
		if !slices.ContainsFunc(profiles, func(p profile.Profile) bool { return p.Benchmark == b.ID }) {
			return nil, fmt.Errorf("benchmark %q: %s has no profile on this benchmark", b.ID, name)
		}
	}
	return slices.DeleteFunc(profiles, func(p profile.Profile) bool { return !c.covers(p) }), nil
}

// StandIn says, for plans, which profiles make generating and scoring
// unnecessary; published is the name of the published ones.
func (c Corpus) StandIn(published string) string {
	if c.Profiles != "" {
		return "profiles from " + c.Profiles
	}
	return "published profiles stand in: " + published
}

// covers reports whether the experiment lists the model and the benchmark.
func (c *Config) covers(p profile.Profile) bool {
	return slices.ContainsFunc(c.Models, func(m Model) bool { return m.ID == p.Model }) &&
		slices.ContainsFunc(c.Benchmarks, func(b Benchmark) bool { return b.ID == p.Benchmark })
}
