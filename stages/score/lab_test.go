package score_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/scoring/code"
	"speceval/internal/scoring/judge"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/score"
)

// lab is the stage on made-up rollouts, under the judgement of a made-up judge.
type lab struct {
	t        testing.TB
	dir      string
	settings score.Settings
	rollouts []rollout.Rollout
	parts    [2]string // provenance of each file of rollouts
	drain    chan struct{}

	mu     sync.Mutex
	asked  int
	leases int                                                      // of the judge, that are not given back
	judge  func(n int, question string) (verdict string, err error) // n counts from 1
}

const (
	scoresFile  = "score/benchmark=quiz/model=m/scores.parquet"
	profileFile = "score/benchmark=quiz/model=m/profile.parquet"
)

// newLab has four tasks of two rollouts each: the first of a task is right and
// the second is wrong.
func newLab(t testing.TB) *lab {
	l := &lab{t: t, dir: t.TempDir(), drain: make(chan struct{}), parts: [2]string{"measured", "measured"}}
	l.judge = func(_ int, question string) (string, error) {
		if strings.Contains(question, "the Danube") {
			return "correct: yes", nil
		}
		return "correct: no", nil
	}
	l.settings = score.Settings{
		Rollouts: 2, JudgeName: "wise", AtATime: 2, Models: []score.Model{{ID: "m"}},
		Benchmarks: []score.Benchmark{{
			ID: "quiz", Answers: dag.Source{Name: "quiz.jsonl", SHA256: "q"},
			Tasks: []benchmark.Task{
				{Benchmark: "quiz", ID: "sum", Index: 0, Prompt: "17+25?", Scorer: "math", Answer: "42"},
				{Benchmark: "quiz", ID: "which", Index: 1, Prompt: "Which?", Scorer: "choice", Answer: "C", Options: 4},
				{Benchmark: "quiz", ID: "river", Index: 2, Prompt: "Which river?", Scorer: "judge", Answer: "Danube"},
				{Benchmark: "quiz", ID: "again", Index: 3, Prompt: "Which one?", Scorer: "choice", Answer: "A", Options: 5},
			},
			Tests: func(t benchmark.Task) ([]benchmark.Test, error) { return t.Tests, nil },
		}},
		Judge: func(context.Context) (score.Judge, error) {
			l.leases++
			prompt, err := judge.ParsePrompt("{{.Question}} {{.Response}} {{.Answer}}", "verdict.txt")
			return score.Judge{Settings: judge.Settings{Prompt: prompt, Servers: l}, Places: 3, Release: func() { l.leases-- }}, err
		},
		Runner: func(context.Context) (*code.Runner, error) { return nil, errors.New("no sandbox here") },
	}
	for task, texts := range [][2]string{
		{`So \boxed{42}.`, `So \boxed{43}.`},
		{`\boxed{C}`, `\boxed{D}`},
		{"It is the Danube.", "It is the Rhine."},
		{`\boxed{A}`, "no idea"},
	} {
		for k, text := range texts {
			l.rollouts = append(l.rollouts, rollout.Rollout{
				Benchmark: "quiz", Model: "m", TaskIndex: int32(task), TaskID: l.settings.Benchmarks[0].Tasks[task].ID, Rollout: int32(k),
				FinishReason: "stop", Text: text,
			})
		}
	}
	return l
}

// Stream is the judge.
func (l *lab) Stream(ctx context.Context, r vllm.Request, _ func(vllm.Piece)) (vllm.Completion, string, error) {
	l.mu.Lock()
	l.asked++
	n := l.asked
	l.mu.Unlock()
	text, err := l.judge(n, r.Messages[len(r.Messages)-1].Content)
	return vllm.Completion{Text: text, Finish: "stop"}, "http://judge", errors.Join(err, ctx.Err())
}

// stages are made-up rollouts in two files, and the stage.
func (l *lab) stages() []dag.Stage {
	files := []string{"generate/benchmark=quiz/model=m/part-0000.parquet", "generate/benchmark=quiz/model=m/part-0001.parquet"}
	generate := dag.Stage{Name: "generate", Version: 1, Units: []dag.Unit{{
		ID: "quiz/m", Outputs: files, Sources: []dag.Source{{Name: "rollouts", SHA256: l.digest()}},
		Run: func(_ context.Context, job *dag.Job) error {
			half := len(l.rollouts) / 2
			for i, part := range [][]rollout.Rollout{l.rollouts[:half], l.rollouts[half:]} {
				footer := job.Footer(rollout.Schema)
				footer["speceval.provenance"] = l.parts[i]
				err := job.Write(files[i], len(part), func(w io.Writer) error { return rollout.WritePart(w, sequence(part), footer) })
				if err != nil {
					return err
				}
			}
			return nil
		},
	}}}
	stage, err := score.Stage(l.settings)
	if err != nil {
		l.t.Fatal(err)
	}
	return []dag.Stage{generate, stage}
}

// digest tells one set of rollouts from another.
func (l *lab) digest() string {
	h := sha256.New()
	for _, r := range l.rollouts {
		fmt.Fprintln(h, r.Benchmark, r.Model, r.TaskIndex, r.TaskID, r.Rollout, r.FinishReason, r.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sequence(all []rollout.Rollout) iter.Seq2[*rollout.Rollout, error] {
	return func(yield func(*rollout.Rollout, error) bool) {
		for i := range all {
			if !yield(&all[i], nil) {
				return
			}
		}
	}
}

// attempt runs what is stale.
func (l *lab) attempt() error { return l.attemptUnder(l.t.Context()) }

func (l *lab) attemptUnder(ctx context.Context) error {
	l.t.Helper()
	plan := dagtest.Plan(l.t, l.stages(), l.dir, dag.Selection{})
	runner := dag.Runner{Executor: dagtest.Serial{}, Now: func() time.Time { return time.Unix(0, 0) }}
	err := runner.Run(ctx, l.drain, plan)
	if l.leases != 0 {
		l.t.Errorf("%d leases of the judge are not given back", l.leases)
	}
	return err
}

func (l *lab) succeed() {
	l.t.Helper()
	if err := l.attempt(); err != nil {
		l.t.Fatal(err)
	}
}

// fail runs what is stale, which must fail in such words.
func (l *lab) fail(words ...string) {
	l.t.Helper()
	err := l.attempt()
	if err == nil {
		l.t.Fatal("it did not fail")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			l.t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// scores are the stored ones.
func (l *lab) scores() []rollout.Score {
	l.t.Helper()
	rows, _, err := rowfile.ReadFile[rollout.Score](filepath.Join(l.dir, scoresFile))
	if err != nil {
		l.t.Fatal(err)
	}
	return rows
}

// correct shows the stored verdicts, a digit each.
func (l *lab) correct() string {
	l.t.Helper()
	var b strings.Builder
	for _, s := range l.scores() {
		if s.Correct {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}
