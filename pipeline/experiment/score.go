package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/scoring/code"
	"speceval/internal/scoring/command"
	"speceval/internal/scoring/family"
	"speceval/internal/scoring/judge"
	"speceval/internal/scoring/sandbox"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/serving"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/files"
	"speceval/internal/upstream"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/score"
)

// Judges are the servers of the judge.
func Judges(cfg *config.Config, o Outside) *serving.Servers {
	s := servingSettings(cfg, o)
	s.Workers = []serving.Worker{judgeWorker(cfg, o.Environment)}
	return serving.New(s)
}

// Unparted reports whether the prompts of a model open its thinking and no server separates
// it from the answer.
func Unparted(m config.Model) bool { return m.Thinking && m.ReasoningParser == "" }

// ScoreSettings returns the settings of the score stage, with notes for the user.
func ScoreSettings(cfg *config.Config, o Outside, servers *serving.Servers, tasks []TaskFile) (s score.Settings, notes []string, err error) {
	s = score.Settings{
		Rollouts: cfg.Corpus.RolloutsPerTask, JudgeName: cfg.Judge.Model, GradingName: cfg.Judge.Model, AtATime: runtime.GOMAXPROCS(0),
		Config: map[family.Need]map[string]string{
			family.Judge:   cfg.Slice("judge.model", "judge.temperature", "judge.max_tokens"),
			family.Sandbox: cfg.Slice("sandbox.seconds_per_test", "sandbox.memory_mib", "sandbox.python"),
			family.Grader:  cfg.Slice("grader.sandbox"),
		},
	}
	for _, m := range cfg.Models {
		s.Models = append(s.Models, score.Model{ID: m.ID, Unparted: Unparted(m)})
	}
	graders := &graders{cfg: cfg, environment: withoutKeys(o.Environment, cfg)}
	for _, b := range tasks {
		answers, sums, err := b.answers()
		if err != nil {
			return s, nil, err
		}
		grader, err := graders.of(b)
		if err != nil {
			return s, nil, err
		}
		if grader.missing {
			notes = append(notes, b.ID+" has answers that a program of yours scores: name it in grader.command before the score stage")
		}
		s.Benchmarks = append(s.Benchmarks, score.Benchmark{
			Grader: grader.open, GraderName: grader.name,
			ID: b.ID, Tasks: b.Tasks, Answers: answers,
			Tests: func(t benchmark.Task) ([]benchmark.Test, error) {
				return benchmark.ReadTests(b.Path, t, sums[t.TestsFile])
			},
		})
		if len(cfg.Judge.URLs) == 0 && family.Count(b.Tasks, family.Judge) > 0 {
			notes = append(notes, b.ID+" has answers that a judge scores: name its servers in judge.urls before the score stage")
		}
	}
	asked, prompts, err := judgePrompts(cfg)
	if err != nil {
		return s, nil, err
	}
	s.Sources = map[family.Need][]dag.Source{family.Judge: {{Name: "the judge's prompt", SHA256: prompts[0]}}}
	if cfg.Judge.Prompt != "" {
		s.JudgeName += ":prompt=" + prompts[0][:8]
	}
	if cfg.Judge.GradingPrompt != "" {
		s.GradingName += ":prompt=" + prompts[1][:8]
	}
	sayKeyless := sync.OnceFunc(func() {
		if text := keyless(tasks); text != "" && o.Report != nil {
			o.Report(text)
		}
	})
	s.Judge = func(ctx context.Context) (score.Judge, error) {
		if len(cfg.Judge.URLs) == 0 {
			return score.Judge{}, fmt.Errorf("no judge: name the servers of %s in judge.urls", cfg.Judge.Model)
		}
		sayKeyless()
		lease, err := servers.Acquire(ctx, serving.Model{ID: cfg.Judge.Model, Requires: pool.Requirement{Model: cfg.Judge.Model}})
		if err != nil {
			return score.Judge{}, err
		}
		asked := asked // a copy: units run side by side
		asked.Servers = lease
		return score.Judge{Settings: asked, Places: lease.Places(), Release: lease.Release}, nil
	}
	s.Runner = (&programs{cfg: cfg, tasks: tasks, report: o.Report}).runner
	return s, notes, nil
}

// keyless says which benchmarks are judged without the right answers; "" for none.
func keyless(all []TaskFile) string {
	var ids []string
	for _, f := range all {
		if slices.ContainsFunc(f.Tasks, func(t benchmark.Task) bool { return scorerOf(t) != t.Scorer }) {
			ids = append(ids, f.ID)
		}
	}
	if ids == nil {
		return ""
	}
	return fmt.Sprintf("note: tasks of %s have no answer: the judge goes by the question and by what it knows", strings.Join(ids, ", "))
}

// judgePrompts is how the judge is asked, with the digests of its prompts: that for a
// verdict, and that for a grade.
func judgePrompts(cfg *config.Config) (s judge.Settings, sums [2]string, err error) {
	s.Sampling = vllm.Sampling{
		Model: cfg.Judge.Model, Temperature: cfg.Judge.Temperature, TopP: 1, MaxTokens: cfg.Judge.MaxTokens,
		TemplateArguments: map[string]any{"enable_thinking": false},
	}
	for i, prompt := range []struct {
		to        **template.Template
		key, file string
		ours      []byte
		name      string
	}{
		{&s.Prompt, "judge.prompt", cfg.Judge.Prompt, data.VerdictPrompt(), data.VerdictPromptName},
		{&s.Grading, "judge.grading_prompt", cfg.Judge.GradingPrompt, data.GradePrompt(), data.GradePromptName},
	} {
		text, name := prompt.ours, prompt.name
		if prompt.file != "" {
			if text, err = files.ReadInput(prompt.file, files.Prompt); err != nil {
				return s, sums, fmt.Errorf("%s: %w", prompt.key, err)
			}
			name = prompt.file
		}
		if *prompt.to, err = judge.ParsePrompt(string(text), name); err != nil {
			return s, sums, err
		}
		sums[i] = digest(text)
	}
	return s, sums, nil
}

// programs runs programs of models: one runner, since its limits are of
// the whole machine.
type programs struct {
	cfg    *config.Config
	tasks  []TaskFile
	report func(text string) // may be nil
	mu     sync.Mutex
	made   *code.Runner
}

func (p *programs) runner(ctx context.Context) (_ *code.Runner, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made, err = code.NewRunner(ctx, sandbox.Settings{
			Python: p.cfg.Sandbox.Python, CPU: time.Duration(p.cfg.Sandbox.SecondsPerTest) * time.Second,
			Memory: int64(p.cfg.Sandbox.MemoryMiB) << 20, AtATime: runtime.GOMAXPROCS(0),
		})
		if text := p.missing(ctx); err == nil && text != "" && p.report != nil {
			p.report(text)
		}
	}
	return p.made, err
}

// missing names the modules that programs of the benchmarks may import and the
// interpreter does not have where the sandbox looks for them; "" if there are none.
func (p *programs) missing(ctx context.Context) string {
	const ask = "import importlib.util, sys; print(', '.join(m for m in sys.argv[1:] if importlib.util.find_spec(m) is None))"
	var modules []string
	for _, g := range upstream.Groups() {
		if slices.ContainsFunc(p.tasks, func(f TaskFile) bool { return f.ID == g.ID }) {
			modules = append(modules, g.Modules()...)
		}
	}
	slices.Sort(modules)
	words := append([]string{"-I", "-c", ask}, slices.Compact(modules)...)
	answer, err := exec.CommandContext(ctx, p.cfg.Sandbox.Python, words...).Output()
	names := strings.TrimSpace(string(answer))
	if err != nil || names == "" { // the sandbox reports an interpreter that does not run
		return ""
	}
	return fmt.Sprintf("note: %s is missing from %s (sandbox.python): programs that import it fail; install it there for all users, or name another interpreter", names, p.cfg.Sandbox.Python)
}

// answers is the file as an input, as far as verdicts depend on it: with the
// content of the files that hold tests, unless the file has their digests. sums are
// the digests of those that were read: who scores must find them so, however much
// later.
func (f TaskFile) answers() (source dag.Source, sums map[string]string, err error) {
	h := sha256.New()
	io.WriteString(h, benchmark.Digest(f.Tasks))
	sums = make(map[string]string)
	for _, t := range f.Tasks {
		if t.TestsFile == "" || t.TestsSHA256 != "" {
			continue
		}
		own := sha256.New()
		if err := copyFile(io.MultiWriter(h, own), filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(t.TestsFile))); err != nil {
			return dag.Source{}, nil, fmt.Errorf("benchmark %s: %w", f.ID, err)
		}
		sums[t.TestsFile] = hex.EncodeToString(own.Sum(nil))
	}
	return dag.Source{Name: f.Path + " (answers and tests)", SHA256: hex.EncodeToString(h.Sum(nil))}, sums, nil
}

// copyFile writes the content of a file to w.
func copyFile(w io.Writer, path string) error {
	file, err := files.OpenInput(path, files.Tests)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// graders are the programs of the user's own that score answers: one for every
// command, whatever the benchmarks and models, since its processes are of the whole
// machine.
type graders struct {
	cfg         *config.Config
	environment []string // of graders that are not behind bubblewrap

	mu   sync.Mutex
	made map[string]*command.Grader // by the words of the command
}

// grader is the grader of a benchmark, as the score stage takes it.
type grader struct {
	name    string // "" if the benchmark needs none, or has none
	missing bool   // it needs one and has none
	open    func(ctx context.Context) (*command.Grader, error)
}

// of is the grader of a benchmark. The error names a file of it that cannot be read.
func (g *graders) of(b TaskFile) (grader, error) {
	if family.Count(b.Tasks, family.Grader) == 0 {
		return grader{}, nil
	}
	words := g.cfg.Grader.Command
	if i := slices.IndexFunc(g.cfg.Benchmarks, func(c config.Benchmark) bool { return c.ID == b.ID }); i >= 0 && len(g.cfg.Benchmarks[i].Grader) > 0 {
		words = g.cfg.Benchmarks[i].Grader
	}
	if len(words) == 0 || words[0] == "" {
		return grader{missing: true, open: func(context.Context) (*command.Grader, error) {
			return nil, fmt.Errorf("no grader: name your program in grader.command, as in --set 'grader.command=[\"python3\", \"grade.py\"]'")
		}}, nil
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		return grader{}, err
	}
	program := command.Program{Arguments: words, Files: g.cfg.Grader.Files, Folder: folder, Version: g.cfg.Grader.Version}
	digest, err := program.Digest()
	if err != nil {
		return grader{}, fmt.Errorf("benchmark %s: %w", b.ID, err)
	}
	return grader{name: digest, open: func(ctx context.Context) (*command.Grader, error) {
		if now, err := program.Digest(); err != nil || now != digest {
			return nil, fmt.Errorf("the grader %s has changed since this command began: run it again (%v)", program.Name(), err)
		}
		one := g.shared(program)
		return one, one.Open(ctx)
	}}, nil
}

// shared is the grader of a program, the same one every time.
func (g *graders) shared(program command.Program) *command.Grader {
	g.mu.Lock()
	defer g.mu.Unlock()
	words := strings.Join(program.Arguments, "\x00")
	if g.made[words] == nil {
		if g.made == nil {
			g.made = make(map[string]*command.Grader)
		}
		s := command.Settings{
			Program: program, Timeout: time.Duration(g.cfg.Grader.TimeoutSeconds) * time.Second,
			Processes: g.cfg.Grader.Processes, Sandbox: g.cfg.Grader.Sandbox, Memory: int64(g.cfg.Grader.MemoryMiB) << 20, Environment: g.environment,
		}
		if s.Processes == 0 {
			s.Processes = runtime.GOMAXPROCS(0)
		}
		g.made[words] = command.NewGrader(s)
	}
	return g.made[words]
}
