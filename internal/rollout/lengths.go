package rollout

import (
	"cmp"
	"math"
	"slices"

	"speceval/internal/rowfile"
)

// LengthRow is how many responses of a benchmark and a model have so many tokens.
type LengthRow struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	Tokens    int32  `parquet:"completion_tokens"`
	Responses int64  `parquet:"responses"`
}

// LengthSchema is the value of the footer key speceval.schema of files of them.
const LengthSchema = "response-lengths/1"

// Length is how many responses have so many tokens.
type Length struct {
	Tokens    int32
	Responses int64
}

// Lengths are those of a profile's rollouts, ascending.
type Lengths []Length

// Responses is how many there are.
func (l Lengths) Responses() (n int64) {
	for _, at := range l {
		n += at.Responses
	}
	return n
}

// Quantile is the least length that a share of all responses does not exceed.
func (l Lengths) Quantile(share float64) int32 {
	rank := max(1, int64(math.Ceil(share*float64(l.Responses()))))
	for _, at := range l {
		if rank -= at.Responses; rank <= 0 {
			return at.Tokens
		}
	}
	return 0
}

// CountLengths counts the responses in stored parts by their length, ascending.
func CountLengths(parts []string) (Lengths, error) {
	counts := map[int32]int64{}
	for _, path := range parts {
		responses, _, err := rowfile.ReadFile[struct {
			Tokens int32 `parquet:"completion_tokens"`
		}](path)
		if err != nil {
			return nil, err
		}
		for _, r := range responses {
			counts[r.Tokens]++
		}
	}
	var all Lengths
	for tokens, n := range counts {
		all = append(all, Length{tokens, n})
	}
	slices.SortFunc(all, byTokens)
	return all, nil
}

func byTokens(a, b Length) int { return cmp.Compare(a.Tokens, b.Tokens) }

// ReadLengths reads a file of lengths, by benchmark and model.
func ReadLengths(path string) (map[[2]string]Lengths, error) {
	rows, _, err := rowfile.ReadFile[LengthRow](path)
	all := map[[2]string]Lengths{}
	for _, r := range rows {
		pair := [2]string{r.Benchmark, r.Model}
		all[pair] = append(all[pair], Length{r.Tokens, r.Responses})
	}
	for _, l := range all {
		slices.SortFunc(l, byTokens)
	}
	return all, err
}
