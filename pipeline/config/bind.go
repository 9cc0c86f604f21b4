package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// bind reads every key of the experiment from d over the values that c has,
// and returns the canonical text of all keys. This is the one place that names
// the keys, their types and their ranges. Faults are collected in d.
func bind(c *Config, d *document) map[string]string {
	e := d.table("experiment")
	e.seed("seed", &c.Experiment.Seed)
	e.integers("budgets", &c.Experiment.Budgets, 2, 1024)
	e.text("out", &c.Experiment.Out)

	corpus := d.table("corpus")
	corpus.choice("source", &c.Corpus.Source, SourcePublished, SourceVLLM)
	corpus.optionalText("profiles", &c.Corpus.Profiles)
	if c.Corpus.Source == SourceVLLM && c.Corpus.Profiles != "" {
		corpus.fault("profiles", `must be empty with source = "vllm", which makes profiles`)
	}
	corpus.text("tasks", &c.Corpus.Tasks)
	corpus.optionalText("prompts", &c.Corpus.Prompts)
	corpus.integer("rollouts_per_task", &c.Corpus.RolloutsPerTask, 1, 1<<20)

	bindLists(c, d)

	s := d.table("sampling")
	s.number("temperature", &c.Sampling.Temperature, 0, 2)
	s.number("top_p", &c.Sampling.TopP, smallest, 1)
	s.integer("top_k", &c.Sampling.TopK, 0, 1<<20)
	s.integer("max_tokens", &c.Sampling.MaxTokens, 1, 1<<20)
	s.integer("context_tokens", &c.Sampling.ContextTokens, 2, 1<<22)
	s.among("leave_out", &c.Sampling.LeaveOut, "temperature", "top_p", "top_k", "seed", "stream")
	if c.Sampling.MaxTokens >= c.Sampling.ContextTokens {
		s.fault("max_tokens", "must be less than sampling.context_tokens, to leave room for the prompt")
	}

	bindReplay(&c.Replay, d.table("replay"))

	systems := d.table("systems")
	systems.choice("engine", &c.Systems.Engine, EngineSimulated, EngineVLLM)
	systems.integer("replicas", &c.Systems.Replicas, 1, 4096)
	systems.integer("window", &c.Systems.Window, 1, 65536)
	systems.integer("repeats", &c.Systems.Repeats, 0, 1000)
	systems.choice("protocol", &c.Systems.Protocol, ProtocolPaper, ProtocolPublished)
	c.Systems.bindRepeats(systems, len(c.Experiment.Budgets))
	if len(c.Systems.ScoredRepeats) > 0 && c.Systems.Engine != EngineVLLM {
		systems.fault("scored_repeats", `needs engine = "vllm": the simulated engine writes no responses to score`)
	}
	if c.Systems.Engine == EngineVLLM && slices.Contains(c.Sampling.LeaveOut, "stream") {
		s.fault("leave_out", `must not have "stream" with systems.engine = "vllm": timed runs count the tokens of streams`)
	}
	systems.choice("lengths", &c.Systems.Lengths, LengthsNatural, LengthsDrawn)
	if c.Systems.Lengths == LengthsDrawn && len(c.Systems.ScoredRepeats) > 0 {
		systems.fault("scored_repeats", `needs lengths = "natural": what is cut at a drawn length cannot be scored`)
	}
	if c.Systems.Lengths == LengthsDrawn && c.Corpus.Source == SourceVLLM {
		systems.fault("lengths", `needs corpus.source = "published": the length model knows the published profiles`)
	}
	if c.Systems.Lengths != LengthsDrawn && slices.ContainsFunc(c.Workers, func(w Worker) bool { return w.Weights == WeightsDummy }) {
		systems.fault("lengths", `must be "drawn" for a [[worker]] with weights = "dummy": what such models write is noise`)
	}
	if c.Systems.Engine == EngineVLLM && len(c.Workers) == 0 {
		systems.fault("engine", `needs a [[worker]] with urls of running servers, or with a launch command`)
	}

	serving := d.table("serving")
	serving.optionalText("version", &c.Serving.Version)
	serving.integer("attempts", &c.Serving.Attempts, 1, 100)
	serving.integer("hang_seconds", &c.Serving.HangSeconds, 1, 1<<20)
	serving.integer("outage_seconds", &c.Serving.OutageSeconds, 0, 1<<20)
	serving.integer("start_seconds", &c.Serving.StartSeconds, 1, 1<<20)
	serving.choice("on_loss", &c.Serving.OnLoss, OnLossContinue, OnLossAgain, OnLossRefuse)

	judge := d.table("judge")
	judge.urls("urls", &c.Judge.URLs)
	judge.text("model", &c.Judge.Model)
	judge.number("temperature", &c.Judge.Temperature, 0, 2)
	judge.integer("max_tokens", &c.Judge.MaxTokens, 1, 1<<20)
	judge.optionalText("prompt", &c.Judge.Prompt)
	judge.optionalText("grading_prompt", &c.Judge.GradingPrompt)
	judge.variable("key_env", &c.Judge.KeyEnv)

	sandbox := d.table("sandbox")
	sandbox.integer("seconds_per_test", &c.Sandbox.SecondsPerTest, 1, 3600)
	sandbox.integer("memory_mib", &c.Sandbox.MemoryMiB, 64, 1<<20)
	sandbox.text("python", &c.Sandbox.Python)

	bindGrader(&c.Grader, d.table("grader"))

	c.Executor.bind(d.table("executor"), c.Workers, c.Systems.Engine == EngineVLLM)

	report := d.table("report")
	report.choice("pdf", &c.Report.PDF, PDFAuto, PDFNever)
	report.optionalText("second", &c.Report.Second)

	d.refuseUnknown()
	return d.values
}

const smallest = math.SmallestNonzeroFloat64 // the range begins after 0

func bindReplay(r *Replay, t *table) {
	t.integer("draws", &r.Draws, 2, 1<<24) // a standard error needs two
	t.integer("replicates", &r.Replicates, 2, 4096)
	t.choice("panels", &r.Panels, PanelsEven, PanelsIndependent)
	t.integer("quadrature_order", &r.QuadratureOrder, 1, 64)
	t.numbers("ibn_alphas", &r.IBNAlphas, 1e-6, 1000)
	t.integer("resamples", &r.Resamples, 2, 1<<20)
	t.integer("resample_draws", &r.ResampleDraws, 2, 1<<24)

	study := t.table("case_study")
	study.text("profile", &r.CaseStudy.Profile)
	study.integer("budget", &r.CaseStudy.Budget, 2, 1<<20)
	study.integer("repetitions", &r.CaseStudy.Repetitions, 2, 1<<30)

	ts := t.table("ts_neyman")
	ts.choice("search", &r.TSNeyman.Search, SearchRacing, SearchExhaustive)
	ts.numbers("alphas", &r.TSNeyman.Alphas, 1e-6, 1000) // the sampler's limits
	ts.integers("warm_starts", &r.TSNeyman.WarmStarts, 1, 1<<20)
	ts.integer("draws", &r.TSNeyman.Draws, 2, 1<<24)
	ts.integer("race_draws", &r.TSNeyman.RaceDraws, 2, 1<<24)
	ts.integer("final_draws", &r.TSNeyman.FinalDraws, 2, 1<<24)
	ts.integer("finalists", &r.TSNeyman.Finalists, 1, 1<<20)
}

// bindLists reads the arrays of tables. A list that the file gives replaces
// the default one whole.
func bindLists(c *Config, d *document) {
	if tables, given := d.list("model"); given {
		c.Models = make([]Model, len(tables))
		for i, t := range tables {
			bindModel(&c.Models[i], t)
		}
		unique(tables, "id", func(i int) string { return c.Models[i].ID })
	}
	if tables, given := d.list("benchmark"); given {
		c.Benchmarks = make([]Benchmark, len(tables))
		for i, t := range tables {
			t.id("id", &c.Benchmarks[i].ID)
			t.optionalText("tasks", &c.Benchmarks[i].Tasks)
			t.texts("grader", &c.Benchmarks[i].Grader)
		}
		unique(tables, "id", func(i int) string { return c.Benchmarks[i].ID })
	}
	if tables, given := d.list("worker"); given {
		c.Workers = make([]Worker, len(tables))
		for i, t := range tables {
			bindWorker(&c.Workers[i], t)
		}
		unique(tables, "name", func(i int) string { return c.Workers[i].Name })
	}
	d.values["model"], d.values["benchmark"] = canonical(c.Models), canonical(named(c.Benchmarks))
	d.values["worker"] = canonical(c.Workers)
}

// named is benchmarks without their files and programs, whose content counts, and
// not where they are.
func named(benchmarks []Benchmark) []Benchmark {
	out := slices.Clone(benchmarks)
	for i := range out {
		out[i].Tasks, out[i].Grader = "", nil
	}
	return out
}

func bindGrader(g *Grader, t *table) {
	t.texts("command", &g.Command)
	t.texts("files", &g.Files)
	t.record("command", append([]string{}, g.Command...))
	t.record("files", append([]string{}, g.Files...))
	t.optionalText("version", &g.Version)
	t.integer("timeout_seconds", &g.TimeoutSeconds, 1, 3600)
	t.integer("processes", &g.Processes, 0, 1024)
	t.boolean("sandbox", &g.Sandbox)
	t.integer("memory_mib", &g.MemoryMiB, 0, 1<<20)
}

func bindModel(m *Model, t *table) {
	t.id("id", &m.ID)
	m.Title, m.Path, m.Served, m.MaxSequences = m.ID, m.ID, m.ID, 128
	t.text("title", &m.Title)
	t.boolean("thinking", &m.Thinking)
	t.integer("thinking_budget", &m.ThinkingBudget, 0, 1<<20)
	if m.ThinkingBudget > 0 && !m.Thinking {
		t.fault("thinking_budget", "must be 0 or left out without thinking = true")
	}
	t.integer("max_sequences", &m.MaxSequences, 1, 65536)
	t.text("path", &m.Path)
	t.text("served", &m.Served)
	t.optionalText("reasoning_parser", &m.ReasoningParser)
	t.integer("theta_core", &m.ThetaCore, 0, 1<<50)
	t.integer("theta_head", &m.ThetaHead, 0, 1<<50)
	t.integer("full_attention_layers", &m.FullAttentionLayers, 0, 1<<20)
	t.integer("attention_width", &m.AttentionWidth, 0, 1<<30)
	if n := positive(m.ThetaCore, m.ThetaHead, m.FullAttentionLayers, m.AttentionWidth); n != 0 && n != 4 {
		t.fault("theta_core", "needs theta_head, full_attention_layers and attention_width beside it, all positive: the FLOP proxy takes all four")
	}
}

// positive counts the positive numbers.
func positive(numbers ...int) int {
	n := 0
	for _, x := range numbers {
		if x > 0 {
			n++
		}
	}
	return n
}

func bindWorker(w *Worker, t *table) {
	t.id("name", &w.Name)
	t.urls("urls", &w.URLs)
	t.optionalText("launch", &w.Launch)
	w.Port = 8000
	t.integer("port", &w.Port, 1, 65535)
	t.texts("arguments", &w.Arguments)
	t.texts("environment", &w.Environment)
	t.number("memory_gib", &w.MemoryGiB, 0, 1<<16)
	t.choice("weights", &w.Weights, "", WeightsDummy)
	t.variable("key_env", &w.KeyEnv)
	if w.Weights == WeightsDummy && w.Launch == "" {
		t.fault("weights", "needs a launch command: nobody can take the weights from servers that run already")
	}
	for _, entry := range w.Environment {
		if name, _, found := strings.Cut(entry, "="); !found || name == "" {
			t.fault("environment", "must have entries of the form KEY=VALUE, %q has not", entry)
		}
	}
	if (len(w.URLs) == 0) == (w.Launch == "") {
		t.fault("urls", "needs either urls of running replicas or a launch command, and not both")
	}
}

// unique refuses a list in which two tables have the same name.
func unique(tables []*table, key string, name func(int) string) {
	seen := map[string]bool{}
	for i, t := range tables {
		if seen[name(i)] && name(i) != "" {
			t.fault(key, "is there twice")
		}
		seen[name(i)] = true
	}
}

// bindRepeats reads how often strategies are run on servers at each budget.
func (s *Systems) bindRepeats(t *table, budgets int) {
	t.counts("measured_repeats", &s.MeasuredRepeats, 1, 1000)
	t.counts("scored_repeats", &s.ScoredRepeats, 0, 1000)
	const wrong = "has %d numbers for the %d budgets of experiment.budgets: one for each, or none"
	if n := len(s.MeasuredRepeats); n > 0 && n != budgets {
		t.fault("measured_repeats", wrong, n, budgets)
	}
	if n := len(s.ScoredRepeats); n > 0 && n != budgets {
		t.fault("scored_repeats", wrong, n, budgets)
	}
}

// keyLines gives the line of every key and table header of a valid TOML text,
// by path: "replay.draws", "model[1]", "model[1].id". The TOML library does
// not tell. Keys inside inline tables are left out.
func keyLines(text string) map[string]int {
	s := &lineScanner{text: text, line: 1}
	lines, counts := map[string]int{}, map[string]int{}
	table := ""
	for s.skipBlank() {
		line := s.line
		if s.text[s.at] != '[' {
			key := s.key('=')
			lines[join(table, key)] = line
			s.skipValue()
			continue
		}
		double := strings.HasPrefix(s.text[s.at:], "[[")
		s.at++
		if double {
			s.at++
		}
		table = s.key(']')
		if double {
			s.at++
			counts[table]++
			table = fmt.Sprintf("%s[%d]", table, counts[table]-1)
		}
		lines[table] = line
	}
	return lines
}

func join(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}

// lineScanner walks a text that is known to be valid TOML.
type lineScanner struct {
	text string
	at   int
	line int
}

// skipBlank goes to the next statement, over blanks and comments.
func (s *lineScanner) skipBlank() (more bool) {
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case ' ', '\t', '\r':
		case '\n':
			s.line++
		case '#':
			s.skipComment()
		default:
			return true
		}
	}
	return false
}

// skipComment goes to the last byte of a comment.
func (s *lineScanner) skipComment() {
	for s.at+1 < len(s.text) && s.text[s.at+1] != '\n' {
		s.at++
	}
}

// key reads a dotted key up to the byte end and goes past it.
func (s *lineScanner) key(end byte) string {
	var key strings.Builder
	for ; s.at < len(s.text) && s.text[s.at] != end; s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n':
		case '"', '\'':
			from := s.at + 1
			s.skipString()
			key.WriteString(s.text[from:min(s.at, len(s.text))])
		default:
			key.WriteByte(c)
		}
	}
	s.at++
	return key.String()
}

// skipValue goes to the end of the line on which a value ends.
func (s *lineScanner) skipValue() {
	depth := 0
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '"', '\'':
			s.skipString()
		case '#':
			s.skipComment()
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '\n':
			if depth == 0 {
				return
			}
			s.line++
		}
	}
}

// skipString goes to the closing quote of the string that begins here.
func (s *lineScanner) skipString() {
	quote := s.text[s.at : s.at+1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.at:], long) {
		quote = long
	}
	for s.at += len(quote); s.at < len(s.text); s.at++ {
		switch {
		case s.text[s.at] == '\n':
			s.line++
		case s.text[s.at] == '\\' && quote[0] == '"':
			if s.at++; strings.HasPrefix(s.text[s.at:], "\n") {
				s.line++
			}
		case strings.HasPrefix(s.text[s.at:], quote):
			s.at += len(quote) - 1
			for len(quote) == 3 && strings.HasPrefix(s.text[s.at+1:], quote[:1]) {
				s.at++ // the last quotes of the string itself
			}
			return
		}
	}
}
