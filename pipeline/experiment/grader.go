package experiment

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"speceval/internal/scorer/command"
	"speceval/internal/scorer/family"
	"speceval/pipeline/config"
)

// graders are the programs of the user's own that score answers: one for every
// command, whatever the benchmarks and models, since its processes are of the whole
// machine.
type graders struct {
	cfg         *config.Config
	environment []string // of those that are not behind bubblewrap

	mu   sync.Mutex
	made map[string]*command.Grader // by the words of the command
}

// grader is that of a benchmark, as the score stage takes it.
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
