package config

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"speceval/internal/display"
)

// take fetches the value of a key and notes that the key is known.
func (t *table) take(key string) (value any, given bool) {
	t.known = append(t.known, key)
	value, given = t.content[key]
	return value, given
}

// record notes the canonical text of a key's value. Keys of array tables are
// recorded with their array.
func (t *table) record(key string, value any) {
	if !strings.Contains(t.path, "[") {
		t.values[t.join(key)] = canonical(value)
	}
}

// canonical is the JSON of a value: one text for one value.
func canonical(value any) string {
	text, err := json.Marshal(value)
	if err != nil { // NaN and infinities, in messages only
		return fmt.Sprint(value)
	}
	return string(text)
}

// written is a value for a message: unlike its canonical text, 8.0 is not 8.
func written(value any) string {
	text := canonical(value)
	if _, isFloat := value.(float64); isFloat && !strings.ContainsAny(text, ".eNI") {
		text += ".0"
	}
	return text
}

func (t *table) seed(key string, target *uint64) {
	seed := int64(*target)
	if value, given := t.take(key); given {
		n, ok := value.(int64)
		if !ok || n < 0 {
			t.fault(key, "must be an integer from 0 to %d", int64(math.MaxInt64))
			return
		}
		seed = n
	}
	*target = uint64(seed)
	t.record(key, seed)
}

func (t *table) integer(key string, target *int, low, high int) {
	if value, given := t.take(key); given {
		n, ok := value.(int64)
		if !ok || n < int64(low) || n > int64(high) {
			t.fault(key, "must be an integer from %d to %d", low, high)
			return
		}
		*target = int(n)
	}
	t.record(key, *target)
}

func (t *table) number(key string, target *float64, low, high float64) {
	if value, given := t.take(key); given {
		x, ok := number(value)
		if !ok || !(x >= low && x <= high) {
			t.fault(key, "must be a number %s", span(low, high))
			return
		}
		*target = x
	}
	t.record(key, *target)
}

// number accepts 1 for 1.0.
func number(value any) (float64, bool) {
	switch x := value.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	}
	return 0, false
}

func span(low, high float64) string {
	if low == smallest {
		return fmt.Sprintf("above 0, up to %v", high)
	}
	return fmt.Sprintf("from %v to %v", low, high)
}

// integers reads a list without repetition and sorts it.
func (t *table) integers(key string, target *[]int, low, high int) {
	if value, given := t.take(key); given {
		list, ok := readList(value, func(element any) (int, bool) {
			n, ok := element.(int64)
			return int(n), ok && n >= int64(low) && n <= int64(high)
		})
		if !ok {
			t.fault(key, "must be a list of different integers from %d to %d, at least one", low, high)
			return
		}
		*target = list
	}
	t.record(key, *target)
}

// counts reads a list of integers as it is; it may be empty.
func (t *table) counts(key string, target *[]int, low, high int) {
	if value, given := t.take(key); given {
		elements, ok := value.([]any)
		list := []int{}
		for _, element := range elements {
			n, whole := element.(int64)
			ok = ok && whole && n >= int64(low) && n <= int64(high)
			list = append(list, int(n))
		}
		if !ok {
			t.fault(key, "must be a list of integers from %d to %d", low, high)
			return
		}
		*target = list
	}
	t.record(key, *target)
}

// numbers reads a list without repetition and sorts it.
func (t *table) numbers(key string, target *[]float64, low, high float64) {
	if value, given := t.take(key); given {
		list, ok := readList(value, func(element any) (float64, bool) {
			x, ok := number(element)
			return x, ok && x >= low && x <= high
		})
		if !ok {
			t.fault(key, "must be a list of different numbers %s, at least one", span(low, high))
			return
		}
		*target = list
	}
	t.record(key, *target)
}

// readList sorts the elements of a list; not ok if there are none, one is
// repeated or one is not read.
func readList[V int | float64](value any, read func(any) (V, bool)) ([]V, bool) {
	elements, ok := value.([]any)
	if !ok || len(elements) == 0 {
		return nil, false
	}
	var list []V
	for _, element := range elements {
		v, ok := read(element)
		if !ok || slices.Contains(list, v) {
			return nil, false
		}
		list = append(list, v)
	}
	slices.Sort(list)
	return list, true
}

func (t *table) boolean(key string, target *bool) {
	if value, given := t.take(key); given {
		yes, ok := value.(bool)
		if !ok {
			t.fault(key, "must be true or false")
			return
		}
		*target = yes
	}
	t.record(key, *target)
}

// text reads a string that may not be empty.
func (t *table) text(key string, target *string) {
	t.textIf(key, target, "a text, not empty", isFilled)
}

// optionalText reads a string that may be empty.
func (t *table) optionalText(key string, target *string) {
	t.textIf(key, target, "a text", func(string) bool { return true })
}

// VariableName is what names of environment variables with keys are like. Keys themselves
// have other letters, mostly, so that one in the place of its name is refused untold.
var VariableName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// variable reads the name of an environment variable that has a key. What is no such name
// may be a key, and no message repeats it.
func (t *table) variable(key string, target *string) {
	if value, given := t.content[key]; given && value != "" {
		if text, ok := value.(string); !ok || !VariableName.MatchString(text) {
			t.take(key)
			t.secretFault(key, "must be the name of an environment variable, in capital letters, and not the key itself")
			return
		}
	}
	t.textIf(key, target, "a text", func(string) bool { return true })
}

func (t *table) choice(key string, target *string, choices ...string) {
	t.textIf(key, target, "one of "+canonical(choices), func(s string) bool { return slices.Contains(choices, s) })
}

// id reads a name that has to be given.
func (t *table) id(key string, target *string) {
	if _, given := t.content[key]; !given {
		t.take(key)
		t.fault(key, "is missing")
		return
	}
	t.textIf(key, target, "a name of letters, digits, and . _ + -", plainName.MatchString)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)

func (t *table) urls(key string, target *[]string) {
	if list, _ := t.content[key].([]any); slices.ContainsFunc(list, func(element any) bool {
		address, _ := element.(string)
		return display.HasCredentials(address)
	}) {
		t.take(key)
		t.secretFault(key, "has an address with a user or a password: leave them out; a key is taken from the environment variable that key_env names")
		return
	}
	t.textsIf(key, target, "a list of different http or https addresses", func(s string, before []string) bool {
		return isURL(s) && !slices.Contains(before, s)
	})
}

// texts reads a list of strings.
func (t *table) texts(key string, target *[]string) {
	t.textsIf(key, target, "a list of texts", func(string, []string) bool { return true })
}

// among reads a list of choices, each once. An override may name them without
// brackets, with commas between them.
func (t *table) among(key string, target *[]string, choices ...string) {
	if text, ok := t.content[key].(string); ok && t.sets[t.join(key)] != "" {
		parts := []any{}
		for part := range strings.SplitSeq(text, ",") {
			parts = append(parts, strings.TrimSpace(part))
		}
		t.content[key] = parts
	}
	t.textsIf(key, target, "a list of "+canonical(choices), func(s string, before []string) bool {
		return slices.Contains(choices, s) && !slices.Contains(before, s)
	})
	sorted := append([]string{}, *target...)
	slices.Sort(sorted)
	t.record(key, sorted)
}

// textsIf reads a list of strings, each of which passes the test given
// those before it.
func (t *table) textsIf(key string, target *[]string, want string, test func(s string, before []string) bool) {
	value, given := t.take(key)
	if !given {
		return
	}
	elements, ok := value.([]any)
	var list []string
	for _, element := range elements {
		s, isText := element.(string)
		ok = ok && isText && test(s, list)
		list = append(list, s)
	}
	if !ok {
		t.fault(key, "must be %s", want)
		return
	}
	*target = list
}

func isFilled(s string) bool { return strings.TrimSpace(s) != "" }

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// textIf reads a string that passes the test. An override without quotes that
// happens to be a number or a date is the text that was typed.
func (t *table) textIf(key string, target *string, want string, test func(string) bool) {
	if value, given := t.take(key); given {
		s, ok := value.(string)
		if typed, override := t.sets[t.join(key)]; override && !ok {
			s, ok = typed, true
		}
		if !ok || !test(s) {
			t.fault(key, "must be %s", want)
			return
		}
		*target = s
	}
	t.record(key, *target)
}

// Default is the paper's setting on the published profiles.
func Default() *Config {
	c := &Config{
		Experiment: Experiment{Seed: 42, Budgets: []int{8, 16, 32, 64}, Out: "out"},
		Corpus:     Corpus{Source: SourcePublished, Tasks: "tasks", RolloutsPerTask: 1024},
		Models:     defaultModels(),
		Sampling:   Sampling{Temperature: 0.6, TopP: 0.95, TopK: 0, MaxTokens: 16384, ContextTokens: 32768},
		Replay: Replay{
			Draws: 8192, Replicates: 8, Panels: PanelsEven, QuadratureOrder: 16, IBNAlphas: defaultAlphas(),
			Resamples: 128, ResampleDraws: 64,
			CaseStudy: CaseStudy{Profile: "aime24__model=qwen3_5_4b", Budget: 32, Repetitions: 200_000},
			TSNeyman: TSNeyman{
				Search: SearchRacing, Alphas: defaultAlphas(), WarmStarts: []int{2, 5, 10},
				Draws: 8192, RaceDraws: 8, FinalDraws: 48, Finalists: 1,
			},
		},
		Systems:  Systems{Engine: EngineSimulated, Replicas: 8, Window: 32, Protocol: ProtocolPaper, Lengths: LengthsNatural, MeasuredRepeats: []int{}, ScoredRepeats: []int{}},
		Serving:  Serving{Version: "0.23.0", Attempts: 5, HangSeconds: 300, OutageSeconds: 900, StartSeconds: 1800, OnLoss: OnLossContinue},
		Judge:    Judge{Model: "Qwen3.6-35B-A3B", MaxTokens: 4096},
		Sandbox:  Sandbox{SecondsPerTest: 6, MemoryMiB: 4096, Python: "python3"},
		Grader:   Grader{TimeoutSeconds: 60, Sandbox: true, MemoryMiB: 4096},
		Executor: defaultExecutor(),
		Report:   Report{PDF: PDFAuto},
	}
	for _, id := range defaultBenchmarks() {
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
func defaultBenchmarks() []string {
	return []string{
		"aime24", "aime25", "aime26",
		"gpqa_diamond__domain_biology", "gpqa_diamond__domain_chemistry", "gpqa_diamond__domain_physics",
		"hle__text_only_sample100", "hmmt",
		"livecodebench_gt_2024_03_30__difficulty_easy", "livecodebench_gt_2024_03_30__difficulty_hard", "livecodebench_gt_2024_03_30__difficulty_medium",
		"math_100",
		"mmlu_science__subject_college_biology", "mmlu_science__subject_college_chemistry", "mmlu_science__subject_college_physics",
		"supergpqa_science__field_biology", "supergpqa_science__field_chemistry", "supergpqa_science__field_physics",
	}
}
