package evaluation_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/internal/evaluation"
	"speceval/internal/machine/clock"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
)

// writers are servers that write token by token and never repeat themselves: after
// every token an answer ends by a chance of 1 in 8, and is right by a chance that falls
// with its length.
type writers struct {
	continues bool
	step      time.Duration // of a token
	places    int
	cut       float64 // chance that the connection breaks, at every token

	mu     sync.Mutex
	random *rand.Rand
	asked  []vllm.Request
	told   map[string][]int32 // tokens of every answer that somebody has heard, by the id of its request
	torn   int                // requests that did not go on from what was told
	left   int                // tokens until stop is called, which ends a run
	stop   context.CancelFunc // nil: none does
}

const ends = 1.0 / 8

func rightAfter(tokens int) float64 { return 1 / (1 + math.Pow(float64(tokens)/6, 2)) }

// truth is the chance that an answer is right.
func truth() float64 {
	sum, alive := 0.0, 1.0
	for n := 1; n < 1000; n++ {
		sum += alive * ends * rightAfter(n)
		alive *= 1 - ends
	}
	return sum
}

func (w *writers) Places() int     { return w.places }
func (w *writers) ThinkEnd() int32 { return -1 }
func (w *writers) Continues() bool { return w.continues }

func (w *writers) draw() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.Float64()
}

// begin takes a request, whose prefix must be what its rollout's requests have told.
func (w *writers) begin(r vllm.Request) vllm.Prefix {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, r)
	var from vllm.Prefix
	if r.Prefix != nil {
		from = *r.Prefix
	}
	if !slices.Equal(from.IDs, w.told[r.ID]) {
		w.torn++
	}
	w.told[r.ID] = slices.Clone(from.IDs)
	return from
}

func (w *writers) Stream(ctx context.Context, r vllm.Request, seen func(vllm.Piece)) (vllm.Completion, string, error) {
	const url = "http://a:1"
	now := w.begin(r)
	now.PromptIDs, now.IDs = []int32{1, 2, 3}, slices.Clone(now.IDs)
	tell := func(p vllm.Piece) vllm.Completion {
		now.IDs, now.Text = append(now.IDs, p.IDs...), now.Text+p.Text
		p.Usage = vllm.Usage{Prompt: 3, Completion: len(now.IDs), Reasoning: -1}
		p.PromptIDs = now.PromptIDs
		if !r.TokenIDs {
			p.PromptIDs, p.IDs = nil, nil
		}
		seen(p)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told[r.ID] = slices.Clone(now.IDs)
		if w.left--; w.left < 0 && w.stop != nil {
			w.stop()
		}
		return vllm.Completion{Text: now.Text, Finish: p.Finish, Usage: p.Usage, TokenIDs: now.IDs, PromptIDs: now.PromptIDs}
	}
	for {
		if err := (clock.Wall{}).Sleep(ctx, w.step); err != nil {
			return vllm.Completion{}, url, err
		}
		token := vllm.Piece{IDs: []int32{int32(len(now.IDs))}}
		switch {
		case w.draw() < w.cut:
			return vllm.Completion{}, url, &vllm.Error{Kind: vllm.Cut, Message: "cut"}
		case w.draw() >= ends:
			token.Text = "."
			tell(token)
			continue
		}
		token.Text, token.Finish = "wrong", "stop"
		if w.draw() < rightAfter(len(now.IDs)+1) {
			token.Text = "right"
		}
		return tell(token), url, nil
	}
}

// brisk is a clock on which all waits are short.
type brisk struct{ clock.Wall }

func (b brisk) Sleep(ctx context.Context, d time.Duration) error { return b.Wall.Sleep(ctx, d/50) }

// written is an evaluation of four tasks on such servers.
func written(t *testing.T, policy string, budget int, random *rand.Rand, continues bool) (*lab, *writers) {
	l := newLab(t, policy, budget, 2, 1, 1, 1, 1)
	w := &writers{continues: continues, places: 7, step: 100 * time.Microsecond, random: random, told: map[string][]int32{}}
	l.settings.Servers, l.settings.Clock = w, brisk{}
	l.settings.Score = func(ctx context.Context, r *rollout.Response) (*rollout.Score, error) {
		short := *r
		short.Text = strings.TrimLeft(r.Text, ".")
		return l.score(ctx, &short)
	}
	return l, w
}

// interrupted makes an evaluation whose requests are given up at random moments, after
// so many tokens at most, however fast the machine is. After the kills it is run until it is complete: a rollout whose connection broke four times
// pauses a run, by chance.
func (l *lab) interrupted(w *writers, most, kills int) *evaluation.Result {
	l.t.Helper()
	for run := range kills + 20 {
		ctx, cancel := context.WithCancel(l.t.Context())
		w.mu.Lock()
		if w.stop = nil; run < kills {
			w.left, w.stop = w.random.IntN(most), cancel
		}
		w.mu.Unlock()
		r, err := evaluation.Run(ctx, l.settings)
		cancel()
		var paused *evaluation.PausedError
		switch {
		case err == nil:
			return r
		case !errors.As(err, &paused):
			l.t.Fatal(err)
		}
	}
	return l.run()
}

// TestLostAnswersGoOn gives requests up, and breaks their connections. Every answer
// is one that has been told from its first token to its last, once.
func TestLostAnswersGoOn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, policy := range []string{"uniform", "hbn-async"} {
		for range 8 {
			l, w := written(t, policy, 4, random, true)
			w.cut = 0.02
			r := l.interrupted(w, 130, 4)
			if w.torn > 0 || r.Losses.AskedAgain > 0 || r.Losses.WorstCase != 0 {
				t.Errorf("%s: %d requests do not go on, %+v", policy, w.torn, r.Losses)
			}
			continued := map[rollout.ID]bool{}
			for _, q := range read[evaluation.Request](t, l, "requests.parquet") {
				var task int32
				for i, id := range l.settings.Setup.TaskIDs {
					if id == q.Task {
						task = int32(i)
					}
				}
				if q.PrefixTokens > 0 && q.Rollout < int32(r.Rows[task].Rollouts()) {
					continued[rollout.ID{Task: task, Rollout: q.Rollout}] = true
				}
			}
			if policy == "uniform" && r.Tokens.Wasted > 0 {
				t.Errorf("%d tokens in vain, of answers that went on", r.Tokens.Wasted)
			}
			if r.Losses.Continued != len(continued) {
				t.Errorf("%s: %d continued, by the requests %d", policy, r.Losses.Continued, len(continued))
			}
			for _, a := range read[rollout.Rollout](t, l, "rollouts.parquet") {
				if body := strings.TrimRight(a.Text, "wronight"); int(a.CompletionTokens) != len(body)+1 || strings.Trim(body, ".") != "" {
					t.Fatalf("%d tokens of %q", a.CompletionTokens, a.Text)
				}
			}
			recount(t, l, r)
			sound(t, l.settings.Folder, r)
		}
	}
}

// TestInterruptionsDoNotMoveTheMean does so where answers go on, and not where they are
// asked for again.
func TestInterruptionsDoNotMoveTheMean(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 11))
	for _, tt := range []struct {
		rule        vllm.OnLoss
		evaluations float64
	}{{vllm.Continue, 40}, {vllm.AskAgain, 25}} {
		sum, squares, bound := 0.0, 0.0, 0.0
		for range int(tt.evaluations) {
			l, w := written(t, "uniform", 12, random, true)
			w.step, w.places = 500*time.Microsecond, 24
			l.settings.OnLoss = tt.rule
			r := l.interrupted(w, 400, 2)
			x := r.Estimate - truth()
			sum, squares, bound = sum+x, squares+x*x, bound+r.Losses.TooHigh
		}
		bias := sum / tt.evaluations
		se := math.Sqrt((squares/tt.evaluations - bias*bias) / tt.evaluations)
		bound /= tt.evaluations
		t.Logf("%v: a bias of %+.4f ± %.4f, stated %.4f at most", tt.rule, bias, se, bound)
		if biased := math.Abs(bias) > 3*se; biased != (tt.rule == vllm.AskAgain) || bias > bound+3*se {
			t.Errorf("%v: a bias of %+.4f ± %.4f, stated %.4f at most", tt.rule, bias, se, bound)
		}
	}
}

// TestRefusedLossesPause does not ask again before another rule says so.
func TestRefusedLossesPause(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 7))
	l, w := written(t, "hbn-async", 4, random, false)
	w.step = 5 * time.Millisecond
	l.settings.OnLoss = vllm.Refuse
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
	defer cancel()
	if _, err := evaluation.Run(ctx, l.settings); err == nil {
		t.Fatal("it is complete")
	}
	w.mu.Lock()
	asked := len(w.asked)
	w.mu.Unlock()
	for range 2 {
		paused := l.paused(t.Context(), "--on-loss continue")
		for _, r := range w.asked[asked:] {
			for _, before := range w.asked[:asked] {
				if r.ID == before.ID && r.Prefix == nil {
					t.Errorf("%s is asked again", r.ID)
				}
			}
		}
		if paused.Kept > 16 {
			t.Errorf("%+v", paused)
		}
	}
	l.settings.OnLoss = vllm.Continue
	r := l.run()
	lost := r.Losses
	if lost.AskedAgain < 3 || lost.Continued > 0 || math.Abs(lost.TooHigh+lost.TooLow-lost.WorstCase) > 1e-12 || max(lost.TooHigh, lost.TooLow) > lost.WorstCase {
		t.Errorf("%+v", lost)
	}
	again, weights := 0, 0.0
	for _, q := range read[evaluation.Request](t, l, "requests.parquet") {
		if i := slices.Index(l.settings.Setup.TaskIDs, q.Task); q.AskedAgain && q.Rollout < int32(r.Rows[i].Rollouts()) {
			again++
			weight := r.Design.Weight / float64(r.Rows[i].Pilots)
			if q.Phase != "pilot" {
				weight = (1 - r.Design.Weight) / float64(r.Rows[i].Continuations)
			}
			weights += weight / 4
		}
	}
	if again != lost.AskedAgain || math.Abs(weights-lost.WorstCase) > 1e-12 {
		t.Errorf("%+v, by the requests %d with weight %v", lost, again, weights)
	}
	// Other verdicts move the bounds, and nothing else of them.
	strict := l.settings
	strict.Rules = "r2"
	strict.Score = func(ctx context.Context, a *rollout.Response) (*rollout.Score, error) {
		s, err := l.score(ctx, a)
		s.Correct = false
		return s, err
	}
	scored, err := evaluation.Rescore(t.Context(), strict, l.open(), 2)
	if want := (evaluation.Losses{AskedAgain: lost.AskedAgain, TooLow: lost.WorstCase, WorstCase: lost.WorstCase}); err != nil || scored.Losses != want {
		t.Errorf("rescored %+v, want %+v, %v", scored.Losses, want, err)
	}
	// An extension has them, with their weights in it.
	next := extension(t, l, r, 6)
	next.settings.Servers, next.settings.Clock, next.settings.Score = w, l.settings.Clock, l.settings.Score
	w.step = 0
	extended := next.run()
	if got, want := extended.Losses.WorstCase, 0.6*lost.WorstCase; math.Abs(got-want) > 1e-12 || extended.Losses.AskedAgain != lost.AskedAgain {
		t.Errorf("extended: %+v, want %d and %v in all", extended.Losses, lost.AskedAgain, want)
	}
}

// TestALossWithinARequestPauses where the servers refuse it.
func TestALossWithinARequestPauses(t *testing.T) {
	l := newLab(t, "uniform", 4, 4, quiz...)
	l.settings.OnLoss = vllm.Refuse
	l.fail = func(n int, r vllm.Request) error {
		if n == 9 {
			return fmt.Errorf("request 9: %w: cut", vllm.ErrLost)
		}
		return nil
	}
	l.paused(t.Context(), "--on-loss continue")
}

// TestNothingIsLostOfWhatIsRefused asks again what a server had not begun.
func TestNothingIsLostOfWhatIsRefused(t *testing.T) {
	l := newLab(t, "uniform", 4, 4, quiz...)
	l.settings.OnLoss = vllm.Refuse
	l.fail = func(n int, r vllm.Request) error {
		if n%5 == 0 {
			return &vllm.Error{Kind: vllm.ServerFault, Status: 503}
		}
		return nil
	}
	if r := l.run(); r.Losses != (evaluation.Losses{}) || len(l.asked) != 49 {
		t.Errorf("%+v of %d requests", r.Losses, len(l.asked))
	}
}
