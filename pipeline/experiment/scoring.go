package experiment

import (
	"cmp"
	"context"
	"crypto/sha256"
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
	"speceval/internal/benchmark/upstream"
	"speceval/internal/scoring/code"
	"speceval/internal/scoring/command"
	"speceval/internal/scoring/family"
	"speceval/internal/scoring/judge"
	"speceval/internal/scoring/sandbox"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/files"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/stages/score"
)

// ScoreSettings returns the settings of the score stage, with notes for the user.
func ScoreSettings(cfg *config.Config, o Outside, servers *pool.Servers, tasks []TaskFile) (s score.Settings, notes []string, err error) {
	s = score.Settings{
		Rollouts: cfg.Corpus.RolloutsPerTask, AtATime: runtime.GOMAXPROCS(0),
		Config: map[family.Need]map[string]string{
			family.Judge:   cfg.Slice("judge.model", "judge.temperature", "judge.max_tokens"),
			family.Sandbox: cfg.Slice("sandbox.seconds_per_test", "sandbox.memory_mib", "sandbox.python"),
			family.Grader:  cfg.Slice("grader.sandbox"),
		},
		Runner: runner(cfg, o, tasks),
	}
	for _, m := range cfg.Models {
		s.Models = append(s.Models, score.Model{ID: m.ID, Unparted: Unparted(m)})
	}
	graders := graders{cfg: cfg, environment: withoutKeys(o.Environment, cfg), made: map[string]*command.Grader{}}
	for _, b := range tasks {
		answers, sums, err := b.answers()
		if err != nil {
			return s, nil, err
		}
		scored := score.Benchmark{
			ID: b.ID, Tasks: b.Tasks, Answers: answers,
			Tests: func(t benchmark.Task) ([]benchmark.Test, error) {
				return benchmark.ReadTests(b.Path, t, sums[t.TestsFile])
			},
		}
		if family.Count(b.Tasks, family.Grader) > 0 {
			if scored.GraderName, scored.Grader, err = graders.of(b.ID); err != nil {
				return s, nil, err
			}
			if scored.GraderName == "" {
				notes = append(notes, b.ID+" has answers that a program of yours scores: name it in grader.command before the score stage")
			}
		}
		if len(cfg.Judge.URLs) == 0 && family.Count(b.Tasks, family.Judge) > 0 {
			notes = append(notes, b.ID+" has answers that a judge scores: name its servers in judge.urls before the score stage")
		}
		s.Benchmarks = append(s.Benchmarks, scored)
	}
	err = setJudge(&s, cfg, o, servers, tasks)
	return s, notes, err
}

// setJudge sets how the judge is asked. A prompt of the user's is part of its name.
func setJudge(s *score.Settings, cfg *config.Config, o Outside, servers *pool.Servers, tasks []TaskFile) error {
	asked := judge.Settings{Sampling: vllm.Sampling{
		Model: cfg.Judge.Model, Temperature: cfg.Judge.Temperature, TopP: 1, MaxTokens: cfg.Judge.MaxTokens,
		TemplateArguments: map[string]any{"enable_thinking": false},
	}}
	prompt := func(key, file string, text []byte, name string) (_ *template.Template, sum, title string, err error) {
		title = cfg.Judge.Model
		if file != "" {
			name = file
			if text, err = files.ReadInput(file, files.Prompt); err != nil {
				return nil, "", "", fmt.Errorf("%s: %w", key, err)
			}
			title += ":prompt=" + digest(text)[:8]
		}
		parsed, err := judge.ParsePrompt(string(text), name)
		return parsed, digest(text), title, err
	}
	var sum string
	var err error
	if asked.Prompt, sum, s.JudgeName, err = prompt("judge.prompt", cfg.Judge.Prompt, data.VerdictPrompt(), data.VerdictPromptName); err != nil {
		return err
	}
	if asked.Grading, _, s.GradingName, err = prompt("judge.grading_prompt", cfg.Judge.GradingPrompt, data.GradePrompt(), data.GradePromptName); err != nil {
		return err
	}
	s.Sources = map[family.Need][]dag.Source{family.Judge: {{Name: "the judge's prompt", SHA256: sum}}}
	sayBlind := sync.OnceFunc(func() {
		var ids []string
		for _, f := range tasks {
			if slices.ContainsFunc(f.Tasks, judgedBlind) {
				ids = append(ids, f.ID)
			}
		}
		if ids != nil {
			o.say(fmt.Sprintf("note: tasks of %s have no answer: the judge goes by the question and by what it knows", strings.Join(ids, ", ")))
		}
	})
	s.Judge = func(ctx context.Context) (score.Judge, error) {
		if len(cfg.Judge.URLs) == 0 {
			return score.Judge{}, fmt.Errorf("no judge: name the servers of %s in judge.urls", cfg.Judge.Model)
		}
		sayBlind()
		lease, err := servers.Acquire(ctx, pool.Model{ID: cfg.Judge.Model, Requires: pool.Requirement{Model: cfg.Judge.Model}})
		if err != nil {
			return score.Judge{}, err
		}
		asked := asked // a copy: units run side by side
		asked.Servers = lease
		return score.Judge{Settings: asked, Places: lease.Places(), Release: lease.Release}, nil
	}
	return nil
}

// runner returns what runs programs of models: one runner, since its limits are of the whole
// machine.
func runner(cfg *config.Config, o Outside, tasks []TaskFile) func(ctx context.Context) (*code.Runner, error) {
	var mu sync.Mutex
	var made *code.Runner
	return func(ctx context.Context) (_ *code.Runner, err error) {
		mu.Lock()
		defer mu.Unlock()
		if made == nil {
			made, err = code.NewRunner(ctx, sandbox.Settings{
				Python: cfg.Sandbox.Python, CPU: time.Duration(cfg.Sandbox.SecondsPerTest) * time.Second,
				Memory: int64(cfg.Sandbox.MemoryMiB) << 20, AtATime: runtime.GOMAXPROCS(0),
			})
			if err == nil {
				o.say(missingModules(ctx, cfg.Sandbox.Python, tasks))
			}
		}
		return made, err
	}
}

// missingModules names the modules that programs of the benchmarks may import and the
// interpreter does not have where the sandbox looks for them; "" if there are none.
func missingModules(ctx context.Context, python string, tasks []TaskFile) string {
	const ask = "import importlib.util, sys; print(', '.join(m for m in sys.argv[1:] if importlib.util.find_spec(m) is None))"
	var modules []string
	for _, g := range upstream.Groups() {
		if slices.ContainsFunc(tasks, func(f TaskFile) bool { return f.ID == g.ID }) {
			modules = append(modules, g.Modules()...)
		}
	}
	slices.Sort(modules)
	words := append([]string{"-I", "-c", ask}, slices.Compact(modules)...)
	answer, err := exec.CommandContext(ctx, python, words...).Output()
	names := strings.TrimSpace(string(answer))
	if err != nil || names == "" { // the sandbox reports an interpreter that does not run
		return ""
	}
	return fmt.Sprintf("note: %s is missing from %s (sandbox.python): programs that import it fail; install it there for all users, or name another interpreter", names, python)
}

// answers is the file as an input, as far as verdicts depend on it: with the
// content of the files that hold tests, unless the file has their digests. sums are
// the digests of the files that were read: scoring must find the same, however much
// later.
func (f TaskFile) answers() (source dag.Source, sums map[string]string, err error) {
	h := sha256.New()
	io.WriteString(h, benchmark.Digest(f.Tasks))
	sums = make(map[string]string)
	for _, t := range f.Tasks {
		if t.TestsFile == "" || t.TestsSHA256 != "" {
			continue
		}
		text, err := files.ReadInput(filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(t.TestsFile)), files.Tests)
		if err != nil {
			return dag.Source{}, nil, fmt.Errorf("benchmark %s: %w", f.ID, err)
		}
		h.Write(text)
		sums[t.TestsFile] = digest(text)
	}
	return dag.Source{Name: f.Path + " (answers and tests)", SHA256: fmt.Sprintf("%x", h.Sum(nil))}, sums, nil
}

// graders are the programs of the user's own that score answers: one for every
// command, whatever the benchmarks and models, since its processes are of the whole
// machine.
type graders struct {
	cfg         *config.Config
	environment []string                   // of graders that are not behind bubblewrap
	made        map[string]*command.Grader // by the words of the command
}

// of returns the grader of a benchmark, and its name, which is "" where the configuration names
// none. The error names a file of it that cannot be read.
func (g graders) of(benchmark string) (name string, open func(ctx context.Context) (*command.Grader, error), err error) {
	words := g.cfg.Grader.Command
	if i := slices.IndexFunc(g.cfg.Benchmarks, func(c config.Benchmark) bool { return c.ID == benchmark }); i >= 0 && len(g.cfg.Benchmarks[i].Grader) > 0 {
		words = g.cfg.Benchmarks[i].Grader
	}
	if len(words) == 0 || words[0] == "" {
		return "", func(context.Context) (*command.Grader, error) {
			return nil, fmt.Errorf("no grader: name your program in grader.command, as in --set 'grader.command=[\"python3\", \"grade.py\"]'")
		}, nil
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		return "", nil, err
	}
	program := command.Program{Arguments: words, Files: g.cfg.Grader.Files, Folder: folder, Version: g.cfg.Grader.Version}
	digest, err := program.Digest()
	if err != nil {
		return "", nil, fmt.Errorf("benchmark %s: %w", benchmark, err)
	}
	key := strings.Join(words, "\x00")
	if g.made[key] == nil {
		g.made[key] = command.NewGrader(command.Settings{
			Program: program, Timeout: time.Duration(g.cfg.Grader.TimeoutSeconds) * time.Second,
			Processes: cmp.Or(g.cfg.Grader.Processes, runtime.GOMAXPROCS(0)), Sandbox: g.cfg.Grader.Sandbox,
			Memory: int64(g.cfg.Grader.MemoryMiB) << 20, Environment: g.environment,
		})
	}
	one := g.made[key]
	return digest, func(ctx context.Context) (*command.Grader, error) {
		if now, err := program.Digest(); err != nil || now != digest {
			return nil, fmt.Errorf("the grader %s has changed since this command began: run it again (%v)", program.Name(), err)
		}
		return one, one.Open(ctx)
	}, nil
}
