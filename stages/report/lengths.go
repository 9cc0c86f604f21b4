package report

import (
	"cmp"
	"context"
	"io"
	"slices"

	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/pipeline/dag"
	"speceval/stages/report/measured"
)

// lengthsFile counts the sampled responses by their length, so that no table or
// figure reads all rollouts again.
const lengthsFile = "report/lengths.parquet"

const lengthsSchema = "response-lengths/1"

var lengthsRef = ownRef("lengths")

// lengthRow is how many responses have so many tokens.
type lengthRow struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	Tokens    int32  `parquet:"completion_tokens"`
	Responses int64  `parquet:"responses"`
}

// lengthsUnit is the unit of lengthsFile, nil where no rollouts are sampled.
func (s Settings) lengthsUnit() *dag.Unit {
	if len(s.Live.Rollouts) == 0 {
		return nil
	}
	u := dag.Unit{ID: lengthsRef.Unit, Outputs: []string{lengthsFile}, Provenance: "computed", Run: s.countLengths}
	for _, p := range s.Pairs {
		if r, ok := s.Live.Rollouts[p.Name()]; ok {
			u.Wants = append(u.Wants, r.By)
		}
	}
	return &u
}

func (s Settings) countLengths(_ context.Context, job *dag.Job) error {
	var rows []lengthRow
	for _, p := range s.Pairs {
		counts := map[int32]int64{}
		for _, file := range s.Live.Rollouts[p.Name()].Files {
			responses, err := readLiveRows[struct {
				Tokens int32 `parquet:"completion_tokens"`
			}](job.Input, file)
			if err != nil {
				return err
			}
			for _, r := range responses {
				counts[r.Tokens]++
			}
		}
		for tokens, n := range counts {
			rows = append(rows, lengthRow{p.Benchmark, p.Model, tokens, n})
		}
	}
	slices.SortFunc(rows, func(a, b lengthRow) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Tokens, b.Tokens))
	})
	return job.Write(lengthsFile, len(rows), func(w io.Writer) error { return rowfile.Write(w, rows, job.Footer(lengthsSchema)) })
}

// readLengths reads the lengths of responses by profile.
func readLengths(in locate) (map[string]measured.Lengths, error) {
	rows, err := readLiveRows[lengthRow](in, lengthsFile)
	all := map[string]measured.Lengths{}
	for _, r := range rows {
		name := profile.Profile{Benchmark: r.Benchmark, Model: r.Model}.Name()
		all[name] = append(all[name], measured.Length{Tokens: r.Tokens, Responses: r.Responses})
	}
	for _, l := range all {
		slices.SortFunc(l, func(a, b measured.Length) int { return cmp.Compare(a.Tokens, b.Tokens) })
	}
	return all, err
}

func (s Settings) makeSpread(in locate, _ *Targets) (Sheet, error) {
	profiles, err := s.profiles(in)
	if err != nil {
		return Sheet{}, err
	}
	lengths, err := readLengths(in)
	return live(measured.Spread(profiles, lengths)), err
}
