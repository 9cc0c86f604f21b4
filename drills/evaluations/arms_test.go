//go:build drill

package evaluations_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/internal/policy/seed"
	"speceval/internal/store/profile"
)

// Policies, as the program calls them.
var (
	async    = policy.HBNAsync.Name
	uniform  = policy.UniformAtBudget.Name
	inStaged = policy.Staged.Name
	informs  = policy.InformedStaged[0].Name
)

// arm is evaluations of one kind: of a profile by one policy at one budget, on a fleet by
// the seeds from 1 on.
type arm struct {
	what    string
	profile profile.Profile // its mean is the truth
	policy  string
	budget  int      // rollouts per task; 0 with a target
	target  float64  // standard error to reach; 0 with a budget
	extends *arm     // its evaluations get more rollouts; nil: none
	flags   []string // of the program

	quiet    int    // evaluations that are not killed and come first, one at a time; one at least
	kills    [2]int // of an evaluation, least and most; 0: it is not killed
	pauses   int    // of an evaluation at most, in a row: all servers may be away
	extended bool   // later: its folders stay

	mu      sync.Mutex
	results []*evaluation.Result
	setup   *evaluation.Setup // of the first evaluation; others have its design
	spans   []float64         // seconds that evaluations have taken so far
	startup float64           // seconds until the first request: most of the quiet evaluations
	hits    int               // kills that met a running process
}

// turn is an evaluation of an arm.
type turn struct {
	*arm
	seed uint64
	urls []string // of its servers
}

// folder is where the program keeps an evaluation.
func (b *bench) folder(t turn) string {
	spent := fmt.Sprintf("b%d", t.budget)
	switch {
	case t.target > 0:
		spent = fmt.Sprintf("se%g", t.target)
	case t.extends != nil:
		spent += fmt.Sprintf("-after-b%d", t.extends.budget)
	}
	name := fmt.Sprintf("%s-%s-seed%d", t.policy, spent, t.seed)
	return filepath.Join(b.out, "evaluate", "benchmark="+t.profile.Benchmark, "model="+b.model, name)
}

// start starts an evaluation, or resumes it.
func (b *bench) start(t turn) *drill.Process {
	b.Helper()
	words := []string{"evaluate", "--model", b.model, "--policy", t.policy, "--seed", fmt.Sprint(t.seed)}
	if t.extends != nil {
		words = []string{"evaluate", "extend", b.folder(turn{arm: t.extends, seed: t.seed})}
	}
	if t.target > 0 {
		words = append(words, "--target-se", fmt.Sprint(t.target))
	} else {
		words = append(words, "--budget", strconv.Itoa(t.budget))
	}
	words = append(words, "--benchmark", t.profile.Benchmark, "--config", b.config, "--out", b.out, "-q", "--json")
	for _, url := range t.urls {
		words = append(words, "--worker", url)
	}
	return b.StartProgram(b.Path(filepath.Base(b.folder(t))+".txt"), b.Program, append(words, t.flags...)...)
}

// paused is the exit code of an evaluation that the same command resumes.
const paused = 1

// run makes an evaluation to its end, through its pauses. It returns the result that the
// program prints.
func (b *bench) run(t turn) *evaluation.Result {
	b.Helper()
	running := b.start(t)
	running.Wait()
	for range t.pauses {
		if running.Code() == paused {
			running = b.start(t)
			running.Wait()
		}
	}
	running.Says(0)
	return b.printed(running)
}

// printed is the result that an evaluation has printed.
func (b *bench) printed(p *drill.Process) *evaluation.Result {
	b.Helper()
	text := []byte(p.Text())
	var r evaluation.Result
	if err := json.Unmarshal(text[max(0, bytes.IndexByte(text, '{')):], &r); err != nil { // warnings come before it
		b.Fatalf("what was printed is no result: %v\n%s", err, p.Last())
	}
	return &r
}

// strike starts an evaluation, or resumes it, and sends it SIGKILL some seconds after its
// first answer. It reports whether the process was still running then.
func (b *bench) strike(t turn, after float64) (hit bool) {
	b.Helper()
	size := func() int64 { // of the journal; 0 if there is none
		info, err := os.Stat(filepath.Join(b.folder(t), "requests.journal"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	before := size()
	running := b.start(t)
	b.Until(b.folder(t), func() bool { return running.Gone() || size() > before })
	hit = running.KillAfter(time.Duration(after * float64(time.Second)))
	if !hit && (running.Code() != paused || t.pauses == 0) {
		running.Says(0)
	}
	return hit
}

// make makes n evaluations of an arm, several at a time after the quiet ones. Kills are
// at random moments.
func (b *bench) make(a *arm, n int) *arm {
	b.Helper()
	begin := time.Now()
	a.results = make([]*evaluation.Result, n)
	for i := range a.quiet {
		b.evaluate(a, 0, i, nil)
		a.startup = max(a.startup, a.results[i].Startup)
	}
	first := 0
	if a.kills[1] == 0 {
		first = a.quiet
	}
	streams := seed.Root(drill.Seed()).Child("drill").Child("kills").Child(a.what).Stream()
	inParallel(b.Lab, jobs, first, n, func(l *drill.Lab, job, i int) {
		on, random := *b, streams.At(uint64(i))
		on.Lab = l
		on.evaluate(a, job, i, &random)
	})
	b.Logf("%s: %d evaluations, %d kills met a running process, in %.0f s", a.what, n, a.hits, time.Since(begin).Seconds())
	return a
}

// lastMoment is the share of the usual time of an evaluation within which it is killed:
// few are over before.
const lastMoment = 0.85

// evaluate makes the i-th evaluation of an arm. What it leaves is checked and removed. It
// is killed at random moments, unless random is nil.
func (b *bench) evaluate(a *arm, job, i int, random *seed.Stream) {
	b.Helper()
	t := turn{a, uint64(i) + 1, b.urls[job*replicas : (job+1)*replicas]}
	hits := 0
	if random != nil && a.kills[1] > 0 {
		a.mu.Lock()
		usual := median(a.spans)
		a.mu.Unlock()
		for range a.kills[0] + int(random.Float64()*float64(a.kills[1]-a.kills[0]+1)) {
			hits += one(b.strike(t, lastMoment*random.Float64()*usual))
		}
	}
	r, folder := b.run(t), b.folder(t)
	setup := b.check(folder, r, a.budget, b.answers[a.profile.Benchmark])

	a.mu.Lock()
	defer a.mu.Unlock()
	if a.setup == nil {
		a.setup = setup
	}
	is, was := setup.Design, a.setup.Design // forecasts are of one
	if is.Pilots != was.Pilots || is.Weight != was.Weight || !slices.Equal(is.Fractions, was.Fractions) {
		b.Errorf("the design is %+v, of others %+v", is, was)
	}
	a.results[i], a.spans, a.hits = r, append(a.spans, r.Seconds), a.hits+hits
	if random == nil || !a.extended { // the quiet ones are made again
		b.OK(os.RemoveAll(folder))
	}
}
