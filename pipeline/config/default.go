package config

// Default is the paper's setting on the published profiles.
func Default() *Config {
	c := &Config{
		Experiment: Experiment{Seed: 42, Budgets: []int{8, 16, 32, 64}, Out: "out"},
		Corpus:     Corpus{Source: "published", Tasks: "tasks", RolloutsPerTask: 1024},
		Models:     defaultModels(),
		Sampling:   Sampling{Temperature: 0.6, TopP: 0.95, TopK: 0, MaxTokens: 16384, ContextTokens: 32768},
		Replay: Replay{
			Draws: 8192, Replicates: 8, Panels: PanelsEven, QuadratureOrder: 16, IBNAlphas: defaultAlphas(),
			Resamples: 128, ResampleDraws: 256,
			CaseStudy: CaseStudy{Profile: "aime24__model=qwen3_5_4b", Budget: 32, Repetitions: 200_000},
			TSNeyman: TSNeyman{
				Search: "racing", Alphas: defaultAlphas(), WarmStarts: []int{2, 5, 10},
				Draws: 8192, RaceDraws: 5, FinalDraws: 46, Finalists: 1,
			},
		},
		Systems:  Systems{Engine: "simulated", Replicas: 8, Window: 32, Protocol: "paper", Lengths: "natural"},
		Serving:  Serving{Version: "0.23.0", Attempts: 5, HangSeconds: 300, OutageSeconds: 900, StartSeconds: 1800, OnLoss: "continue"},
		Judge:    Judge{Model: "Qwen3.6-35B-A3B", MaxTokens: 4096},
		Sandbox:  Sandbox{SecondsPerTest: 6, MemoryMiB: 4096, Python: "python3"},
		Grader:   Grader{TimeoutSeconds: 60, Sandbox: true, MemoryMiB: 4096},
		Executor: defaultExecutor(),
		Report:   Report{PDF: PDFAuto},
	}
	for _, id := range defaultBenchmarks {
		c.Benchmarks = append(c.Benchmarks, Benchmark{ID: id})
	}
	c.values = bind(c, newDocument("default"))
	return c
}

// defaultAlphas is the prior-strength grid 0.01, 0.02, …, 0.20, 0.25, 0.50, 1
// (paper, Appendix B.3), as decimals that round once.
func defaultAlphas() []float64 {
	var alphas []float64
	for hundredths := 1; hundredths <= 20; hundredths++ {
		alphas = append(alphas, float64(hundredths)/100)
	}
	return append(alphas, 0.25, 0.5, 1)
}

// defaultModels are the paper's six checkpoints (Appendix B.1).
func defaultModels() []Model {
	models := []Model{
		{ID: "qwen2_5_3b", Title: "Qwen2.5-3B", MaxSequences: 256, Path: "Qwen/Qwen2.5-3B-Instruct"},
		{ID: "qwen2_5_7b", Title: "Qwen2.5-7B", MaxSequences: 192, Path: "Qwen/Qwen2.5-7B-Instruct"},
		{ID: "qwen2_5_32b", Title: "Qwen2.5-32B", MaxSequences: 128, Path: "Qwen/Qwen2.5-32B-Instruct"},
		{ID: "qwen3_5_4b", Title: "Qwen3.5-4B", Thinking: true, ThinkingBudget: 8192, MaxSequences: 128, Path: "Qwen/Qwen3.5-4B", ReasoningParser: "qwen3"},
		{ID: "qwen3_5_9b", Title: "Qwen3.5-9B", Thinking: true, ThinkingBudget: 8192, MaxSequences: 128, Path: "Qwen/Qwen3.5-9B", ReasoningParser: "qwen3"},
		{ID: "qwen3_5_27b", Title: "Qwen3.5-27B", Thinking: true, ThinkingBudget: 8192, MaxSequences: 64, Path: "Qwen/Qwen3.5-27B", ReasoningParser: "qwen3"},
	}
	for i := range models {
		models[i].Served = models[i].ID
	}
	return models
}

// defaultBenchmarks are the paper's 18 groups.
var defaultBenchmarks = []string{
	"aime24", "aime25", "aime26",
	"gpqa_diamond__domain_biology", "gpqa_diamond__domain_chemistry", "gpqa_diamond__domain_physics",
	"hle__text_only_sample100", "hmmt",
	"livecodebench_gt_2024_03_30__difficulty_easy", "livecodebench_gt_2024_03_30__difficulty_hard", "livecodebench_gt_2024_03_30__difficulty_medium",
	"math_100",
	"mmlu_science__subject_college_biology", "mmlu_science__subject_college_chemistry", "mmlu_science__subject_college_physics",
	"supergpqa_science__field_biology", "supergpqa_science__field_chemistry", "supergpqa_science__field_physics",
}
