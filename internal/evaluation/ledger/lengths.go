package ledger

import (
	"math"

	"speceval/method/controller"
)

// Used is the tokens of answers.
type Used struct {
	All     float64 // with the tries that came to nothing
	Sum     float64 // of the answers
	Squares float64 // of their lengths
}

// Add adds what other answers have taken.
func (u *Used) Add(o Used) { u.All, u.Sum, u.Squares = u.All+o.All, u.Sum+o.Sum, u.Squares+o.Squares }

// Lengths is a law of the lengths of answers, in tokens, by answers that are there.
type Lengths struct {
	Seen   float64 // answers, as many as would say as much of the mean if all weighed alike
	Mean   float64
	Square float64 // mean of the squares
}

// certain is the quantile of the standard normal that is exceeded once in a thousand times.
const certain = 3.09

// Most is an upper bound of the tokens of further answers, wrong once in a thousand times:
// they vary, and so does the mean of the known ones. For few answers the deviation is not
// known well, so Student's quantile is approximated.
func (l Lengths) Most(rollouts int) float64 {
	n := float64(rollouts)
	if n <= 0 {
		return 0
	}
	quantile := certain + (certain*certain*certain+certain)/(4*max(1, l.Seen-1))
	deviation := math.Sqrt(max(0, l.Square-l.Mean*l.Mean))
	return n*l.Mean + quantile*deviation*math.Sqrt(n+n*n/l.Seen)
}

// Foreseen returns an upper bound of the tokens of the given rollouts, wrong once in a
// thousand times, by the mean length of others: if lengths have an exponential law.
func Foreseen(rollouts, others int, mean float64) int64 {
	return Round(Lengths{float64(others), mean, 2 * mean * mean}.Most(rollouts))
}

// Round is a number of tokens, rounded up to two digits.
func Round(tokens float64) int64 {
	unit := math.Pow(10, math.Floor(math.Log10(max(10, tokens)))-1)
	return int64(math.Ceil(tokens/unit) * unit)
}

// Foresee returns what has been used at a barrier, and the lengths of answers to come. Each
// task goes on as it was, one answer of all tasks' mean with its own, since the answers of a
// task decide on its further ones, too. Tasks weigh by what their scores say that they will
// be given, or alike if that is longer: each is given a rollout at least.
func Foresee(b controller.Barrier, used func(task, rollouts int) Used) (all float64, next Lengths) {
	var sum Used
	count := 0.0
	for i, n := range b.Rollouts {
		sum.Add(used(i, n))
		count += float64(n)
	}
	if count == 0 || sum.Sum == 0 {
		return sum.All, Lengths{}
	}
	mean, square := sum.Sum/count, sum.Squares/count
	weigh := func(weight func(task int) float64) (l Lengths) {
		weights, inverse := 0.0, 0.0
		for i, rest := range b.Rest {
			if rest <= 0 {
				continue
			}
			w, own, n := weight(i), used(i, b.Rollouts[i]), float64(b.Rollouts[i])
			l.Mean += w * (own.Sum + mean) / (n + 1)
			l.Square += w * (own.Squares + square) / (n + 1)
			inverse += w * w / max(1, n)
			weights += w
		}
		if weights == 0 {
			return Lengths{Seen: count, Mean: mean, Square: square}
		}
		return Lengths{Seen: weights * weights / inverse, Mean: l.Mean / weights, Square: l.Square / weights}
	}
	scored := weigh(func(i int) float64 {
		w := b.Rest[i] * math.Sqrt(b.Scores[i])
		if b.TaskShares != nil {
			w *= b.TaskShares[i]
		}
		return w
	})
	alike := weigh(func(int) float64 { return 1 })
	if alike.Most(b.Least) > scored.Most(b.Least) {
		return sum.All, alike
	}
	return sum.All, scored
}
