package ledger

import "math"

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
