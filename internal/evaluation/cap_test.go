package evaluation_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/ledger"
	"speceval/internal/machine/clock"
	"speceval/internal/policy/seed"
	"speceval/internal/servers/vllm"
	"speceval/method/neyman"
)

// meter is servers whose wrong answers are four times as long as right ones, and that count
// what they generate.
type meter struct {
	passes    []float64
	places    int
	mute      bool // nothing of an answer is seen before its end
	untold    bool // tokens are not told
	longer    int  // rollout of a task from which on answers are five times as long; 0: none
	slow      time.Duration
	charges   *ledger.Price // that it reports the cost by
	again     int           // rollout of a task that begins anew after its first piece; 0: none
	cancel    func()        // called when so many tokens were generated
	after     int64
	generated atomic.Int64
	answered  atomic.Int64
	charged   atomic.Int64 // for answers, in millionths of a dollar
}

// drawn is the answer to a request: whether it is right, and its length.
func (m *meter) drawn(task int, seed int64) (right bool, length int) {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	right, length = random.Float64() < m.passes[task], 20+random.IntN(21)
	if !right {
		length *= 4
	}
	return right, length
}

const step = 4 // tokens of a piece

func (m *meter) Stream(ctx context.Context, r vllm.Request, seen func(vllm.Piece)) (vllm.Completion, string, error) {
	l := lab{}
	right, length := m.drawn(l.task(r), r.Seed)
	if m.longer > 0 && rolloutOf(r) >= m.longer {
		length *= 5
	}
	usage := vllm.Usage{Prompt: 3, Reasoning: -1}
	for usage.Completion < length {
		if err := (clock.Wall{}).Sleep(ctx, m.slow); err != nil {
			return vllm.Completion{}, "http://a:1", err
		}
		more := min(step, length-usage.Completion)
		usage.Completion += more
		if m.generated.Add(int64(more)) > m.after && m.cancel != nil {
			m.cancel()
		}
		if !m.mute {
			piece := vllm.Piece{Usage: usage, Text: strings.Repeat("word", more)}
			if m.untold {
				piece.Usage = vllm.Usage{Prompt: -1, Completion: -1, Reasoning: -1}
			}
			seen(piece)
		}
		if m.again > 0 && rolloutOf(r) == m.again && usage.Completion == step {
			seen(vllm.Piece{Anew: true, Usage: vllm.Usage{Prompt: 3}})
			usage.Completion, r.ID = 0, r.ID+"/again"
		}
	}
	m.answered.Add(1)
	if m.charges != nil {
		usage.Cost = m.charges.Of(float64(usage.Prompt), float64(usage.Completion))
		m.charged.Add(int64(math.Round(1e6 * usage.Cost)))
	}
	text := map[bool]string{true: "right", false: "wrong"}[right]
	if m.untold {
		usage = vllm.Usage{Prompt: -1, Completion: -1, Reasoning: -1}
		text += strings.Repeat("word", length)[5:]
	}
	return vllm.Completion{Text: text, Finish: "stop", Usage: usage}, "http://a:1", nil
}

func (m *meter) Places() int     { return m.places }
func (m *meter) ThinkEnd() int32 { return -1 }
func (m *meter) Continues() bool { return false }

// limited is an evaluation under a limit on tokens, of tasks that are mostly wrong, in part
// right, or mostly right.
func limited(t *testing.T, m *meter, tokens int64, number uint64) *lab {
	for i := range 24 {
		m.passes = append(m.passes, []float64{0.05, 0.3, 0.5, 0.95}[i%4])
	}
	m.places, m.slow = 16, cmp.Or(m.slow, 20*time.Microsecond)
	l := newLab(t, "hbn_staged", 16, 1, m.passes...)
	l.settings.Setup.Seed, l.settings.Setup.Stop = number, &evaluation.Stop{Tokens: tokens}
	l.settings.Setup.Design.Weight, l.settings.Setup.Design.Fractions = 1./32, []float64{0.25, 1. / 3, 0.5, 1}
	l.settings.Corpus.Seed, l.settings.Corpus.Sampling.MaxTokens = seed.Root(number).Child("cap"), 300
	l.settings.Servers = m
	if m.longer > 0 {
		l.settings.Corpus.Sampling.MaxTokens = 800
	}
	return l
}

// limitedMean is the mean that limited evaluations estimate.
const limitedMean = (0.05 + 0.3 + 0.5 + 0.95) / 4

// biasedEvaluations is how many evaluations the bias is taken of; the drill has 500.
var biasedEvaluations = 40

// TestALimitDoesNotChooseAnswers takes the bias of evaluations under a limit on tokens. Seeds
// are 0 and up; of others as many would fail as 2 standard errors are exceeded, 4.6%.
func TestALimitDoesNotChooseAnswers(t *testing.T) {
	for _, limit := range []int64{6500, 16000} {
		var mu sync.Mutex
		var group sync.WaitGroup
		var estimates, stated []float64
		var all, worst float64
		dropped, places := 0, make(chan struct{}, 8)
		for i := range biasedEvaluations {
			places <- struct{}{}
			group.Go(func() {
				defer func() { <-places }()
				m := new(meter)
				r, err := evaluation.Run(t.Context(), limited(t, m, limit, uint64(i)).settings)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				if m.generated.Load() != r.Tokens.All {
					t.Errorf("%d tokens are stated of %d", r.Tokens.All, m.generated.Load())
				}
				if r.Dropped > 0 {
					dropped++
				}
				estimates, stated = append(estimates, r.Estimate), append(stated, r.StandardError)
				all, worst = all+float64(r.Tokens.All), max(worst, float64(r.Tokens.All)/float64(limit))
			})
		}
		group.Wait()
		n := float64(len(estimates))
		bias, deviation := stat.MeanStdDev(estimates, nil)
		bias -= limitedMean
		t.Logf("limit %d, %v evaluations: bias %+.4f ± %.4f, standard error %.4f, stated %.4f; %.3f of the limit used, %.3f at most, %d dropped a stage", limit, n, bias, deviation/math.Sqrt(n), deviation, stat.Mean(stated, nil), all/n/float64(limit), worst, dropped)
		if math.Abs(bias) > 2*deviation/math.Sqrt(n) || worst > 1.05 || all/n < 0.8*float64(limit) {
			t.Errorf("limit %d: the bias, or what is used, is too much or too little", limit)
		}
	}
}

// TestDollarsAreLimited evaluates under limits on dollars, where prompts cost as much as
// answers, or much more for a token. The result states what was generated and prompted.
func TestDollarsAreLimited(t *testing.T) {
	for _, price := range []ledger.Price{{Prompt: 0, Completion: 2}, {Prompt: 40, Completion: 2}} {
		for _, reported := range []bool{false, true} {
			m := &meter{mute: price.Prompt > 0, slow: 200 * time.Microsecond}
			l := limited(t, m, 0, 5)
			l.settings.Setup.Price = &price
			l.settings.Setup.Stop = &evaluation.Stop{Dollars: price.Of(24*16*3, 16000)}
			if reported {
				m.charges = &price
			}
			r := l.run()
			want := price.Of(3*float64(r.Rollouts), float64(r.Tokens.Completion))
			if r.Cost == nil || math.Abs(r.Cost.Dollars-want) > 0.02*want || r.Cost.Dollars > 1.05*r.Stop.Dollars || r.Cost.Dollars < 0.7*r.Stop.Dollars || r.Cost.Reported != reported {
				t.Errorf("%+v: the cost is %+v of %v, by its rollouts %v", price, r.Cost, r.Stop.Dollars, want)
			}
		}
	}
}

// TestSizesHoldTheLimit sizes stages by the lengths of those before, without servers.
func TestSizesHoldTheLimit(t *testing.T) {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int64{7000, 12000, 48000} {
		m := new(meter)
		setup := limited(t, m, limit, 1).settings.Setup
		random := rand.New(rand.NewPCG(7, uint64(limit)))
		above, used := 0, 0.0
		for range 300 {
			by := make([][]float64, len(m.passes))
			c, err := setup.Controller(prior, true, func(task, n int) (u ledger.Used) {
				for _, x := range by[task][:n] {
					u.All, u.Sum, u.Squares = u.All+x, u.Sum+x, u.Squares+x*x
				}
				return u
			}, func(least int64) { t.Errorf("%d is too small: %d", limit, least) })
			if err != nil {
				t.Fatal(err)
			}
			all := 0
			for id, ok := c.Next(); ok; id, ok = c.Next() {
				if !c.Selected(id) {
					t.Fatalf("%v is submitted before it is selected", id)
				}
				right, length := m.drawn(int(id.Task), random.Int64())
				by[id.Task] = append(by[id.Task], float64(length))
				all += length
				if _, err := c.Completed(id, right); err != nil {
					t.Fatal(err)
				}
			}
			if int64(all) > limit {
				above++
			}
			used += float64(all) / 300 / float64(limit)
		}
		t.Logf("limit %d: %.3f used, %d of 300 above", limit, used, above)
		if above > 3 || used < 0.85 {
			t.Errorf("limit %d: %.3f used, %d of 300 above", limit, used, above)
		}
	}
}

// TestAStageThatReachesTheLimitIsDropped has answers that are five times as long from the
// fourth of a task on. What is interrupted before comes to the same.
func TestAStageThatReachesTheLimitIsDropped(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		m := &meter{longer: 3, slow: time.Millisecond}
		l := limited(t, m, 12000, 3)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if interrupted {
			m.cancel, m.after = cancel, 9000
			l.paused(ctx, "context canceled")
			m.cancel = nil
		}
		r := l.run()
		if r.Dropped < 1 || r.Tokens.All <= 12000 || r.Tokens.All > 12600 || r.Tokens.All != m.generated.Load() {
			t.Errorf("stage %d is dropped at %d tokens, %d generated", r.Dropped, r.Tokens.All, m.generated.Load())
		}
		if r.Extra == 0 || !strings.Contains(strings.Join(r.Notes, " "), "was dropped") || recount(t, l, r) != r.Rollouts {
			t.Errorf("%d rollouts count, %d are discarded, notes %q", r.Rollouts, r.Extra, r.Notes)
		}
		for _, row := range r.Rows {
			sum, value := 0.0, 0.0
			for _, s := range row.Stages {
				sum, value = sum+s.Weight, value+s.Weight*s.Rewards/float64(s.Rollouts)
			}
			if len(row.Stages) > r.Dropped || math.Abs(sum-1) > 1e-12 || math.Abs(value-row.Estimate) > 1e-12 {
				t.Errorf("task %s: stages %+v, estimate %v", row.ID, row.Stages, row.Estimate)
			}
		}
		if again := l.run(); !reflect.DeepEqual(again, r) {
			t.Error("the stored result is another one")
		}
	}
}

// TestTooSmallALimitIsRefused wants the least that works, and that it does. Requests end at the
// limit, though servers are far quicker than the evaluation.
func TestTooSmallALimitIsRefused(t *testing.T) {
	for _, limit := range []int64{100, 900, 3000} {
		m := &meter{slow: time.Nanosecond}
		l := limited(t, m, limit, 5)
		_, err := evaluation.Run(t.Context(), l.settings)
		var small *evaluation.CapError
		if !errors.As(err, &small) || small.Least <= limit || !strings.Contains(err.Error(), fmt.Sprint(small.Least)) {
			t.Fatalf("limit %d: %v", limit, err)
		}
		if used := m.generated.Load(); used > limit+limit/20+int64(m.places*step) {
			t.Errorf("limit %d: %d tokens are generated", limit, used)
		}
		m = new(meter)
		if r := limited(t, m, small.Least, 5).run(); limit == 3000 && r.Tokens.All > small.Least {
			t.Errorf("the least is %d, and it took %d", small.Least, r.Tokens.All)
		}
	}
}

// TestEveryServerIsLimited has servers that show nothing of an answer before its end, and
// servers that tell no tokens.
func TestEveryServerIsLimited(t *testing.T) {
	for name, m := range map[string]*meter{"mute": {mute: true, longer: 3}, "untold": {untold: true, longer: 3}} {
		l := limited(t, m, 12000, 3)
		m.slow = time.Millisecond / 4 // a busy machine sees an abort late, and this server goes on until then
		r := l.run()
		if most := 12600 + map[string]int64{"mute": 800}[name]; m.generated.Load() > most || r.Dropped < 1 {
			t.Errorf("%s: %d tokens are generated, %d at most; stage %d is dropped", name, m.generated.Load(), most, r.Dropped)
		}
	}
}

// TestMostRolloutsAreOfAll holds the last pilot back, for which HBN-async would speculate.
func TestMostRolloutsAreOfAll(t *testing.T) {
	l := newLab(t, "hbn_staged", 8, 2, quiz...)
	l.settings.Setup.Stop = &evaluation.Stop{Rollouts: 60}
	l.lateBarrier(len(quiz)*2 - 1)
	if r := l.run(); len(l.asked) != 60 || r.Rollouts != 60 || r.Extra != 0 {
		t.Errorf("%d requests, %d rollouts and %d more, want 60", len(l.asked), r.Rollouts, r.Extra)
	}
}

// TestALargerLimitGoesOn has evaluations that stop at a limit, one before it has an estimate,
// one at the end of a stage and one within a stage, and then a larger limit. What has been
// answered is not asked again, counts toward the limit, and leads to the estimate of an
// evaluation that has had the larger limit from the beginning. What was under way at the limit
// and is asked again is stated.
func TestALargerLimitGoesOn(t *testing.T) {
	for limit, c := range map[int64]struct{ longer, larger int }{900: {0, 16000}, 6500: {0, 16000}, 12000: {3, 60000}} {
		out := t.TempDir()
		in := func(out string, limit int64) (*meter, *lab) {
			m := &meter{longer: c.longer}
			if c.longer > 0 {
				m.slow = time.Millisecond / 2
			}
			l := limited(t, m, limit, 3)
			l.settings.Folder = l.settings.Setup.Path(out)
			l.settings.Say = func(text string) { l.said = append(l.said, text) }
			return m, l
		}
		first, l := in(out, limit)
		before, err := evaluation.Run(t.Context(), l.settings)
		if small := (*evaluation.CapError)(nil); limit == 900 != errors.As(err, &small) || c.longer > 0 != (before != nil && before.Dropped > 0) {
			t.Fatalf("limit %d: %+v, %v", limit, before, err)
		}
		m, l := in(out, int64(c.larger))
		r := l.run()
		fresh, whole := in(t.TempDir(), int64(c.larger))
		want := whole.run()
		if !strings.Contains(strings.Join(l.said, "\n"), fmt.Sprintf("the answers of hbn_staged-t%d-seed3, whose limit is smaller, are taken over", limit)) {
			t.Errorf("limit %d: %q", limit, l.said)
		}
		if saved := fresh.answered.Load() - m.answered.Load(); float64(saved) < 0.8*float64(first.answered.Load()) {
			t.Errorf("limit %d: %d answers were there, and %d are asked for instead of %d", limit, first.answered.Load(), m.answered.Load(), fresh.answered.Load())
		}
		if recount(t, l, r) != r.Rollouts || r.Sessions != 2 || r.Tokens.All > int64(c.larger) || float64(r.Tokens.All) < 0.9*float64(want.Tokens.All) {
			t.Errorf("limit %d: %d rollouts, %d sessions, %d tokens in all, %d without a limit before", limit, r.Rollouts, r.Sessions, r.Tokens.All, want.Tokens.All)
		}
		if limit == 6500 && (r.Estimate != want.Estimate || r.StandardError != want.StandardError || r.Losses != want.Losses) {
			t.Errorf("%v ± %v with %+v, from the beginning %v ± %v", r.Estimate, r.StandardError, r.Losses, want.Estimate, want.StandardError)
		}
		if limit != 6500 && r.Losses.AskedAgain == 0 {
			t.Errorf("limit %d: no answer under way was asked for again", limit)
		}
		sound(t, l.settings.Folder, r)
	}
}

// TestCostsGoOn has servers that report what they charge, some answers that begin anew, and
// two larger limits after a complete one, the first of them interrupted. The result states all
// that was charged and generated.
func TestCostsGoOn(t *testing.T) {
	out := t.TempDir()
	var charged, generated int64
	for _, limit := range []int64{6500, 16000, 30000} {
		m := &meter{charges: &ledger.Price{Prompt: 10, Completion: 2}, again: 1}
		l := limited(t, m, limit, 3)
		l.settings.Folder = l.settings.Setup.Path(out)
		if limit == 16000 {
			ctx, cancel := context.WithCancel(t.Context())
			m.cancel, m.after = cancel, 2000
			l.paused(ctx, "context canceled")
			m.cancel = nil
		}
		r := l.run()
		charged, generated = charged+m.charged.Load(), generated+m.generated.Load()
		if r.Cost == nil || math.Abs(1e6*r.Cost.Dollars-float64(charged)) > 1 {
			t.Errorf("limit %d: the cost is %+v, and %v dollars were charged", limit, r.Cost, float64(charged)/1e6)
		}
		if r.Tokens.All != generated {
			t.Errorf("limit %d: %d tokens are stated of %d", limit, r.Tokens.All, generated)
		}
	}
}

// TestDamagedAnswersAreNotTakenOver goes on without those of a smaller limit.
func TestDamagedAnswersAreNotTakenOver(t *testing.T) {
	out, said := t.TempDir(), ""
	for _, limit := range []int64{6500, 16000} {
		l := limited(t, new(meter), limit, 3)
		l.settings.Folder = l.settings.Setup.Path(out)
		l.settings.Say = func(text string) { said += text }
		if r := l.run(); r.Sessions != 1 {
			t.Errorf("limit %d: %d sessions", limit, r.Sessions)
		}
		if err := os.Truncate(filepath.Join(l.settings.Folder, "rollouts.parquet"), 9); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(said, "are not taken over") || !strings.Contains(said, "rollouts.parquet") {
		t.Errorf("said: %q", said)
	}
}
