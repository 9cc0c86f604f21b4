package code

import (
	"crypto/sha256"
	"regexp"
	"sync"

	"speceval/internal/scoring"
	"speceval/internal/scoring/sandbox"
)

// known remembers the verdicts on programs of one task: a model that is sampled
// a thousand times writes the same ones over and over, and a run takes tens of
// milliseconds of processor time. The zero value knows nothing; it may be used
// concurrently.
type known struct {
	mu       sync.Mutex
	verdicts map[[sha256.Size]byte]scoring.Verdict
}

// fickle are the names through which a program may get another result another
// time: chance, the clock, other threads and processes, and the system. One that
// has any of them is run every time.
var fickle = regexp.MustCompile(`random|secrets|uuid|time|thread|process|async|concurrent|socket|signal|\bos\b|\bsys\b|\bopen\b|\bid\b|\bgc\b|__|\bexec\b|\beval\b`)

// steady reports whether an end is the same for the same program every time. A limit may be
// hit only because the machine was busy.
func steady(end sandbox.End) bool { return end == sandbox.Finished || end == sandbox.Failed }

func (k *known) of(program string) (scoring.Verdict, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.verdicts[sha256.Sum256([]byte(program))]
	return v, ok
}

func (k *known) remember(program string, v scoring.Verdict) {
	if fickle.MatchString(program) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.verdicts == nil {
		k.verdicts = make(map[[sha256.Size]byte]scoring.Verdict)
	}
	k.verdicts[sha256.Sum256([]byte(program))] = v
}
