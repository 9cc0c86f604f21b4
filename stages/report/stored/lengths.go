package stored

import (
	"cmp"
	"math"
	"slices"

	"speceval/internal/profile"
)

// LengthsFile counts the sampled responses by their length, so that no table or
// figure reads all rollouts again.
const LengthsFile = "report/lengths.parquet"

// LengthsSchema is the value of its footer key speceval.schema.
const LengthsSchema = "response-lengths/1"

// LengthRow is how many responses of a profile have so many tokens.
type LengthRow struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	Tokens    int32  `parquet:"completion_tokens"`
	Responses int64  `parquet:"responses"`
}

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

// CountLengths counts the stored rollouts by their length, by profile and length.
func CountLengths(s *Settings, in Locate) ([]LengthRow, error) {
	var rows []LengthRow
	for _, p := range s.Pairs {
		counts := map[int32]int64{}
		for _, file := range s.Live.Rollouts[p.Name()].Files {
			path, err := in.there(file)
			if err != nil {
				return nil, err
			}
			if path == "" {
				continue
			}
			responses, err := rowsOf[struct {
				Tokens int32 `parquet:"completion_tokens"`
			}](path)
			if err != nil {
				return nil, err
			}
			for _, r := range responses {
				counts[r.Tokens]++
			}
		}
		for tokens, n := range counts {
			rows = append(rows, LengthRow{p.Benchmark, p.Model, tokens, n})
		}
	}
	slices.SortFunc(rows, func(a, b LengthRow) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Tokens, b.Tokens))
	})
	return rows, nil
}

// readLengths reads the lengths of responses by profile.
func readLengths(path string) (map[string]Lengths, error) {
	rows, err := rowsOf[LengthRow](path)
	all := map[string]Lengths{}
	for _, r := range rows {
		name := profile.Profile{Benchmark: r.Benchmark, Model: r.Model}.Name()
		all[name] = append(all[name], Length{Tokens: r.Tokens, Responses: r.Responses})
	}
	for _, l := range all {
		slices.SortFunc(l, func(a, b Length) int { return cmp.Compare(a.Tokens, b.Tokens) })
	}
	return all, err
}
