package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"text/template"
	"time"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/inputfile"
	"speceval/internal/pool"
	"speceval/internal/scorer/code"
	"speceval/internal/scorer/family"
	"speceval/internal/scorer/judge"
	"speceval/internal/serving"
	"speceval/internal/vllm"
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

// ScoreSettings are those of the score stage, with what the user should know.
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
		s.Models = append(s.Models, score.Model{ID: m.ID, Unparted: m.Thinking && m.ReasoningParser == ""})
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
				return benchmark.ReadTestsOf(b.Path, t, sums[t.TestsFile])
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
	s.Judge = func(ctx context.Context) (score.Judge, error) {
		if len(cfg.Judge.URLs) == 0 {
			return score.Judge{}, fmt.Errorf("no judge: name the servers of %s in judge.urls", cfg.Judge.Model)
		}
		lease, err := servers.Acquire(ctx, serving.Model{ID: cfg.Judge.Model, Requires: pool.Requirement{Model: cfg.Judge.Model}})
		if err != nil {
			return score.Judge{}, err
		}
		asked := asked // a copy: units run side by side
		asked.Servers = lease
		return score.Judge{Settings: asked, Places: lease.Places, Release: lease.Release}, nil
	}
	s.Runner = (&programs{cfg: cfg}).runner
	return s, notes, nil
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
			if text, err = inputfile.Read(prompt.file, inputfile.Prompt); err != nil {
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

// programs is what runs programs of models: one runner, since its limits are of
// the whole machine.
type programs struct {
	cfg  *config.Config
	mu   sync.Mutex
	made *code.Runner
}

func (p *programs) runner(ctx context.Context) (_ *code.Runner, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made, err = code.NewRunner(ctx, code.Settings{
			Python: p.cfg.Sandbox.Python, CPU: time.Duration(p.cfg.Sandbox.SecondsPerTest) * time.Second,
			Memory: int64(p.cfg.Sandbox.MemoryMiB) << 20, AtATime: runtime.GOMAXPROCS(0),
		})
	}
	return p.made, err
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
	file, err := inputfile.Open(path, inputfile.Tests)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}
